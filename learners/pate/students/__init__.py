"""Students: rules learned from an aggregator's answers on public points.

A student is a function of a labelling service (an object with `predict` and `halted`, such as a running
aggregator) and of public points, so that learners for Release and experiments can use it alike.
"""
