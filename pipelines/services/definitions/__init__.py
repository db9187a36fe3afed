"""Pipelines as such, and their revisions."""
