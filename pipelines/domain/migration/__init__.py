"""Migrations as data: what changes, what blocks it, the steps, and what they prove. Pure."""
