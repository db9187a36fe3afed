"""Migrations: planned, approved, carried out, taken back."""
