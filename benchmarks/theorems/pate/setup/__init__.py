"""What the figures of PATE measure on: sources of examples, and learners that are run on draws from them."""
