"""The keeper: a small process that outlives everything but its driver. Standard library only."""
