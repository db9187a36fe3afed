"""What the case `recovery` is made of: a whole control plane, kills, and the parts of the time that follows them."""
