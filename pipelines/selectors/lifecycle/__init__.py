"""Reading pipelines: their situation, their operations, and what a supervisor has to know of them."""
