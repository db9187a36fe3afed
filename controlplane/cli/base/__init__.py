"""What all commands share: client, output, errors, waiting."""
