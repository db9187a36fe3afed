"""Reading positions."""
