"""Traces of single records: requested, carried out."""
