"""Pages in Chromium: what they look like at a width, in a light and a dark colour scheme."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
_OPTIONS = ("headless", "no-sandbox", "disable-gpu", "hide-scrollbars")

# A page is in a frame, whose colour scheme is what its media queries see. It keeps its own policy.
HOST = """<!DOCTYPE html><meta charset="utf-8"><body style="margin: 0">
<iframe id="frame" style="border: 0; color-scheme: {scheme}" width="{width}" height="4500"></iframe>
<pre id="result"></pre><script>{script}</script>"""
# Measures pages one after the other. What is hidden is not looked at, and what scrolls by itself may be wide.
MEASURE = """
const treat = async name => {
  await load(name);
  const page = frame.contentDocument, view = frame.contentWindow;
  const width = page.documentElement.clientWidth, root = page.querySelector("article") ?? page.body;
  const describe = node => node.tagName + ": " + node.textContent.trim().slice(0, 60);
  const ancestors = node => {
    const found = [];
    for (; node; node = node.parentElement) found.push(node);
    return found;
  };
  const opaque = node => {
    const colours = ancestors(node).map(other => view.getComputedStyle(other).backgroundColor);
    return colours.find(colour => !/^rgba.*, 0\\)$/.test(colour)) ?? "rgb(255, 255, 255)";
  };
  const scrolls = node => ancestors(node).some(
    other => other !== page.documentElement && other !== page.body
      && ["auto", "scroll"].includes(view.getComputedStyle(other).overflowX));
  const luminance = colour => {
    const srgb = colour.startsWith("color(srgb");
    const linear = colour.match(/[\\d.]+(e-?\\d+)?/g).slice(0, 3).map(part => srgb ? +part : part / 255)
      .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  };
  const contrast = (one, other) => {
    const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (light + 0.05) / (dark + 0.05);
  };
  const button = page.getElementById("copy"), wide = [], faint = [], cut = [];
  const shown = !!button && !button.hidden;
  for (const node of root.querySelectorAll("*")) {
    const text = [...node.childNodes].some(child => child.nodeType === 3 && child.data.trim());
    if (node.closest("script, style, defs, .headerlink")) continue;
    const box = node.getBoundingClientRect(), style = view.getComputedStyle(node);
    if (!box.width || style.visibility === "hidden") continue;
    if (box.right > width + 1 && !scrolls(node)) wide.push(describe(node));
    if (!text) continue;
    const colour = node.closest("svg") ? style.fill : style.color;
    if (contrast(colour, opaque(node)) < 4.5) faint.push(describe(node));
    const chart = node.closest("svg")?.getBoundingClientRect();
    if (chart && (box.left < chart.left - 1 || box.right > chart.right + 1)) cut.push(describe(node));
  }
  button?.click();
  if (button) await new Promise(done => setTimeout(done, 500));
  const overflow = page.documentElement.scrollWidth - width, background = luminance(opaque(root));
  return { name, width, wide, faint, cut, shown, overflow, background, button: button?.textContent };
};
"""
SEARCH = """
const treat = async words => {
  await load(`search.html?q=${encodeURIComponent(words)}`);
  const links = () => [...frame.contentDocument.querySelectorAll("#search-results li a")];
  for (let wait = 0; wait < 40 && !(wait > 10 && links().length); wait++) {
    await new Promise(done => setTimeout(done, 50));
  }
  return links().map(link => link.getAttribute("href").split("?")[0]);
};
"""
FINISH = """
const frame = document.getElementById("frame");
const load = name => new Promise(done => {
  frame.onload = done;
  if (name.startsWith("<")) frame.srcdoc = name; else frame.src = name;
});
(async () => {
  const results = [];
  for (const item of given) results.push(await treat(item));
  document.getElementById("result").textContent = JSON.stringify(results);
})();
"""


def find_browser() -> str:
    """The command of a browser; skips the test without one."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip(f"no browser: none of {', '.join(BROWSERS)} is on the path")
    return found


def measure_pages(
    browser: str, pages: Sequence[str], width: int, scheme: str, folder: Path
) -> list[dict[str, Any]]:
    """What pages look like in a frame of this width, in pixels, and this colour scheme. pages: their HTML, or
    paths below `folder`, where a file for the browser is written."""
    found = _run(browser, pages, MEASURE, folder, width=width, scheme=scheme)
    assert len(found) == len(pages)
    return found


def search_site(browser: str, words: Sequence[str], folder: Path) -> dict[str, list[str]]:
    """The pages that the search of the site in `folder` finds for each of these texts, the best first."""
    found = _run(browser, words, SEARCH, folder)
    return dict(zip(words, found, strict=True))


def _run(
    browser: str, given: Sequence[str], script: str, folder: Path, width: int = 1280, scheme: str = "light"
) -> list[Any]:
    """What a script makes of `given` in a page that is written to `folder`."""
    host = folder / "host_of_frame.html"
    texts = json.dumps(list(given)).replace("</", "<\\/")
    script = f"const given = {texts};\n{script}\n{FINISH}"
    host.write_text(HOST.format(width=width, scheme=scheme, script=script), encoding="utf-8")
    options = [f"--{name}" for name in (*_OPTIONS, "allow-file-access-from-files", "dump-dom")]
    options += ["--window-size=1400,4600", f"--virtual-time-budget={20_000 + 3_000 * len(given)}"]
    with tempfile.TemporaryDirectory() as profile:
        command = [browser, *options, f"--user-data-dir={profile}", host.as_uri()]
        done = subprocess.run(command, capture_output=True, text=True)
    host.unlink()
    found = re.search(r'<pre id="result">(.+?)</pre>', done.stdout, re.DOTALL)
    assert found, done.stderr[-2000:]
    results: list[Any] = json.loads(html.unescape(found[1]))
    return results
