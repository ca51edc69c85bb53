"""learners/mechanisms/sparse_vector"""
