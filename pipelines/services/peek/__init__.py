"""Peeks at records: requested, cancelled, carried out."""
