"""Kafka from the driver's side."""
