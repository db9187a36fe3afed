"""Signing in: providers, and codes of applications."""
