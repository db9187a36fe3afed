"""A migration over time."""
