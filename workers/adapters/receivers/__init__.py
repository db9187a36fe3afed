"""What messages are sent to."""
