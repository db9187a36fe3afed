"""What components have in common, and how they are found."""
