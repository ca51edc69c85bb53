"""learners/mechanisms/noise"""
