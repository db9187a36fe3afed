"""Commands that run Headgate on this machine. What a command needs of the server is imported when it runs."""
