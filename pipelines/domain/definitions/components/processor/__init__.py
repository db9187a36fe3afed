"""Components of the kind processor."""
