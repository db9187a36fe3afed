"""Start, pause, stop: what people ask for, the operations that it makes, and the phases it leads to."""
