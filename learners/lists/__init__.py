"""learners/lists"""
