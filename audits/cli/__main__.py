"""`python -m audits.cli`, where the command `arena` is not installed."""

from audits.cli import main

main()
