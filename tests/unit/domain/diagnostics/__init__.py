"""Diagnostic bundles."""
