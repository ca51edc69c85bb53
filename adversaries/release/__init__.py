"""adversaries/release"""
