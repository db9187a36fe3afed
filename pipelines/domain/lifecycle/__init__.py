"""What is asked of pipelines, and their state in words."""
