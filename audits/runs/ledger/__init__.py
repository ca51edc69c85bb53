"""Ledgers: the plan and the finished blocks of a run in one SQLite file, by which it can be resumed."""

from audits.runs.ledger.audit_ledger import Ledger
from audits.runs.ledger.failures import LedgerFailed, LedgerFull, LedgerLost
from audits.runs.ledger.schema import APPLICATION_ID, SCHEMA_VERSION
from audits.runs.ledger.store import Store

__all__ = ["APPLICATION_ID", "SCHEMA_VERSION", "Ledger", "LedgerFailed", "LedgerFull", "LedgerLost", "Store"]
