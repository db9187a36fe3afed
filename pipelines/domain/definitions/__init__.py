"""The definition of a pipeline."""
