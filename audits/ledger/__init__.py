"""Ledgers: what a run has played, in one SQLite file that outlasts process, machine and program."""

from audits.ledger.failures import LedgerFailed, LedgerFull
from audits.ledger.schema import APPLICATION_ID, SCHEMA_VERSION
from audits.ledger.store import Ledger, Store

__all__ = ["APPLICATION_ID", "SCHEMA_VERSION", "Ledger", "LedgerFailed", "LedgerFull", "Store"]
