"""What every room of the domain stands on: states, positions, findings, roles, and types of values."""
