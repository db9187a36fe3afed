"""What repeats beside the ticks, in threads of its own."""
