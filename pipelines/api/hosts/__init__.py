"""Hosts, and emptying them."""
