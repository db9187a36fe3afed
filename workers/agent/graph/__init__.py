"""From a definition to builders and batches."""
