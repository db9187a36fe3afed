"""What every write stands on: audit, events, fencing, and many rows at once."""
