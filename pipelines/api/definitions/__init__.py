"""Revisions, rehearsals, and the catalogue of components."""
