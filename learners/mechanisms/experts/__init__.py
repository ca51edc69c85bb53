"""learners/mechanisms/experts"""
