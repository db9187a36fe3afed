"""Who may do what: secrets, and what a definition asks of the person who publishes it."""
