"""Requests of sinks to HTTP servers."""
