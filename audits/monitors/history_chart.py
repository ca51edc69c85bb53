"""Pictures of a monitor as SVG: the evidence night by night, and a badge."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from audits.reports.report import escape_text

_WIDTH, _HEIGHT = 640, 150
_LEFT, _RIGHT, _TOP, _BOTTOM = 48, 12, 14, 26
_BADGE_HEIGHT, _CHARACTER, _PADDING = 20, 6.6, 7  # pixels; the width of a character is that of Verdana, about
_COLOURS = {"refuted": "#d55e00", "failed": "#767676", "none": "#767676", "not refuted": "#0072b2"}


@attrs.frozen(kw_only=True)
class VersionLine:
    """The evidence against one version in nats: after each of its nights; and that which refutes it."""

    label: str
    evidence: Sequence[float]
    needed: float
    refuted: bool


def draw_history(lines: Sequence[VersionLine], title: str) -> str:
    """The evidence of all nights, version by version, below the line at which each would be refuted. Empty if
    there were no nights."""
    lines = [line for line in lines if line.evidence]
    nights = sum(len(line.evidence) for line in lines)
    if not nights:
        return ""
    values = [value for line in lines for value in (*line.evidence, line.needed, 0.0)]
    low, high = min(values), max(values)
    step = (_WIDTH - _LEFT - _RIGHT) / (nights + len(lines))

    def y(value: float) -> float:
        return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (high - value) / (high - low)

    parts = [
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" font-size="11">',
        f"<title>{escape_text(title)}</title>",
        _line(_LEFT, y(0), _WIDTH - _RIGHT, y(0), "var(--axis)"),
        f'<text x="{_LEFT - 6}" y="{y(0) + 4:.1f}" text-anchor="end">0</text>',
        f'<text x="{_LEFT - 6}" y="{y(high) + 4:.1f}" text-anchor="end">{high:.3g}</text>',
    ]
    x = float(_LEFT)
    for number, line in enumerate(lines):
        end = x + step * (len(line.evidence) + 1)
        if number:
            parts.append(_line(x, _TOP, x, _HEIGHT - _BOTTOM, "var(--grid)"))
        parts.append(_line(x, y(line.needed), end, y(line.needed), "var(--orange)", dashed=True))
        points = [(x, y(0)), *((x + step * (k + 1), y(v)) for k, v in enumerate(line.evidence))]
        colour = "var(--orange)" if line.refuted else "var(--blue)"
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="2.5" fill="{colour}"/>' for a, b in points[1:]]
        parts.append(f'<text x="{x + 4:.1f}" y="{_HEIGHT - 8}">{escape_text(line.label)}</text>')
        x = end
    return "\n".join([*parts, "</svg>"])


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, *, dashed: bool = False) -> str:
    dashes = ' stroke-dasharray="5 4"' if dashed else ""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"{dashes}/>'


def draw_badge(text: str, state: str) -> str:
    """A badge for the page of a repository. state: "refuted", "not refuted", "failed" or "none"."""
    words = ("privacy claims", text)
    widths = [round(len(word) * _CHARACTER + 2 * _PADDING) for word in words]
    middle = [widths[0] / 2, widths[0] + widths[1] / 2]
    texts = "".join(
        f'<text x="{x:g}" y="14">{escape_text(word)}</text>' for x, word in zip(middle, words, strict=True)
    )
    label = escape_text(f"{words[0]}: {text}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{sum(widths)}" height="{_BADGE_HEIGHT}" role="img" '
        f'aria-label="{label}"><title>{label}</title>'
        f'<rect width="{widths[0]}" height="{_BADGE_HEIGHT}" fill="#444"/>'
        f'<rect x="{widths[0]}" width="{widths[1]}" height="{_BADGE_HEIGHT}" fill="{_COLOURS[state]}"/>'
        f'<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">'
        f"{texts}</g></svg>\n"
    )
