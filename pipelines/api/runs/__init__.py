"""Dumps of a run's stacks."""
