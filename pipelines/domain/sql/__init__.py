"""Expressions in Spark's SQL, and what can be checked of them without Spark."""
