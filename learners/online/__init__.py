"""Online learners with a mistake or regret bound, private and not (Li, Wang, Ye)."""
