"""Dead letters, replays of ranges, and records set aside."""
