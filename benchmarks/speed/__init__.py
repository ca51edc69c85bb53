"""How long audits take and how much memory; each file is a program that prints its figures."""
