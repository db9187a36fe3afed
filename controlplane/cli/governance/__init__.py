"""Commands about change requests."""
