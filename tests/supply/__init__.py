"""What Headgate is made of: its list of components, and what is known against them."""
