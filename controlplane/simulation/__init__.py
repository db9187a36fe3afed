"""The control plane on many simulated hosts, as `headgate simulate` runs it: how it grows, and what it survives."""
