"""The ledger of an audit."""

from __future__ import annotations

from functools import cached_property

from audits.distinguishers.view_features import Block, ViewCounts, decode_block
from audits.runs.ledger.failures import damage_error
from audits.runs.ledger.store import Store
from audits.runs.ledger.stored_plan import read_block_sizes
from audits.runs.plan import BlockSizes


class Ledger(Store[Block]):
    """The ledger of an audit: blocks of games."""

    kind = "an audit"
    decode = staticmethod(decode_block)

    @cached_property
    def _planned(self) -> tuple[BlockSizes | None, bool | None]:
        """The sizes of the plan's blocks, and whether they hold views; None if the plan does not say so."""
        plan = self.plan
        try:
            sizes = read_block_sizes(plan)
        except ValueError as error:
            raise damage_error(self.path, f"its plan {error}") from error
        return sizes, plan["distinguisher"] == "learned" if "distinguisher" in plan else None

    def find_fault(self, block: int, pairs: int, result: Block | None) -> str:
        sizes, has_views = self._planned
        if sizes is not None and not 0 <= block < len(sizes):
            return f"it has {len(sizes):,} blocks"
        most = self.plan.get("games", pairs) if sizes is None else sizes[block]
        if type(pairs) is not int or not 1 <= pairs <= most or (sizes is not None and pairs != most):
            return f"it says that it has {pairs!r} pairs of games"
        if result is None:
            return ""
        if result.pairs != pairs:
            return f"it has {result.pairs:,} pairs of games, and says that it has {pairs:,}"
        wrong = has_views is not None and has_views != isinstance(result, ViewCounts)
        return f"it holds {'scores' if has_views else 'views'}" if wrong else ""
