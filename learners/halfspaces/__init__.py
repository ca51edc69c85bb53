"""learners/halfspaces"""
