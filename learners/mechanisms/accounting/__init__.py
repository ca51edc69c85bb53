"""learners/mechanisms/accounting"""
