"""Peeks as the API shows them, and the batches that delivered their records."""
