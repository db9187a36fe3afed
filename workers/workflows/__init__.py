"""Migrations as they are carried out: steps, and the runner that does one of them per tick."""
