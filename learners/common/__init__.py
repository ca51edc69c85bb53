"""What several families of learners share."""
