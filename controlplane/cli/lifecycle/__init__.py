"""Commands that start, pause, resume and stop a pipeline."""
