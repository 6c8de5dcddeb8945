"""Fits the pages of docs, which are written for GitHub, to MkDocs."""

from __future__ import annotations

import logging
import pathlib
import posixpath
import re
import sys

from mkdocs.structure.files import File

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import ptx  # noqa: E402

ptx.register()

REPOSITORY = "https://github.com/ptx-tc/ptx-tc"
ROOT = pathlib.Path(__file__).resolve().parents[2]
ASSETS = pathlib.Path(__file__).parent / "assets"

# Warnings of this logger fail the build.
log = logging.getLogger("mkdocs.hooks")

FAMILIES = {
    "SIM1": "SIM1: hangs",
    "SIM2": "SIM2: races",
    "SIM3": "SIM3: Tensor Memory",
    "SIM4": "SIM4: barriers",
    "SIM5": "SIM5: addresses and descriptors",
    "TC0": "TC0: syntax",
    "TC1": "TC1: one instruction",
    "TC2": "TC2: targets and versions",
    "TC3": "TC3: allocation",
    "TC4": "TC4: loads, stores, copies",
    "TC5": "TC5: multiplies",
    "TC6": "TC6: descriptors",
    "TC7": "TC7: order",
    "TC8": "TC8: threads and barriers",
    "TC9": "TC9: style and asm",
}

# A block of code, which stays as it is; or a link, of which the address is the second group.
BLOCK_OR_LINK = re.compile(r"^```.*?^```$|(\]\()([^)\s]+)(?=\))", re.DOTALL | re.MULTILINE)
# A link whose text is the name of a page: on the site it is the page's title.
NAMED = re.compile(r"\[[\w./-]+\.md\](\(([\w./-]+\.md)(?:#[\w-]*)?\))")
# The first line of a block of code.
FENCE = re.compile(r"^```(\w+)[ \t]*(\S*)$", re.MULTILINE)


def on_config(config):
    docs = pathlib.Path(config.docs_dir)
    rules = sorted(path.stem for path in (docs / "rules").glob("[ST]*.md"))
    families = []
    for prefix, title in FAMILIES.items():
        pages = [f"rules/{code}.md" for code in rules if re.sub(r"\d\d$", "", code) == prefix]
        assert pages, f"no rule {prefix}"
        families.append({title: pages})
    assert sum(len(next(iter(family.values()))) for family in families) == len(rules)
    for section in config.nav:
        if section.get("Rules"):
            section["Rules"] = ["rules/README.md", *families]
    return config


def on_files(files, config):
    for path in sorted(ASSETS.iterdir()):
        files.append(File.generated(config, f"assets/{path.name}", abs_src_path=str(path)))
    return files


def on_page_markdown(markdown, page, config, files):
    directory = posixpath.dirname(page.file.src_uri)

    def link(match):
        if match[1] is None:
            return match[0]
        path, _, anchor = posixpath.normpath(posixpath.join("docs", directory, match[2])).partition("#")
        if re.match(r"\w+:|#|/", match[2]) or path.startswith("docs/"):
            return match[0]
        found = ROOT / path
        if not found.exists():
            log.warning("%s: `%s` is no file of the repository", page.file.src_uri, match[2])
        kind = "tree" if found.is_dir() else "blob"
        return f"]({REPOSITORY}/{kind}/main/{path}" + (f"#{anchor}" if anchor else "")

    def fence(match):
        language = {"console": "sh"}.get(match[1], match[1])
        title = f' title="{match[2]}"' if match[2] else ""
        return f"```{language}{title}"

    def title(match):
        found = pathlib.Path(config.docs_dir) / directory / match[2]
        heading = re.search(r"^# (.*)$", found.read_text(encoding="utf-8"), re.MULTILINE) if found.exists() else None
        return f"[{heading[1]}]{match[1]}" if heading else match[0]

    return FENCE.sub(fence, BLOCK_OR_LINK.sub(link, NAMED.sub(title, markdown)))
