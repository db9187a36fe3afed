"""The real machine behind `workers.ports`."""
