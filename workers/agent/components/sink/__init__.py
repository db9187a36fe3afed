"""Builders of the kind sink."""
