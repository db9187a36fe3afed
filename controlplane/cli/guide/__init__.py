"""Commands about the guided demo."""
