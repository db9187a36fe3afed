"""Traces as the API shows them, and what the ledger knows of a record."""
