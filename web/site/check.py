"""Tests the built site: `check.py SITE`. Looks at what was built, and asks nobody."""

from __future__ import annotations

import collections
import html.parser
import json
import pathlib
import re
import sys
import urllib.parse

HOST = "ptx-tc.github.io"
ROOT = pathlib.Path(__file__).resolve().parents[2]

# Elements whose addresses a browser loads by itself.
LOADED = {("img", "src"), ("script", "src"), ("source", "src"), ("iframe", "src"), ("video", "src"), ("audio", "src"),
          ("embed", "src"), ("object", "data"), ("input", "src"), ("use", "href"), ("image", "href")}
# Links that are names, not files.
NAMES = {"canonical", "prev", "next", "alternate"}


class Page(html.parser.HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.classes: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag, attributes) -> None:
        attributes = {name: value or "" for name, value in attributes}
        self.classes.update(attributes.get("class", "").split())
        self.classes.add(attributes.get("data-md-component", ""))
        for name in ("id", "name") if tag == "a" else ("id",):
            if attributes.get(name):
                self.ids.append(attributes[name])
        for name, value in attributes.items():
            if name == "style" and "url(" in value:
                self.loaded.append(value.split("url(")[1].split(")")[0].strip("'\""))
            if name == "srcset":
                self.loaded += [part.split()[0] for part in value.split(",")]
            if (tag, name) in LOADED:
                self.loaded.append(value)
        if tag == "link":
            is_name = attributes.get("rel") in NAMES
            (self.links if is_name else self.loaded).append(attributes.get("href", ""))
        elif tag in ("a", "area") and "href" in attributes:
            self.links.append(attributes["href"])


def main(site: pathlib.Path) -> None:
    problems: list[str] = []
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}

    def file_of(path: str) -> pathlib.Path | None:
        """What a host of static pages serves: a file, a directory's index, or the page without its suffix."""
        found = site / path.lstrip("/")
        candidates = [found, found / "index.html", found.with_name(found.name + ".html")]
        return next((it for it in candidates if it.is_file()), None)

    def resolve(link: str, page: pathlib.Path) -> tuple[pathlib.Path | None, str] | None:
        """The file and the anchor of a link into the site; nothing for a link that leaves it."""
        parts = urllib.parse.urlsplit(link)
        if parts.scheme in ("mailto", "data", "javascript"):
            return None
        if parts.netloc and parts.netloc != HOST:
            if parts.scheme != "https" or not re.fullmatch(r"[a-z0-9-]+(\.[a-z0-9-]+)+", parts.netloc) or " " in link:
                problems.append(f"{page.relative_to(site)}: `{link}` is no address")
            return None
        base = "/" + page.relative_to(site).as_posix()
        path = urllib.parse.unquote(parts.path)
        target = urllib.parse.urljoin(base, path) if path else base
        return file_of(target), urllib.parse.unquote(parts.fragment)

    reached: dict[pathlib.Path, set[pathlib.Path]] = collections.defaultdict(set)
    count = 0
    for path, page in pages.items():
        name = path.relative_to(site)
        is_of_site = name.parts[0] != "play"
        twice = [it for it, times in collections.Counter(page.ids).items() if times > 1]
        if twice and is_of_site:
            problems.append(f"{name}: the ids {twice} are there more than once")
        for link in page.loaded:
            target = resolve(link, path)
            is_elsewhere = urllib.parse.urlsplit(link).netloc not in ("", HOST)
            if is_elsewhere:
                problems.append(f"{name} loads `{link}` from another host")
            elif target and target[0] is None:
                problems.append(f"{name} loads `{link}`, which is not there")
        for link in page.links:
            count += 1
            target = resolve(link, path)
            if target is None:
                continue
            file, anchor = target
            if file is None:
                problems.append(f"{name}: `{link}` leads nowhere")
            elif file in pages:
                reached[path].add(file)
                # What the playground opens: it has a file for each rule's example.
                opened, is_equal, what = anchor.partition("=")
                if file == site / "play/index.html" and is_equal:
                    example = site / "play/examples" / f"{what}.json"
                    if opened == "rule" and example.parent.is_dir() and not example.is_file():
                        problems.append(f"{name}: the playground has no example `{what}`")
                    continue
                # `#__` is of the theme: its script makes them.
                if anchor and not anchor.startswith("__") and anchor not in pages[file].ids and is_of_site:
                    problems.append(f"{name}: `{link}` leads to no place of {file.relative_to(site)}")
        # Of these the theme's script asks other hosts.
        for name_of_class in {"mermaid", "source", "giscus"} & page.classes:
            problems.append(f"{name}: `{name_of_class}` loads from another host")

    for path in [*site.rglob("*.css"), *site.rglob("*.svg")]:
        text = path.read_text(encoding="utf-8")
        for address in re.findall(r"""url\(["']?([^)"']+)|@import ["']([^"']+)|href=["']([^"']+)""", text):
            if urllib.parse.urlsplit("".join(address)).netloc:
                problems.append(f"{path.relative_to(site)} loads `{''.join(address)}`")

    # Each page is reached from the first by links.
    first = site / "index.html"
    seen, todo = {first}, [first]
    while todo:
        new = reached[todo.pop()] - seen
        seen |= new
        todo += new
    problems += [f"{path.relative_to(site)}: no link leads there" for path in pages if path not in seen and path.name != "404.html"]

    # Each page of docs is one of the site.
    for path in sorted((ROOT / "docs").rglob("*.md")):
        name = path.relative_to(ROOT / "docs").with_suffix("").as_posix()
        name = re.sub(r"(^|/)README$", "", name)
        if file_of(name) not in pages:
            problems.append(f"docs/{name}.md is no page")

    # The addresses that the program prints.
    codes = sorted(path.stem for path in (ROOT / "docs/rules").glob("*.md") if path.stem != "README")
    assert len(codes) > 150, codes
    for code in codes:
        found = file_of(f"rules/{code}")
        if found not in pages or f"{code} " not in found.read_text(encoding="utf-8"):
            problems.append(f"https://{HOST}/rules/{code} is not there")
    schema = "ptx-tc.schema.json"
    if not (site / schema).is_file() or (site / schema).read_bytes() != (ROOT / "docs" / schema).read_bytes():
        problems.append(f"https://{HOST}/{schema} is not the schema")

    # The search finds a rule by its code and by its name.
    index = json.loads((site / "search/search_index.json").read_text(encoding="utf-8"))
    for word, location in [("TC301", "rules/TC301/"), ("ncols-invalid", "rules/TC301/"), ("swizzle", "pictures/")]:
        found = {entry["location"].split("#")[0] for entry in index["docs"] if word in entry["title"] + entry["text"]}
        if location not in found:
            problems.append(f"the search for {word} does not find {location}")

    print("\n".join(problems), file=sys.stderr, end="\n" if problems else "")
    if problems:
        sys.exit(f"{len(problems)} problems")
    print(f"the site is sound: {len(pages)} pages, {count} links, {len(index['docs'])} entries of the search")


main(pathlib.Path(sys.argv[1]).resolve())
