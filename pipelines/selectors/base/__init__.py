"""What every read stands on: the shapes of what the API answers."""
