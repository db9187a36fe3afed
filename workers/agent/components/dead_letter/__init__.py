"""Builders of the kind dead_letter."""
