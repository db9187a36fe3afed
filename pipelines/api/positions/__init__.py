"""Positions, and decisions about them."""
