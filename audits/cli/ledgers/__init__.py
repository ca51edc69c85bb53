"""audits/cli/ledgers"""
