"""Previews as the API shows them."""
