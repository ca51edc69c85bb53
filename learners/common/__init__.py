"""learners/common"""
