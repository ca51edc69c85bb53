"""learners/mechanisms/counters"""
