"""Settings of Sphinx for the site that `make docs` builds; decision 0012 gives the reasons."""

import re
from typing import Any

from tutelage.versions import package_version

project = "Tutelage"
author = "The Tutelage authors"
copyright = author
version = release = package_version()

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
suppress_warnings = ["ref.python"]  # `type` in an annotation is also the name of fields

default_role = "code"
pygments_style = "a11y-high-contrast-light"
copybutton_exclude = ".linenos, .gp, .go"

# The extras, which are not installed to build the site.
autodoc_mock_imports = [
    *("distributed", "gymnasium", "hypothesis", "openpyxl", "opentelemetry", "pettingzoo", "pyarrow", "pytest")
]
autodoc_inherit_docstrings = False
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
napoleon_numpy_docstring = False
python_maximum_signature_line_length = 88
add_module_names = False
toc_object_entries_show_parents = "hide"

html_theme = "pydata_sphinx_theme"
html_title = f"Tutelage {version}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_context = {"default_mode": "auto"}
html_sidebars = {"index": []}
html_theme_options: dict[str, Any] = {
    "logo": {"text": "Tutelage"},
    "navbar_align": "left",
    "show_prev_next": True,
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}

_CODE = re.compile(r"(^\s*\* |``.+?``|`[^`]+`)")  # what stays as it is: the mark of a list's item, and code
_MARKS = re.compile(r"([|*]|(?<=\w)_(?=\W|$))")


def escape_marks(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Escape what reStructuredText reads as emphasis, substitution or reference: docstrings are plain text."""
    lines[:] = [
        "".join(part if index % 2 else _MARKS.sub(r"\\\1", part) for index, part in enumerate(_CODE.split(line)))
        for line in lines
    ]


def setup(app: Any) -> None:
    """Register the hook on docstrings."""
    app.connect("autodoc-process-docstring", escape_marks, priority=400)
