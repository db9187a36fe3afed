"""The background loops of a worker: the ticks, and what repeats beside them."""
