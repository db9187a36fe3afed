"""Commands about runs: logs, list, stacks, declare-lost."""
