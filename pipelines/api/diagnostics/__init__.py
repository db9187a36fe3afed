"""Diagnostic bundles of pipelines and of the installation."""
