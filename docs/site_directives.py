"""What the site adds to Sphinx: API pages from `__all__`, tables of players, plain-text docstrings."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from audits.registry.families import find_family
from audits.registry.players import ADVERSARIES, LEARNERS

ROOT = Path(__file__).parents[1]
_ARGUMENT = re.compile(r"[a-z_0-9]+(?:, [a-z_0-9]+)*: ")  # begins the description of an argument


class PublicNames(SphinxDirective):
    """`.. public-names:: PACKAGE`: what it exports and the page has not yet, in the order of `__all__`."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        module = importlib.import_module(self.arguments[0])
        lines: list[str] = []
        documented: list[Any] = self.env.temp_data.setdefault("public-names", [])
        for name in getattr(module, "__all__", ()):
            item = getattr(module, name)
            if any(item is other for other in documented):
                continue
            documented.append(item)
            kind = "class" if inspect.isclass(item) else "function" if callable(item) else "data"
            lines += [f".. auto{kind}:: {module.__name__}.{name}"]
            lines += ["   :members:", ""] if kind == "class" else [""]
        return self.parse_text_to_nodes("\n".join(lines)) if lines else []


class Players(SphinxDirective):
    """`.. players:: learners` or `adversaries`: a table of each family."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        package = self.arguments[0]
        families: dict[str, list[tuple[str, str, str]]] = {}
        for name, player in (LEARNERS if package == "learners" else ADVERSARIES).load_all().items():
            if not isinstance(player, type) or not player.__module__.startswith(f"{package}."):
                continue
            summary = inspect.cleandoc(player.__doc__ or "").split("\n\n")[0]
            families.setdefault(find_family(player.__module__), []).append(
                (name, ", ".join(player.protocols), " ".join(summary.split()))
            )
        lines: list[str] = []
        for family, rows in sorted(families.items()):
            lines += [f".. rubric:: {family}", "", ".. list-table::", "   :widths: 25 20 55", ""]
            for name, protocols, summary in rows:
                lines += [f"   * - ``{name}``", f"     - {protocols}", f"     - {_escape(summary)}"]
            lines.append("")
        return self.parse_text_to_nodes("\n".join(lines))


def write_plain_text(app: Sphinx, what: str, name: str, item: Any, options: Any, lines: list[str]) -> None:
    """Read a docstring as plain text: paragraphs, code in backticks, indented or `>>>` blocks kept."""
    if what == "data":  # the docstring of its type
        lines.clear()
    plain: list[str] = []
    for paragraph in re.split(r"\n\s*\n", "\n".join(lines)):
        rows = paragraph.splitlines()
        if not paragraph.strip():
            continue
        is_list = _ARGUMENT.match(rows[0]) is not None
        items = re.split(rf"\n(?={_ARGUMENT.pattern})", paragraph) if is_list else [paragraph]
        if rows[0].startswith((" ", ">>>")):
            plain += ["::", "", *(f"   {row}" for row in rows), ""]
        else:
            plain += [f"{'- ' * is_list}{_escape(' '.join(item.split()))}" for item in items]
            plain.append("")
    lines[:] = plain


def _escape(text: str) -> str:
    """reStructuredText that shows `text`, with what stands in backticks as code."""
    parts = re.split(r"`+([^`]+)`+", text)
    parts[::2] = [re.sub(r"([\\*|_])", r"\\\1", part) for part in parts[::2]]
    parts[1::2] = [f"\\ ``{part.strip()}``\\ " for part in parts[1::2]]
    return "".join(parts).strip()


def link_to_code(app: Sphinx, document: nodes.document) -> None:
    """Show links to files outside docs/ as text: the site has no copy of them."""
    here = Path(document["source"]).parent
    for reference in [*document.findall(nodes.reference)]:
        target = reference.get("refuri", "").split("#")[0]
        if target and "://" not in target and not (here / target).resolve().is_relative_to(ROOT / "docs"):
            reference.replace_self(nodes.inline("", "", *reference.children))


def link_to_folders(app: Sphinx, name: str, source: list[str]) -> None:
    """Have a link to the folder `proofs` lead to the list of its pages."""
    source[0] = source[0].replace("](proofs)", "](proofs/index.md)")


def link_tournament(app: Sphinx, error: Exception | None) -> None:
    """Begin the page of the tournament, which is none of Sphinx's, with a link to the site."""
    page, link = (
        Path(app.outdir) / "tournament.html",
        '<p><a href="index.html">← dp-arena documentation</a></p>',
    )
    if error is None and link not in (text := page.read_text(encoding="utf-8")):
        page.write_text(text.replace("<body>", f"<body>\n{link}", 1), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("public-names", PublicNames)
    app.add_directive("players", Players)
    app.connect("source-read", link_to_folders)
    app.connect("autodoc-process-docstring", write_plain_text)
    app.connect("doctree-read", link_to_code)
    app.connect("build-finished", link_tournament)
    return {"parallel_read_safe": True}
