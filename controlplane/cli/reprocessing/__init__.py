"""Commands about dead letters, quarantine and replays."""
