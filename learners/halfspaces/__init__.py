"""Online learners of halfspaces with margin: Winnow and its private variants (Bun, Fang)."""
