"""Configuration of the documentation site: `make docs`, or sphinx-build -W docs build/docs."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")  # of the kernel that runs the notebooks

ROOT = Path(__file__).parents[1]
REPOSITORY = "https://github.com/dp-arena/dp-arena"

project = "dp-arena"
author = "the dp-arena authors"
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_click"]
exclude_patterns = ["README.md"]
html_theme = "furo"
html_title = "dp-arena"
html_theme_options = {"source_repository": REPOSITORY, "source_branch": "main", "source_directory": "docs/"}
html_static_path: list[str] = []

myst_enable_extensions = ["colon_fence", "dollarmath", "deflist"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # the notebooks are stored with their output, which a slow test compares

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
add_module_names = False
napoleon_google_docstring = True
