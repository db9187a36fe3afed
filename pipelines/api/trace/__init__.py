"""Traces of single records."""
