"""The verbs of `import audits`: what a few lines of Python call. The command line shares their planning."""
