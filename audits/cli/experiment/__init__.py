"""The experiments of the papers: `arena experiment`."""
