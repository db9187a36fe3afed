"""Components of the kind dead_letter."""
