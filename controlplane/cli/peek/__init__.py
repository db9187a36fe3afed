"""The command about peeks."""
