"""Start, pause, stop: what users request, the operations that it makes, and the phases it leads to."""
