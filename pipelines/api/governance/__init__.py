"""Change requests, and breaking glass."""
