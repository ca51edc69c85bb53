"""learners/releases"""
