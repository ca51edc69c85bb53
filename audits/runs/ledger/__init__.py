"""Ledgers: the plan and the finished blocks of a run in one SQLite file, by which it can be resumed."""

from audits.runs.ledger.store import Ledger, LedgerFailed, Store

__all__ = ["Ledger", "LedgerFailed", "Store"]
