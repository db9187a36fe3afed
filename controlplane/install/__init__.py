"""What a machine needs to run Headgate."""
