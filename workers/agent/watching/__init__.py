"""What is watched beside the batches: the identity of the logs, the ends of sources and sinks, and who is away."""
