"""What users request of hosts, and what is known of their workers."""
