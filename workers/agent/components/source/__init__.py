"""Builders of the kind source."""
