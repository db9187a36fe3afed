"""Components of the kind selector."""
