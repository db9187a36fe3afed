"""Who may do what: secrets, and what a definition asks of the user who publishes it."""
