"""Runs of an audit: the plan, its blocks, the ledger and the verdict."""
