"""The systems that are compared: how each is configured for the same work, started and ended."""
