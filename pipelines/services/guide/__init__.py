"""The guided demo: faults requested, carried out, ended."""
