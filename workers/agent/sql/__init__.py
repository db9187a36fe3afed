"""Expressions in SQL: parsed, checked and analysed by Spark, and evaluated so that an error is a value."""
