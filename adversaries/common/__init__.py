"""What adversaries of several protocols share."""
