"""Java's regular expressions: read, and judged for run time."""
