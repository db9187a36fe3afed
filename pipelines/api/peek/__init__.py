"""Peeks at records of topics."""
