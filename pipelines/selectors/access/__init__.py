"""Reading secrets."""
