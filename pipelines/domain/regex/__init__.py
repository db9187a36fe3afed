"""Java's regular expressions: read, and checked for run time."""
