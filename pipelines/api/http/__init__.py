"""What every endpoint stands on: views, pages of lists, permissions, and the API's description."""
