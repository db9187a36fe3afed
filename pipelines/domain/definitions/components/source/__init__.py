"""Components of the kind source."""
