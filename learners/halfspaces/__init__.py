"""Online learners of halfspaces with a margin: Winnow and its private variant (Bun and Fang)."""
