"""Logs of runs, and dumps of their stacks."""
