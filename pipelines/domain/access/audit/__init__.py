"""The audit: its chain, what is exported and forwarded of it."""
