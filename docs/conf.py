"""Configuration of the documentation site: `make docs`."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

project = "dp-arena"
author = copyright = "the dp-arena authors"
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx_click", "site_directives"]
smartquotes = False  # they would make dashes of the options of commands
html_theme = "furo"
html_title = "dp-arena"
html_extra_path = ["tournament.html"]  # a page of its own, by `make tournament`

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
myst_links_external_new_tab = True
nb_execution_mode = "off"  # notebooks are stored with their output, which a slow test compares

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # signatures are long enough; docstrings state units and shapes
add_module_names = False
