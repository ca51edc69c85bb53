"""learners/predictors"""
