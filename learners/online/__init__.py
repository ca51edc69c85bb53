"""Online learners with a bound on mistakes or regret, private and not private (Li, Wang, Ye)."""
