"""Validation: every finding about a definition at once."""
