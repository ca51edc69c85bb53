"""`arena audit --one-run`: the learner is trained once, with many canaries."""

from __future__ import annotations

from typing import NoReturn

import click
from click.core import ParameterSource

from arena import OneRun
from audits.api.audit_one_run import certify_match
from audits.cli import REFUTED
from audits.cli.certify import CertificateFile
from audits.cli.common.option_groups import list_options
from audits.cli.common.options import DataOptions, MatchOptions, SeedOption
from audits.cli.common.output import Output

_OPTIONS = (
    *("learner", "against", "settings", "set_adversary", "one_run", "confidence"),
    *list_options(SeedOption, DataOptions, CertificateFile, Output),
)


def audit_one_run(
    game: MatchOptions, canaries: int, confidence: float, html: str | None, output: Output
) -> NoReturn:
    """Train once with so many canaries, print the certificate, and exit with its status.

    Raises: UsageError if an option is given that one run does not have; otherwise as `certify_match`.
    """
    context = click.get_current_context()
    for parameter in context.command.params:
        source = context.get_parameter_source(str(parameter.name))
        if parameter.name not in _OPTIONS and source is ParameterSource.COMMANDLINE:
            what = "which trains once and tests the learner's own claim"
            raise click.UsageError(f"{parameter.opts[0]} is not for --one-run, {what}.")
    file = CertificateFile(html=html)
    match = game.build(protocol=OneRun.name)
    output.print_notes(match.notes)
    result = certify_match(match, canaries=canaries, seed=game.seed, confidence=confidence)
    output.print_result(result, lambda result: result.summary())
    if file.html is not None:
        result.to_html(file.html)
    context.exit(REFUTED if result.refuted else 0)
