"""Migrations as data: what changes, what stands in the way, the steps, and what they prove. Pure."""
