"""Decisions about positions."""
