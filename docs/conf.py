"""How the documentation is built; `make docs` turns every warning into an error."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

from motet import __version__

project = "Motet"
author = "The Motet authors"
copyright = "The Motet authors"
release = version = __version__

extensions = [
    "cell_lengths",
    "command_output",
    "module_table",
    "name_breaks",
    "myst_nb",
    "sphinx.ext.autodoc",
]
exclude_patterns = ["_build"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_merge_streams = True

autodoc_default_options = {"members": True, "show-inheritance": True, "member-order": "bysource"}
autodoc_typehints = "description"
autodoc_preserve_defaults = True
default_role = "code"

html_theme = "furo"
html_title = "Motet"
html_static_path = ["_static"]
html_css_files = ["page.css"]
