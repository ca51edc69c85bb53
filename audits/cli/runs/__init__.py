"""The commands `arena runs ...`."""
