"""Components of the kind sink."""
