"""Background loops that send messages and rows of the audit."""
