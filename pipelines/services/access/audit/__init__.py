"""The audit: sealed, verified, forwarded, and refusals in it."""
