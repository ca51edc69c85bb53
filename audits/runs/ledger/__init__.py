"""Ledgers: what a run has played, in one SQLite file that outlasts process, machine and program."""

from audits.runs.ledger.failures import LedgerFailed, LedgerFull
from audits.runs.ledger.schema import APPLICATION_ID, SCHEMA_VERSION
from audits.runs.ledger.store import Ledger, Store

__all__ = ["APPLICATION_ID", "SCHEMA_VERSION", "Ledger", "LedgerFailed", "LedgerFull", "Store"]
