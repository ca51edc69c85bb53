"""The store of a monitor: a folder of small JSON files, one for each version of the code of each claim.

A repository or the cache of a CI can hold it. Every file is replaced as a whole, so a process that is killed
loses its night at most. Who may write the store is trusted with its figures, but no code in it is ever run.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from math import fsum, isfinite, log
from pathlib import Path
from typing import Any, Self

import attrs
from attrs.validators import deep_iterable, deep_mapping, instance_of, optional

from arena import InvalidArgument
from audits.adversary_search import share_of_error
from audits.data.output_files import write_atomically
from audits.runs.run_parts import RunPart

FORMAT = 1  # of the files; it grows when an entry changes its name or its meaning
INDEX = "monitor.json"  # what belongs to all claims
_MAX_FILE = 4 << 20  # bytes
_text = instance_of(str)
_number = [instance_of(int), attrs.validators.ge(0)]
_texts = deep_iterable(_text, instance_of(list))


def _check_finite(record: object, attribute: Any, value: float) -> None:
    if not isinstance(value, float) or not isfinite(value):
        raise ValueError(f"{attribute.name} is no finite number")


@attrs.define(kw_only=True)
class Night:
    """A night's games against one version. number: of the night among those of its part.

    log_wealth: the logarithm of what a wealth of 1 became by these games, in nats: an e-value. games: in each
    world, of those that were bet on; explored: of the others. counts: whether it still does. date, commit:
    when and on what it was played, if known, on which no figure depends.
    """

    number: int = attrs.field(validator=_number)
    part: str = attrs.field(validator=_text)
    games: int = attrs.field(validator=_number)
    explored: int = attrs.field(validator=_number)
    log_wealth: float = attrs.field(validator=_check_finite)
    adversary: str = attrs.field(validator=_text)
    seconds: float = attrs.field(validator=_check_finite)
    counts: bool = attrs.field(default=True, validator=instance_of(bool))
    date: str = attrs.field(default="", validator=_text)
    commit: str = attrs.field(default="", validator=_text)

    @property
    def identity(self) -> tuple[str, int]:
        """Equal for the same games: seeds follow from the version, the part and the number."""
        return self.part, self.number


@attrs.define(kw_only=True)
class Kept:
    """What a night hands on to the next. source: the adversary as code; empty if it is given, or no code can
    be read back without running it. faults: whether it sees failures of the mechanism. scores: of its games
    so far, by `PairCounts.to_bytes` in base64, from which bets are chosen; empty if there are none."""

    source: str = attrs.field(default="", validator=_text)
    faults: bool = attrs.field(default=False, validator=instance_of(bool))
    scores: str = attrs.field(default="", validator=_text)


@attrs.define(kw_only=True)
class ClaimVersion:
    """All that is known of a claim on one version of the code.

    numbers: which of the errors of the claim it spends, the last one now; see `Store.compute_threshold`.
    epsilon, delta: of the claim. parts: as of `describe_version`. refuted: for good. counterexample: as text.
    failures: why nights could not be played.
    """

    claim: str = attrs.field(validator=_text)
    version: str = attrs.field(validator=_text)
    numbers: list[int] = attrs.field(validator=deep_iterable(instance_of(int), instance_of(list)))
    statement: str = attrs.field(validator=_text)
    epsilon: float = attrs.field(validator=_check_finite)
    delta: float = attrs.field(validator=_check_finite)
    has_curve: bool = attrs.field(validator=instance_of(bool))
    parts: dict[str, dict[str, str]] = attrs.field(
        validator=deep_mapping(_text, deep_mapping(_text, _text), instance_of(dict))
    )
    refuted: bool = attrs.field(default=False, validator=instance_of(bool))
    counterexample: str = attrs.field(default="", validator=_text)
    failures: list[str] = attrs.field(factory=list, validator=_texts)
    kept: Kept | None = attrs.field(default=None, validator=optional(instance_of(Kept)))
    nights: list[Night] = attrs.field(
        factory=list, validator=deep_iterable(instance_of(Night), instance_of(list))
    )

    def __attrs_post_init__(self) -> None:
        if not self.numbers or min(self.numbers) < 1:
            raise ValueError("numbers of a version begin with 1")

    @property
    def log_wealth(self) -> float:
        """The evidence against the claim in nats: that of all nights multiplies."""
        return fsum(night.log_wealth for night in self.nights if night.counts)

    @property
    def games(self) -> int:
        """In each world, of all nights that count."""
        return sum(night.games for night in self.nights if night.counts)

    def find_next_night(self, part: str) -> int:
        """The number of the next night of a part."""
        return 1 + max((night.number for night in self.nights if night.part == part), default=0)


@attrs.define
class Store:
    """The store in `folder`. error: of all claims, versions and nights together. part: of the stores that
    report; each spends the same share. shares: of the error of this store, by the names of claims. batches:
    the names that came together. current: the version of each claim that was met last."""

    folder: Path
    error: float
    part: RunPart
    shares: dict[str, float] = attrs.field(factory=dict)
    batches: list[list[str]] = attrs.field(factory=list)
    current: dict[str, str] = attrs.field(factory=dict)
    versions: dict[str, list[ClaimVersion]] = attrs.field(factory=dict)

    # --- the error ------------------------------------------------------------------------------------------

    def add_claims(self, weights: Mapping[str, float]) -> None:
        """Give a share of the error to claims that are new. The first claims share half of it by their
        weights, those of the k-th time that claims are added 1/(k (k + 1))."""
        new = {name: weight for name, weight in weights.items() if name not in self.shares}
        if not new:
            return
        self.batches.append(sorted(new))
        batch = share_of_error(1.0, len(self.batches))
        total = fsum(new.values())
        self.shares |= {name: batch * weight / total for name, weight in new.items()}
        self.save_index()

    def compute_threshold(self, version: ClaimVersion) -> float:
        """The evidence in nats from which on the claim is reported false."""
        share = self.error / self.part.of * self.shares[version.claim]
        return -log(share_of_error(share, version.numbers[-1]))

    def compute_error(self, claim: str) -> float:
        """The probability, at most, that a claim is ever reported false by this store while it is true."""
        return self.error / self.part.of * self.shares[claim]

    def spend_next(self, claim: str) -> int:
        """The number of the next error of a claim."""
        spent = [number for each in self.versions.get(claim, ()) for number in each.numbers]
        return 1 + max(spent, default=0)

    def begin_again(self, version: ClaimVersion) -> None:
        """Let a version spend the next error of its claim, with a wealth of 1, since games that were bet on
        could not be finished: their evidence must not be chosen by whether they could."""
        version.numbers.append(self.spend_next(version.claim))
        for night in version.nights:
            night.counts = False

    # --- files ----------------------------------------------------------------------------------------------

    @classmethod
    def open(cls, folder: str | os.PathLike[str], error: float, part: RunPart) -> Self:
        """The store in a folder, which is made if there is none. Raises: InvalidArgument if it cannot be
        read, or promises another error."""
        path = Path(folder)
        if not (path / INDEX).exists():
            if path.is_dir() and any(path.iterdir()):
                raise InvalidArgument(
                    f"{path} is no store of a monitor", remedy="Name a new folder, or the store."
                )
            store = cls(path, error, part)
            store.save_index()
            return store
        store = cls.read(path)
        if (store.error, store.part) != (error, part):
            raise InvalidArgument(
                f"the store {path} was begun with the error {store.error:g} and part {store.part}, which it "
                "has begun to spend",
                value=f"{error:g}, part {part}",
                remedy="Give the same, or begin a new store.",
            )
        return store

    @classmethod
    def read(cls, folder: str | os.PathLike[str]) -> Self:
        """The store in a folder. Raises: InvalidArgument if there is none, or it cannot be read."""
        path = Path(folder)
        if not (path / INDEX).is_file():
            raise InvalidArgument(
                f"there is no store of a monitor in {path}", remedy="arena monitor play CLAIMS.py makes one."
            )
        index = _read_json(path / INDEX)
        with _blame(path / INDEX):
            part = RunPart.parse(index["part"])
            shares = {str(name): float(share) for name, share in index["shares"].items()}
            error = float(index["error"])
            if not (0 < error < 1 and min(shares.values(), default=1) > 0 and fsum(shares.values()) <= 1):
                raise ValueError("its errors do not add up")
            batches = [[str(name) for name in batch] for batch in index["batches"]]
            current = {str(name): str(version) for name, version in index["current"].items()}
            store = cls(path, error, part, shares, batches, current)
        for file in sorted(path.glob("*/*.json")):
            with _blame(file):
                version = _structure(_read_json(file))
                if version.claim not in shares or file != store.find_file(version):
                    raise ValueError("it belongs to another store, or to another claim")
            store.versions.setdefault(version.claim, []).append(version)
        for versions in store.versions.values():
            versions.sort(key=lambda version: version.numbers[0])
            numbers = [number for version in versions for number in version.numbers]
            if len({*numbers}) < len(numbers):
                raise InvalidArgument(
                    f"two versions of the claim {versions[0].claim!r} in {path} spend the same error",
                    remedy="Restore the store; arena monitor merge combines stores.",
                )
        return store

    def find_version(self, claim: str, version: str) -> ClaimVersion | None:
        """What is known of a claim on this version of the code; None if it is new."""
        return next((each for each in self.versions.get(claim, ()) if each.version == version), None)

    def find_current(self, claim: str) -> ClaimVersion | None:
        """The version that was met last; None if the claim has never been resolved."""
        found = self.find_version(claim, self.current.get(claim, ""))
        return found or next(reversed(self.versions.get(claim, [])), None)

    def add_version(self, version: ClaimVersion) -> None:
        """Add a version, which spends the next error of its claim."""
        self.versions.setdefault(version.claim, []).append(version)

    def replace_version(self, version: ClaimVersion, identity: str, parts: dict[str, dict[str, str]]) -> None:
        """Describe a version anew that has no nights yet, and so no evidence."""
        self.find_file(version).unlink(missing_ok=True)
        version.version, version.parts = identity, parts
        self.save(version)

    def find_kept(self, claim: str) -> Kept | None:
        """The adversary of the version before, if there is one. Its scores are those of other code."""
        kept = [version.kept for version in self.versions.get(claim, ()) if version.kept is not None]
        return attrs.evolve(kept[-1], scores="") if kept else None

    def save_index(self) -> None:
        """Write what belongs to all claims."""
        index = {
            "format": FORMAT,
            "error": self.error,
            "part": str(self.part),
            "shares": self.shares,
            "batches": self.batches,
            "current": self.current,
        }
        _write_json(self.folder / INDEX, index)

    def save(self, version: ClaimVersion) -> None:
        """Write all that is known of a version."""
        _write_json(self.find_file(version), {"format": FORMAT, **attrs.asdict(version)})

    def find_file(self, version: ClaimVersion) -> Path:
        """The file of a version."""
        words = re.sub(r"\W+", "-", version.claim, flags=re.ASCII).strip("-").lower()[:40] or "claim"
        digest = hashlib.sha256(version.claim.encode()).hexdigest()[:8]
        return self.folder / f"{words}-{digest}" / f"{version.version}.json"

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keep other processes of this machine from playing for the same store. Raises: InvalidArgument."""
        try:
            import fcntl  # not on Windows
        except ImportError:
            yield
            return
        with (self.folder / INDEX).open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise InvalidArgument(
                    f"another process plays for the store {self.folder}", remedy="Wait until it ends."
                ) from error
            except OSError:  # the file system has no locks
                pass
            yield

    # --- merging --------------------------------------------------------------------------------------------

    def merge(self, other: Store) -> int:
        """Add the nights of another store that this one lacks, and return their number. Versions that are new
        here spend the next errors, in the order of their digests, which no evidence chose."""
        self.add_claims({name: other.shares[name] for name in sorted(other.shares)})
        added = 0
        for claim in sorted(other.versions):
            for theirs in sorted(other.versions[claim], key=lambda version: version.version):
                own = self.find_version(claim, theirs.version)
                if own is None:
                    own = attrs.evolve(theirs, numbers=[self.spend_next(claim)], nights=[])
                    self.add_version(own)
                known = {night.identity for night in own.nights}
                new = [night for night in theirs.nights if night.identity not in known]
                own.nights += [attrs.evolve(night) for night in new]
                added += len(new)
                own.kept = own.kept or theirs.kept
                if theirs.refuted and not own.refuted:
                    own.refuted, own.counterexample = True, theirs.counterexample
                own.refuted = own.refuted or own.log_wealth >= self.compute_threshold(own)
                self.save(own)
        return added


