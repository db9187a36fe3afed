"""What people ask of hosts, and what is known of their workers."""
