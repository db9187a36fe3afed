"""Components of the kind channel."""
