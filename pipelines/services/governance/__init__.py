"""Governed changes: refused, approved by others, or made in an emergency."""
