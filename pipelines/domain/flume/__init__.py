"""Definitions out of the properties files of Apache Flume 1.x."""
