"""Builders of the kind selector."""
