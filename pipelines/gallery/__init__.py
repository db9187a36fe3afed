"""Definitions to start from, one for each common job. The first comment of each says what it is for."""
