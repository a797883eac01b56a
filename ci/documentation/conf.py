"""How Sphinx makes pages of what `pages` has written; `build` calls it."""

from __future__ import annotations

from pathlib import Path

project = "xdspec"
html_title = "xdspec"
language = "en"
extensions = ["myst_parser"]
nitpicky = True

myst_heading_anchors = 4
myst_heading_slug_func = "ci.documentation.markdown.slug"

html_theme = "furo"
html_static_path = [str(Path(__file__).parents[2] / "docs" / "assets")]
html_favicon = str(Path(__file__).parents[2] / "docs" / "assets" / "favicon.svg")
html_css_files = ["extra.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_theme_options: dict[str, list[str]] = {"top_of_page_buttons": []}
smartquotes = False
