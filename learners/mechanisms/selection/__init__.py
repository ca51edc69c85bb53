"""learners/mechanisms/selection"""
