"""The report on a survey: tables of what was refuted, what was not, and what could not be audited."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import attrs

from arena.errors import InvalidArgument
from audits.reports.formatting import nats
from audits.reports.json_form import to_data
from audits.reports.report import Document, Facts, Heading, Listing, Part, Prose, Report, Table, escape_text
from audits.surveys.entry_result import NOT_REFUTED, REFUTED, UNDECIDED, EntryResult

_MOST_MULTIPLE = 1_000.0


@attrs.frozen
class EntryTable(Table):
    """A table of entries, which a page shows in its full width. alarming: whether they are bad news."""

    alarming: bool = False

    def html(self) -> str:
        mark = ' class="only-1"' if self.alarming else ""
        head = "".join(f"<th>{escape_text(name)}</th>" for name in self.headers)
        lines = ("".join(f"<td>{escape_text(cell)}</td>" for cell in row) for row in self.rows)
        rows = (f"<tr{mark}>{line}</tr>" for line in lines)
        return "\n".join(
            [
                '<div class="wide" tabindex="0">',
                f"<table><thead><tr>{head}</tr></thead>",
                *rows,
                "</table></div>",
            ]
        )


@attrs.frozen(kw_only=True)
class Comparison:
    """What differs from an earlier survey, as names of entries.

    refuted: now, and not before. fixed: refuted before, and not refuted now. lost: audited before, and not
    now. audited: now, and not before. added, removed: entries of one survey only.
    """

    refuted: tuple[str, ...]
    fixed: tuple[str, ...]
    lost: tuple[str, ...]
    audited: tuple[str, ...]
    added: tuple[str, ...]
    removed: tuple[str, ...]

    @classmethod
    def of(cls, before: Survey, now: Survey) -> Self:
        old = {result.name: result for result in before.results}
        new = {result.name: result for result in now.results}
        both = [(old[name], result) for name, result in new.items() if name in old]

        def choose(differs: Callable[[EntryResult, EntryResult], bool]) -> tuple[str, ...]:
            return tuple(second.name for first, second in both if differs(first, second))

        return cls(
            refuted=tuple(
                name
                for name, result in new.items()
                if result.outcome == REFUTED and (name not in old or old[name].outcome != REFUTED)
            ),
            fixed=choose(lambda first, second: (first.outcome, second.outcome) == (REFUTED, NOT_REFUTED)),
            lost=choose(lambda first, second: first.audited and not second.audited),
            audited=choose(lambda first, second: second.audited and not first.audited),
            added=tuple(name for name in new if name not in old),
            removed=tuple(name for name in old if name not in new),
        )


@attrs.frozen(kw_only=True, repr=False)
class Survey(Report):
    """The results of a survey, in the order of the catalogue.

    planned: the number of entries; there are fewer results if it was interrupted. error: for each entry.
    notes: on the catalogue. before: an earlier survey, which it is compared with.
    """

    kind: ClassVar[str] = "survey"

    library: str
    version: str
    seed: int
    error: float
    max_seconds: float
    max_calls: int | None
    results: tuple[EntryResult, ...]
    planned: int
    notes: tuple[str, ...] = ()
    interrupted: bool = False
    before: Survey | None = None

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The survey in a file with its JSON. Raises: InvalidArgument."""
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
            names = [
                field.name for field in attrs.fields(cls) if field.name not in ("results", "before", "notes")
            ]
            return cls(
                **{name: data[name] for name in names},
                notes=tuple(data["notes"]),
                results=tuple(map(EntryResult.from_data, data["results"])),
            )
        except OSError as error:
            raise InvalidArgument(f"the survey {path} cannot be read ({error.strerror})") from error
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise InvalidArgument(
                f"{path} holds no survey", remedy="Give a file that arena survey --json has written."
            ) from error

    @property
    def refuted(self) -> tuple[EntryResult, ...]:
        """The entries whose claims are refuted."""
        return tuple(result for result in self.results if result.outcome == REFUTED)

    @property
    def undecided(self) -> tuple[EntryResult, ...]:
        """The entries whose claims are neither refuted nor not refuted."""
        return tuple(result for result in self.results if result.outcome == UNDECIDED)

    @property
    def comparison(self) -> Comparison | None:
        """What differs from the earlier survey, if there is one."""
        return None if self.before is None else Comparison.of(self.before, self)

    @property
    def alarming(self) -> bool:
        """Whether a claim is refuted; beside an earlier survey, whether one is that was not before."""
        return bool(self.refuted if self.comparison is None else self.comparison.refuted)

    @property
    def headline(self) -> str:
        counts = [
            sum(result.outcome == outcome for result in self.results) for outcome in (REFUTED, NOT_REFUTED)
        ]
        rest = len(self.results) - sum(counts) - len(self.undecided)
        undecided = f"{len(self.undecided)} undecided, " if self.undecided else ""
        end = f", interrupted after {len(self.results)} of {self.planned} entries" if self.interrupted else ""
        return (
            f"{self.library} {self.version}: {counts[0]} refuted, {counts[1]} not refuted, "
            f"{undecided}{rest} not audited{end}"
        )

    def document(self) -> Document:
        parts: list[Part] = [Facts(self._list_facts())]
        if self.comparison is not None and self.before is not None:
            parts += _describe_comparison(self.comparison, self.before)
        parts += self._list_tables()
        for result in self.refuted:
            parts += [Heading(result.name), *_describe_refuted(result)]
        parts.append(Prose(_READING.format(error=self.error), "note"))
        return Document(parts=[part for part in parts if not isinstance(part, Table) or part.rows])

    def _list_facts(self) -> list[tuple[str, str]]:
        calls = "" if self.max_calls is None else f", {self.max_calls:,} calls"
        return [
            ("library", f"{self.library} {self.version}"),
            ("result", self.headline.partition(": ")[2]),
            ("limits", f"{self.max_seconds:g} s{calls} for each entry"),
            ("seed", str(self.seed)),
            *(("note", note) for note in self.notes),
        ]

    def _list_tables(self) -> list[Part]:
        audited = [result for result in self.results if result.outcome == NOT_REFUTED]
        others = [result for result in self.results if not result.audited]
        noisy = [result for result in self.results if result.printed or result.warned or result.forked]
        return [
            EntryTable(
                ("refuted", "claim", "neighbours", "certified", "told apart by"),
                [
                    (r.name, r.claim, r.neighbours, f"ε ≥ {nats(r.certified or 0.0)}", r.told_apart)
                    for r in self.refuted
                ],
                alarming=True,
            ),
            EntryTable(
                ("not refuted", "claim", "neighbours", "a loss that would have been seen", "games", "failed"),
                [
                    (
                        r.name,
                        r.claim,
                        r.neighbours,
                        _describe_power(r),
                        f"{r.games:,}",
                        f"{r.failed:,}" if r.failed else "",
                    )
                    for r in audited
                ],
            ),
            EntryTable(
                ("undecided", "claim", "neighbours", "why"),
                [(r.name, r.claim, r.neighbours, r.reason) for r in self.undecided],
            ),
            EntryTable(
                ("not audited", "claim", "neighbours", "why"),
                [(r.name, r.claim, r.neighbours, f"{r.outcome}: {r.reason}") for r in others],
            ),
            EntryTable(
                ("beside its release", "it"), [(r.name, line) for r in noisy for line in _list_effects(r)]
            ),
        ]

    def _describe(self) -> dict[str, Any]:
        fields = [field.name for field in attrs.fields(Survey) if field.name not in ("before", "results")]
        return {
            **{name: to_data(getattr(self, name)) for name in fields},
            "results": [to_data(attrs.asdict(result)) for result in self.results],
            "comparison": to_data(self.comparison),
        }


