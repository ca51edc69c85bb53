"""What mechanisms release: its types, its parts as numbers and features, and where they are."""
