"""Reading lag, alerts, events, external consumer groups, receivers and silences."""
