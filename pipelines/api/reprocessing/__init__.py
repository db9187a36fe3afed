"""Dead letters, replays of ranges, and quarantine."""