_READING = (
    "ε is in nats. Each claim that is true is refuted with probability {error:g} at most. A claim that is "
    "not refuted is not thereby proved: the column says which loss would have been found with probability "
    "90 %, as a multiple of the claim, if the games of one of the adversaries that were tried showed it."
)


def _describe_power(result: EntryResult) -> str:
    multiple = result.multiple
    if result.ceiling is not None:
        return f"ε ≥ {nats(result.certified or 0.0)} certified, of {nats(result.ceiling)}"
    if result.certified is not None:  # which records that are added or removed explain
        return f"ε ≥ {nats(result.certified)} certified, for the default relation only"
    if multiple is None or multiple > _MOST_MULTIPLE:
        return "none: too few games"
    return f"{multiple:.2g} times the claim"


def _describe_refuted(result: EntryResult) -> Iterable[Part]:
    """The data that show a violation, and on what the claim rests."""
    if result.note:
        yield Prose(result.note)
    for text in result.warned:
        yield Prose(f"It warned: {text}")
    if result.pair:
        yield Listing(result.pair, f"The smallest data that show that {result.name} violates {result.claim}:")


def _list_effects(result: EntryResult) -> Iterable[str]:
    for text, count in result.warned.items():
        yield f"warned {count:,} {'time' if count == 1 else 'times'}: {_cut(text)}"
    if result.printed:
        yield f"printed {result.printed:,} lines, first: {_cut(result.first_line)}"
    if result.forked:
        yield f"forked {result.forked:,} times during calls"


def _cut(text: str, letters: int = 120) -> str:
    return text if len(text) <= letters else f"{text[: letters - 3]}..."


def _describe_comparison(comparison: Comparison, before: Survey) -> list[Part]:
    """The lists of entries, new refutations first."""
    titles: Sequence[tuple[str, tuple[str, ...]]] = (
        ("new refutations", comparison.refuted),
        ("no longer refuted", comparison.fixed),
        ("no longer audited", comparison.lost),
        ("audited for the first time", comparison.audited),
        ("new entries", comparison.added),
        ("removed entries", comparison.removed),
    )
    rows = [(title, ", ".join(names) or "none") for title, names in titles if names or title == titles[0][0]]
    return [Facts([("compared with", f"{before.library} {before.version}"), *rows])]
