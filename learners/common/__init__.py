"""Code that several families of learners share."""
