"""`arena new`, a file with a player of the user's own and its test; and `arena data`, example data."""

from __future__ import annotations

import keyword
import re
import sys
import sysconfig
from importlib import resources
from importlib.machinery import PathFinder
from pathlib import Path

import click

from arena import REFEREES, InvalidArgument, Release
from audits.cli.options import argument, option, option_groups, option_record
from audits.data.output_files import check_output_file

_PROTOCOLS = {name: referee for name, referee in REFEREES.items() if referee.template_opponents}
DATA_SETS = {"adult": "adult.csv.gz", "mushroom": "mushroom.csv.gz"}
_PACKAGES = {"arena", "learners", "adversaries", "audits"}
_LEARNER_TEST = '''"""Tests of {name}; run them with pytest."""

from {module} import {cls}

from arena.testing import check_learner
from audits.testing import assert_private


def test_it_keeps_to_the_protocol() -> None:
    check_learner({cls}())


def test_its_claim_is_not_refuted() -> None:
    assert_private({cls}(), against="{against}", games=20_000)
'''
_ADVERSARY_TEST = '''"""Tests of {name}; run them with pytest."""

from {module} import {cls}

from arena import {protocol}
from arena.testing import check_adversary
from audits.cli.templates.{file}_learner import MyPlayer as NoisyLearner
from audits.testing import assert_refuted


def test_it_keeps_to_the_protocol() -> None:
    check_adversary({cls}(), NoisyLearner(), {protocol}())


def test_it_refutes_a_claim_that_is_too_small() -> None:
    assert_refuted(NoisyLearner(epsilon=1.0), claim=(0.5, 0.0), against={cls}())
'''


@option_record
class NewOptions:
    kind: str = argument(metavar="learner|adversary", type=click.Choice(("learner", "adversary")))
    name: str = argument(metavar="NAME")
    protocol: str = option(
        "--protocol",
        type=click.Choice(list(_PROTOCOLS), case_sensitive=False),
        default=Release.name,
        help=" ".join(f"{name}: {referee.summary}." for name, referee in _PROTOCOLS.items()),
    )
    folder: str = option("--output", "-o", metavar="FOLDER", default=".", help="Where to write the files.")


@click.command("new")
@option_groups
def new(asked: NewOptions) -> None:
    """Write a learner or an adversary of your own to a file, with a test that passes.

    The file holds a complete player with a comment at each part: change it to yours. Its test checks that it
    keeps to the protocol, and audits it.

    \b
    Examples:
      arena new learner noisy-mean
      arena new adversary swap-two --protocol Figure1
    """
    name = asked.name.replace("_", "-")
    module = name.replace("-", "_")
    _check_name(asked.name, name, module)
    words = {"name": name, "module": module, "cls": "".join(word.capitalize() for word in name.split("-"))}
    learner, adversary = _PROTOCOLS[asked.protocol].template_opponents
    words |= {"protocol": asked.protocol, "file": asked.protocol.lower(), "against": adversary}
    template = resources.files("audits.cli.templates").joinpath(f"{words['file']}_{asked.kind}.py")
    player = template.read_text(encoding="utf-8").replace("my-player", name).replace("MyPlayer", words["cls"])
    test = _LEARNER_TEST if asked.kind == "learner" else _ADVERSARY_TEST
    test = test.format(**words)
    folder = Path(asked.folder)
    texts = {folder / f"{module}.py": player, folder / f"test_{module}.py": test}
    for path in texts:
        if path.exists():
            raise InvalidArgument(f"{path} exists already", remedy="Choose another name, or remove it.")
        check_output_file("player's file", path)
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")
    file, tests = map(str, texts)
    own = f"{file}:{words['cls']}"
    players = f"{own} --against {adversary}" if asked.kind == "learner" else f"{learner} --against {own}"
    click.echo(f"Wrote {file} and {tests}. Next:\n  pytest {tests}\n  arena audit {players}")


def _check_name(given: str, name: str, module: str) -> None:
    """Refuse names that are no names of players, and those whose file would hide another module."""
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name) or keyword.iskeyword(module):
        raise InvalidArgument(
            "a name has lower-case letters, digits and hyphens", value=given, remedy="As noisy-mean."
        )
    installed = [sysconfig.get_path(name) for name in ("purelib", "platlib")]
    if module in sys.stdlib_module_names | _PACKAGES or PathFinder.find_spec(module, installed):
        raise InvalidArgument(
            f"a file {module}.py would hide the module {module}", remedy="Choose another name."
        )


@option_record
class DataSetOptions:
    name: str = argument(metavar="|".join(DATA_SETS), type=click.Choice([*DATA_SETS]))
    folder: str = argument(metavar="[FOLDER]", default=".")


@click.command("data")
@option_groups
def data(asked: DataSetOptions) -> None:
    """Write an example data set, a gzipped CSV file with column names, to FOLDER. Default: the current one.

    adult: people and their income. mushroom: mushrooms, poisonous or edible. Both are from the UCI Machine
    Learning Repository.

    \b
    Examples:
      arena data mushroom
      arena fit rivest --data mushroom.csv.gz --y Poisonous/Edible
    """
    path = Path(asked.folder, DATA_SETS[asked.name])
    check_output_file("data set", path)
    path.write_bytes(resources.files("audits.data").joinpath("examples", path.name).read_bytes())
    click.echo(f"The data are in {path}.")
