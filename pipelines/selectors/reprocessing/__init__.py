"""Reading dead letters and replays of ranges."""
