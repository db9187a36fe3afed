"""Reading hosts, and what they have room for."""
