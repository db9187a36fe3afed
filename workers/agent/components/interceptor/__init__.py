"""Builders of the kind interceptor."""
