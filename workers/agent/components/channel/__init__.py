"""Builders of the kind channel."""
