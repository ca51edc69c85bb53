"""Privacy accounting: composition, subsampling, and the largest parameter that a budget allows."""
