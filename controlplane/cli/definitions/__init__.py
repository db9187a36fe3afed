"""Commands about definitions and components."""
