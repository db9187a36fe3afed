"""Commands about alerts, receivers, silences, lag and consumer groups."""
