"""Commands about runs: stacks."""
