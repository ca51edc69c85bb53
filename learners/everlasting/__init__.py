"""learners/everlasting"""
