"""Commands that start, pause, resume and stop a pipeline, and show its status."""
