"""Mechanisms on which the auditing literature tests its methods, correct and broken."""
