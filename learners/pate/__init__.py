"""learners/pate"""
