"""Pages in Chromium: what they look like at a width, in a light and a dark colour scheme."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
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
const frame = document.getElementById("frame");
const measure = async name => {
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
  return {
    name, width, wide, faint, cut, shown, overflow: page.documentElement.scrollWidth - width,
    background: luminance(opaque(root)), button: button?.textContent,
  };
};
(async () => {
  const results = [];
  for (const name of pages) {
    await new Promise(done => {
      frame.onload = done;
      if (name.startsWith("<")) frame.srcdoc = name; else frame.src = name;
    });
    results.push(await measure(name.startsWith("<") ? "" : name));
  }
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
    host = folder / f"host_{width}_{scheme}.html"
    texts = json.dumps(list(pages)).replace("</", "<\\/")
    script = f"const pages = {texts};\n{MEASURE}"
    host.write_text(HOST.format(width=width, scheme=scheme, script=script), encoding="utf-8")
    options = [f"--{name}" for name in (*_OPTIONS, "allow-file-access-from-files", "dump-dom")]
    options += [f"--user-data-dir={folder / 'profile'}", "--window-size=1400,4600"]
    options.append(f"--virtual-time-budget={20_000 + 3_000 * len(pages)}")
    command = [browser, *options, host.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120 + 2 * len(pages))
    found = re.search(r'<pre id="result">(.+?)</pre>', done.stdout, re.DOTALL)
    assert found, done.stderr[-2000:]
    results: list[dict[str, Any]] = json.loads(html.unescape(found[1]))
    return results
