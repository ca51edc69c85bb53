"""What the commands share: options, completion in a shell, and output."""
