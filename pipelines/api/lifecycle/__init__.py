"""Pipelines, and what is asked of them."""
