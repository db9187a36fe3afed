"""Expressions in Spark's SQL, as far as they can be judged without Spark."""
