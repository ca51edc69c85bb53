"""Black-box auditors that no package index has, beside ours; `make bench-peers` runs all of it.

Each tool has an environment of its own and a checkout that a variable names. Modules that their environments
import (`sniper_mechanisms`, `dp_sniper`, `statdp_detection`, `dp_auditorium`) need numpy only.
"""

import subprocess


def find_commit(checkout: str) -> str:
    """The short name of the commit that a checkout is at."""
    command = ["git", "-C", checkout, "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
