"""Decisions about positions, and positions on another cluster."""
