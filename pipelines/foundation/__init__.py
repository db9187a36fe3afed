"""What everything stands on: errors, clock, messages, keys, child processes. Imports nothing of the project."""
