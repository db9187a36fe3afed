"""Migrations: planned, approved, carried out, rolled back."""
