"""Records of a pipeline's topics as they are, and those that a component takes out of the stream. Pure."""
