"""Reading the cards of the guided demo."""
