"""The commands of `arena monitor`."""
