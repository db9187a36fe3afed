"""What governs pipelines: approval policies and freezes."""
