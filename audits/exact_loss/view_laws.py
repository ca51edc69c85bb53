"""The distribution of the adversary's view in both worlds, of answers or of one released value."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import attrs
import numpy as np

from arena import (
    Adversary,
    AnswerLaw,
    Branches,
    Density,
    Finite,
    GaussianVector,
    Hypothesis,
    Independent,
    InvalidArgument,
    Learner,
    PrivacyUnit,
    Referee,
    Released,
    Sample,
    Transformed,
    Unsupported,
    ValueLaw,
    play,
)
from arena.concepts import ConceptClass
from arena.laws import simplify_laws
from arena.parcels import callable_name, fingerprint
from arena.referees import name_protocols
from arena.released.encoding import fit_rows
from audits.exact_loss.answer_paths import PresetStates, forbid_randomness
from audits.exact_loss.loss_cells import HIDDEN, LossCells, concatenate_cells, density_cells, product_cells
from audits.exact_loss.path_enumeration import PRUNE, PathEnumeration, format_view
from audits.exact_loss.privacy_loss import PrivacyLoss
from audits.registry.settings_text import blame_player

MAX_PATHS = 200_000
_REACH = 9.0  # in standard deviations; the mass beyond is less than 1e-18
_MAX_SCORED = 4_096  # values of a finite distribution that are played to find their scores


@attrs.frozen(eq=False)
class LabelledLoss:
    """A privacy loss, with a text that describes each of its cells."""

    loss: PrivacyLoss
    text: Callable[[int], str]


def check_same_function(one: Transformed, other: Transformed) -> None:
    """Raises: InvalidArgument if two distributions have different functions and so cannot be compared."""
    if fingerprint(one.inverse) != fingerprint(other.inverse):
        raise InvalidArgument(
            "the function of a Transformed must be the same for all data",
            value=[callable_name(law.inverse) for law in (one, other)],
            remedy="Put what depends on the data into its law.",
        )


def loss_of_values(world_0: ValueLaw, world_1: ValueLaw) -> PrivacyLoss:
    """The privacy loss between two distributions of one released value.
    Raises: InvalidArgument if they are not of the same kind and shape, or are not distributions."""
    return losses_of_values(world_0, world_1)[0].loss


def losses_of_values(
    world_0: ValueLaw, world_1: ValueLaw, *, hidden: float = HIDDEN
) -> tuple[LabelledLoss, LabelledLoss]:
    """The privacy loss in cells that hide at most `hidden` of δ each, for figures, and in few cells for
    reports."""
    pair = world_0, world_1 = simplify_laws(world_0, world_1)
    if isinstance(world_0, Transformed) and isinstance(world_1, Transformed):
        check_same_function(world_0, world_1)
        return losses_of_values(world_0.law, world_1.law, hidden=hidden)
    if isinstance(world_0, Branches) and isinstance(world_1, Branches):
        parts = _pair_parts(world_0, world_1, "both worlds must have the same branches")
        branches = [_branch_cells(*part, hidden) for part in parts]
        bands = [branch.merge_bands() for branch in branches]
        return _label_cells(branches, "branch"), _label_cells(bands, "branch")
    if isinstance(world_0, GaussianVector) and isinstance(world_1, GaussianVector):
        pair = _along_difference(world_0, world_1)
        return losses_of_values(*pair, hidden=hidden)
    if isinstance(world_0, Finite) and isinstance(world_1, Finite):
        cells, values = _finite_cells(world_0, world_1)
        form = partial(np.array2string, precision=6, threshold=64, max_line_width=1_000)
        listed = LabelledLoss(cells.loss(), lambda cell: f"value {form(np.asarray(values[cell]))}")
        return listed, listed
    if isinstance(world_0, Density) and isinstance(world_1, Density):
        cells = density_cells(world_0, world_1, hidden=hidden)
        return _label_cells([cells]), _label_cells([cells.merge_bands()])
    if isinstance(world_0, Independent) and isinstance(world_1, Independent):
        parts = _pair_parts(world_0, world_1, "the vectors of both worlds must have the same length")
        listed = _label_cells([product_cells([_part_cells(*part, hidden) for part in parts])])
        return listed, listed
    raise InvalidArgument(
        "both worlds need distributions of the same kind: Finite, Density, Independent or Branches, a "
        "Transformed of these, or a Mixture of Finite and Density",
        value=[type(law).__name__ for law in pair],
        remedy="Use `arena audit`: likelihood ratios need no more than log_density.",
    )


def _along_difference(world_0: GaussianVector, world_1: GaussianVector) -> tuple[Density, Density]:
    """Two Gaussian vectors as the numbers N(0, 1) and N(μ, 1): all else is distributed alike."""
    mu = float(np.linalg.norm(world_1.mean - world_0.mean)) / world_0.sigma
    low, high = -_REACH, mu + _REACH
    first, second = (
        Density(log=partial(_log_gaussian, at), kinks=(), low=low, high=high, scale=1.0) for at in (0.0, mu)
    )
    return first, second


def _log_gaussian(mean: float, x: np.ndarray) -> np.ndarray:
    return np.asarray(-((x - mean) ** 2) / 2 - np.log(2 * np.pi) / 2)


def _finite_cells(world_0: Finite, world_1: Finite) -> tuple[LossCells, np.ndarray]:
    """The cells of values possible in some world, and the values (k, ...)."""
    values = [world_0.values, world_1.values]
    if values[0].shape[1:] != values[1].shape[1:]:  # releases with other numbers of entries
        if max(law.ndim for law in values) > 2:
            raise InvalidArgument(
                "the values of both worlds must have the same shape", value=[law.shape[1:] for law in values]
            )
        width = max(law.shape[1] if law.ndim == 2 else 2 for law in values)
        values = [fit_rows(law, width)[0] for law in values]
    both = np.concatenate(values)
    _, first, place = np.unique(both.reshape(len(both), -1), axis=0, return_index=True, return_inverse=True)
    masses = np.zeros((2, len(first)))
    place, count = place.ravel(), len(world_0.values)
    masses[0, place[:count]] = world_0.probabilities
    masses[1, place[count:]] = world_1.probabilities
    possible = masses.any(axis=0)
    return LossCells.of_views(*masses), both[first][possible]


def _pair_parts(
    one: Branches | Independent, other: Branches | Independent, rule: str
) -> list[tuple[Any, Any]]:
    """The parts of both worlds in pairs; rule: the error if their numbers differ."""
    if len(one.parts) != len(other.parts):
        raise InvalidArgument(rule, value=[len(law.parts) for law in (one, other)])
    return list(zip(one.parts, other.parts, strict=True))


def _part_cells(one: ValueLaw, other: ValueLaw, hidden: float) -> LossCells:
    one, other = simplify_laws(one, other)
    if isinstance(one, Branches) and isinstance(other, Branches):
        return concatenate_cells(
            [_branch_cells(*pair, hidden) for pair in zip(one.parts, other.parts, strict=True)]
        )
    if isinstance(one, Finite) and isinstance(other, Finite):
        return _finite_cells(one, other)[0]
    if isinstance(one, Density) and isinstance(other, Density):
        return density_cells(one, other, hidden=hidden)
    raise InvalidArgument("a part must be Finite in both worlds or have a density in both")


def _branch_cells(one: float | Density, other: float | Density, hidden: float) -> LossCells:
    """The cells of one branch. A number that is released in one world only reveals the world for certain."""
    laws = (one, other)
    densities = [law for law in laws if isinstance(law, Density)]
    if len(densities) == 2:
        return density_cells(*densities, hidden=hidden)
    without_number = LossCells.of_views(
        *(np.array([0.0 if isinstance(law, Density) else law], float) for law in laws)
    )
    if not densities:
        return without_number
    zero = attrs.evolve(densities[0], log=lambda x: np.full(np.shape(x), -np.inf))
    with_number = density_cells(*(law if isinstance(law, Density) else zero for law in laws), hidden=hidden)
    return concatenate_cells([with_number, without_number])


def _label_cells(parts: list[LossCells], name: str = "") -> LabelledLoss:
    """The loss of all parts, whose cells are described by their place and, with a name, by their part."""
    cells = concatenate_cells(parts)
    part = np.repeat(np.arange(len(parts)), [len(each) for each in parts])

    def text(cell: int) -> str:
        place = f"from {cells.left[cell]:.6g} to {cells.right[cell]:.6g}"
        nowhere = np.isnan(cells.left[cell])
        if name:
            return f"{name} {part[cell]}{'' if nowhere else f', number {place}'}"
        if not nowhere:
            return f"value {place}"
        low, high = cells.low[cell], cells.high[cell]
        losses = f"of {low:.6g}" if low == high else f"from {low:.6g} to {high:.6g}"
        return f"all values of a privacy loss {losses}"

    return LabelledLoss(cells.loss(), text)


@attrs.frozen(eq=False, kw_only=True)
class ViewLaw:
    """The distribution of a view in both worlds.

    views: the privacy loss, with a cell for each view or range of values. coarse: in few cells, for reports.
    score: that of the adversary's own score; None if it returns none, or scores cannot be listed.
    challenges: what the worlds differ in.
    """

    views: LabelledLoss
    coarse: LabelledLoss
    score: PrivacyLoss | None
    challenges: frozenset[PrivacyUnit]

    @property
    def loss(self) -> PrivacyLoss:
        return self.views.loss


def view_law(
    learner: Learner,
    adversary: Adversary,
    referee: Referee,
    *,
    prune: float = PRUNE,
    max_paths: int = MAX_PATHS,
    watch: Callable[[float], object] | None = None,
) -> ViewLaw:
    """The distribution of what `adversary` sees of `learner`, from the learner's output distribution.

    prune, max_paths, watch: as in `PathEnumeration`, if the learner answers queries.
    Raises: Unsupported if the output distribution is unknown, the adversary uses randomness or leads to too
        many paths, or under another protocol; whatever a referee raises in a game.
    """
    if referee.law is AnswerLaw:
        paths = PathEnumeration(learner, adversary, referee, prune=prune, max_paths=max_paths, watch=watch)
        paths.run()
        loss, views = paths.loss()
        listed = LabelledLoss(loss, lambda cell: format_view(views[cell]))
        challenges = frozenset(paths.challenges)
        return ViewLaw(views=listed, coarse=listed, score=paths.score_loss(), challenges=challenges)
    if referee.law is ValueLaw:
        return _law_of_release(learner, adversary, referee)
    possible = name_protocols(lambda kind: kind.law in (AnswerLaw, ValueLaw))
    raise Unsupported(
        f"exact audits are possible under {possible}, not under {referee.name}",
        remedy="Use `arena audit`, which plays games.",
    )


def value_laws(learner: Learner, adversary: Adversary, referee: Referee) -> tuple[ValueLaw, ValueLaw]:
    """The distribution of the released value, in world 0 and in world 1. Raises: as `view_law`; Unsupported
    if the adversary gives no sample."""
    laws, _, _ = _read_laws(learner, forbid_randomness(adversary), referee)
    if not laws:
        raise Unsupported(f"{adversary.name} gives no training sample, so nothing is released")
    return laws[0], laws[1]


def _read_laws(
    learner: Learner, adversary: Adversary, referee: Referee
) -> tuple[list[ValueLaw], frozenset[PrivacyUnit], ConceptClass | None]:
    """The distributions in both worlds, if any; what the worlds differ in; the class of a hypothesis."""
    given: list[Any] = []
    concepts = None
    challenges: frozenset[PrivacyUnit] = frozenset()
    for world in (False, True):
        worlds = np.array([world])
        played = play(learner, adversary, referee, games=1, seed=0, worlds=worlds, record=True)
        entries = () if played.transcript is None else played.transcript.entries
        received = referee.read_given(entries)
        if received is None and entries:
            raise Unsupported(f"{learner.own_name} declares no output distribution of streams of records")
        given += [] if received is None else [received]
        values = [reply.value for reply in played.replies if isinstance(reply, Released)]
        concepts = next((value.concept_class for value in values if isinstance(value, Hypothesis)), None)
        challenges |= played.challenges
    return [_value_law(learner, each) for each in given], challenges, concepts


def _law_of_release(learner: Learner, adversary: Adversary, referee: Referee) -> ViewLaw:
    adversary = forbid_randomness(adversary)
    laws, challenges, concepts = _read_laws(learner, adversary, referee)
    if not laws:
        nothing = LabelledLoss(PrivacyLoss.of_views([1.0], [1.0]), lambda cell: "nothing")
        return ViewLaw(views=nothing, coarse=nothing, score=None, challenges=challenges)
    fine, coarse = losses_of_values(*laws)
    score = _score_of_values(learner, adversary, referee, concepts, *laws)
    return ViewLaw(views=fine, coarse=coarse, score=score, challenges=challenges)


def _value_law(learner: Learner, sample: Sample) -> ValueLaw:
    with blame_player(learner.own_name, "asked for its output distribution"):
        law = learner.law(sample)
    if not isinstance(law, ValueLaw):
        raise Unsupported(
            f"{learner.own_name} states no distribution of what it releases",
            value=type(law).__name__,
            remedy="Let law(sample) return a ValueLaw.",
        )
    return law


def _score_of_values(
    learner: Learner,
    adversary: Adversary,
    referee: Referee,
    concepts: ConceptClass | None,
    world_0: ValueLaw,
    world_1: ValueLaw,
) -> PrivacyLoss | None:
    """The privacy loss of the scores of all listed values; None if values or scores cannot be listed."""
    if not (isinstance(world_0, Finite) and isinstance(world_1, Finite)):
        return None
    values = np.unique(np.concatenate([world_0.values, world_1.values]), axis=0)
    if len(values) > _MAX_SCORED:
        return None
    scores = []
    for value in values:
        state = referee.show(value, concepts)
        preset, worlds = PresetStates.of(learner, state), np.zeros(1, bool)
        played = play(preset, adversary, referee, games=1, seed=0, worlds=worlds)
        if played.score is None:
            return None
        scores.append(float(played.score[0]))
    levels, which = np.unique(np.array(scores), return_inverse=True)
    masses = (np.exp(law.log_density(values)) for law in (world_0, world_1))
    sums = (np.bincount(which.ravel(), weights=mass, minlength=len(levels)) for mass in masses)
    return PrivacyLoss.of_views(*sums)
