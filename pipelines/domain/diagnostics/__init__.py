"""Diagnostic bundles: what is taken out of texts, and the archive itself. Pure."""