@contextmanager
def _blame(path: Path) -> Iterator[None]:
    """Raises: InvalidArgument that names the file if its content makes no sense."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, InvalidArgument) and str(path) in str(error):
            raise
        reason = f"it has no entry {error}" if isinstance(error, KeyError) else str(error.args[0])
        raise _refuse(path, reason) from error


def _refuse(path: Path, reason: str) -> InvalidArgument:
    return InvalidArgument(
        f"{path} in the store of a monitor cannot be read ({reason})",
        remedy="Restore it, or remove the store, whose evidence is then lost.",
    )


def _structure(data: Mapping[str, Any]) -> ClaimVersion:
    """The record that `Store.save` wrote. Raises: TypeError, ValueError, KeyError, AttributeError."""
    entries = {name: value for name, value in data.items() if name != "format"}
    kept = entries.pop("kept")
    nights = [Night(**night) for night in entries.pop("nights")]
    return ClaimVersion(**entries, kept=None if kept is None else Kept(**kept), nights=nights)


def _read_json(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > _MAX_FILE:
            raise _refuse(path, "it is too large")
        data = json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse_constant)
    except OSError as error:
        raise _refuse(path, str(error.strerror)) from error
    except (ValueError, RecursionError) as error:
        raise _refuse(path, "it is no JSON") from error
    if not isinstance(data, dict):
        raise _refuse(path, "it is no object")
    if data.get("format") != FORMAT:
        raise InvalidArgument(
            f"{path} was written by another version of dp-arena (format {data.get('format')!s:.20}, and this "
            f"one reads {FORMAT})",
            remedy="Use that version, or begin a new store.",
        )
    return data


def _refuse_constant(text: str) -> float:
    raise ValueError(f"{text} is no number")


def _write_json(path: Path, data: Mapping[str, Any]) -> None:
    """Replace a file as a whole. Raises: InvalidArgument if it cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidArgument(f"the folder {path.parent} cannot be made ({error.strerror})") from error
    text = json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False)
    with write_atomically("store", path) as unfinished:
        unfinished.write_text(text + "\n", encoding="utf-8")
