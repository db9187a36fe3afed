"""Connectors of Kafka Connect as definitions."""
