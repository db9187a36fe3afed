"""The guided demo: faults that break the demo pipeline on purpose, and their states. Pure."""
