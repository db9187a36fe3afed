"""Previews: requested, carried out, expired."""
