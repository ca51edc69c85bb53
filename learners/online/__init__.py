"""learners/online"""
