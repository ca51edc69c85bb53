"""Reading the user's data, fitting a learner to it, and writing output files."""
