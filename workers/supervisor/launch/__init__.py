"""From a pipeline to the files that an agent starts from."""
