"""adversaries/figure1"""
