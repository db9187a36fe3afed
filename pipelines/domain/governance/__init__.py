"""Which changes of what runs need the word of others, and what a change request is."""
