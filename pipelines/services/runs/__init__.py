"""The life of a run as its supervisor records it."""
