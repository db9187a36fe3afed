"""What to do about a pipeline: pure functions of what was observed and of the time."""
