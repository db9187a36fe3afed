"""A definition as a document: its text, its model, its references, and what differs between two."""
