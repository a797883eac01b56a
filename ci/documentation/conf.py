"""Configure Sphinx for the pages of the repository; `build` calls it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

_HERE = Path(__file__).parent
_ASSETS = _HERE.parents[1] / "docs" / "assets"
_NAVIGATION = _HERE / "navigation.md"

project = "xdspec"
html_title = "xdspec"
language = "en"
extensions = ["myst_parser"]
nitpicky = True
root_doc = "docs/index"
include_patterns = [
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "docs/**.md",
    "conformance/spec/catalogue/README.md",
    "client_under_test/adapters/*/README.md",
    "client_under_test/contract/contract.md",
    "client_under_test/reference/README.md",
]
exclude_patterns = [".*", "tests", "xdspec-out"]

myst_heading_anchors = 4

html_theme = "furo"
html_static_path = [str(_ASSETS)]
html_favicon = str(_ASSETS / "favicon.svg")
html_css_files = ["extra.css"]
html_additional_pages = {"index": "forward.html"}
templates_path = [str(_HERE / "templates")]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_theme_options: dict[str, list[str]] = {"top_of_page_buttons": []}
smartquotes = False


def _add_navigation(_app: Any, page: str, content: list[str]) -> None:
    """Append the navigation to the first page: a repository host would show it as code."""
    if page == root_doc:
        content[0] += "\n" + _NAVIGATION.read_text("utf-8")


def setup(app: Any) -> None:
    """Connect the navigation."""
    app.connect("source-read", _add_navigation)
