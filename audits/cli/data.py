"""`arena data`: the example data sets."""

from __future__ import annotations

from pathlib import Path

import click

from audits.cli.common.command import argument, option_groups, option_record
from audits.data.example_data import FILES, read_example
from audits.data.output_files import check_output_file


@option_record
class DataSetOptions:
    name: str = argument(metavar="|".join(FILES), type=click.Choice([*FILES]))
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
    path = Path(asked.folder, FILES[asked.name])
    content = read_example(asked.name)
    check_output_file("data set", str(path))
    path.write_bytes(content)
    click.echo(f"The data are in {path}.")
