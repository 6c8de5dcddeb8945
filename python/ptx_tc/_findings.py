"""What checks and runs find."""

from __future__ import annotations

import functools
import json
import os
from dataclasses import dataclass, field, fields
from typing import Any, Callable, Iterable, Iterator, Optional, Sequence, Union

from . import _core
from ._objects import ptx_of


@dataclass(frozen=True)
class Place:
    """A place in a text. Lines and columns count from 1, `start` and `end` are bytes from 0."""

    line: int
    column: int
    end_line: int
    end_column: int
    start: int
    end: int


@dataclass(frozen=True)
class Label:
    """A remark at a place."""

    message: str
    place: Place


@dataclass(frozen=True)
class Finding:
    """What is wrong, where, and what to write instead. `str()` shows it in its source, as the program does."""

    #: The code of the rule: `TC301`. `ptx-tc explain TC301` has more.
    code: str
    #: The name of the rule: `ncols-invalid`.
    name: str
    #: `error`, `warning` or `info`.
    severity: str
    message: str
    note: Optional[str]
    help: Optional[str]
    #: What the text is called, and where in it.
    path: str
    line: int
    column: int
    place: Place
    #: The remarks at places, first that at the place of the finding.
    labels: tuple[Label, ...]
    #: The page about the rule.
    url: str
    #: The line of the source that the PTX was compiled from, if it says so: file and line.
    source: Optional[tuple[str, int]] = None
    _text: Callable[[], str] = field(default=str, repr=False, compare=False)

    def __str__(self) -> str:
        return self._text().rstrip()

    def __reduce__(self) -> Any:
        # A copy has its text, and not the run that makes it.
        values = {it.name: getattr(self, it.name) for it in fields(self) if it.name != "_text"}
        return _restored_finding, (values, str(self))


def _restored_finding(values: dict[str, Any], text: str) -> Finding:
    return Finding(**values, _text=functools.partial(str, text))


def place(document: dict[str, Any]) -> Place:
    """A place of a JSON document."""
    keys = ("line", "column", "end_line", "end_column", "start", "end")
    return Place(*(document[key] for key in keys))


def finding(path: str, document: dict[str, Any], text: Callable[[], str]) -> Finding:
    """A finding of a JSON document."""
    at = place(document["span"])
    source = document.get("source")
    return Finding(
        code=document["code"],
        name=document["name"],
        severity=document["severity"],
        message=document["message"],
        note=document.get("note"),
        help=document.get("help"),
        path=path,
        line=at.line,
        column=at.column,
        place=at,
        labels=tuple(Label(label["message"], place(label["span"])) for label in document["labels"]),
        url=document["url"],
        source=(source["path"], source["line"]) if source else None,
        _text=text,
    )


class CheckReport(Sequence[Finding]):
    """What a check found: a sequence of findings. `str()` is what the program shows."""

    def __init__(self, path: str, core: _core.Report) -> None:
        self._text: Callable[[], str] = functools.partial(core.text, False)
        document = json.loads(core.json())["files"][0]["diagnostics"]
        self._findings = [
            finding(path, it, functools.partial(core.finding, index)) for index, it in enumerate(document)
        ]

    def __len__(self) -> int:
        return len(self._findings)

    def __getitem__(self, index: Any) -> Any:
        return self._findings[index]

    def __iter__(self) -> Iterator[Finding]:
        return iter(self._findings)

    @property
    def errors(self) -> list[Finding]:
        """The findings of severity `error`."""
        return [it for it in self._findings if it.severity == "error"]

    def __str__(self) -> str:
        return self._text().rstrip()

    def __reduce__(self) -> Any:
        return _restored_report, (self._findings, str(self))

    def __repr__(self) -> str:
        return f"<CheckReport: {len(self)} findings>"


def _restored_report(findings: list[Finding], text: str) -> CheckReport:
    report = CheckReport.__new__(CheckReport)
    report._findings, report._text = findings, functools.partial(str, text)
    return report


def _is_path(text: str) -> bool:
    """Whether a text names a file, and is no source itself."""
    return "\n" not in text and "{" not in text and (os.path.splitext(text)[1] != "" or os.path.exists(text))


def read(
    source: Union[str, bytes, os.PathLike[str]], name: Optional[str] = None, module: int = 0
) -> tuple[str, str]:
    """The name and the text of what is given: a path, or PTX itself."""
    if isinstance(source, os.PathLike) or isinstance(source, str) and _is_path(source):
        path = os.fspath(source)
        try:
            with open(path, "rb") as file:
                return name or path, ptx_of(file.read(), path, module)
        except OSError as error:
            raise _core.CheckError(f"cannot read `{path}`: {error.strerror}") from None
    if isinstance(source, str):
        if module:
            raise _core.CheckError(f"a text is one module, and there is no number {module}")
        return name or "<ptx>", source
    if isinstance(source, (bytes, bytearray, memoryview)):
        return name or "<ptx>", ptx_of(bytes(source), name or "<ptx>", module)
    raise TypeError(f"PTX is str, bytes or a path, not {type(source).__name__}")


def check(
    source: Union[str, bytes, os.PathLike[str]],
    *,
    targets: Iterable[str] = (),
    version: Optional[str] = None,
    select: Optional[Iterable[str]] = None,
    ignore: Iterable[str] = (),
    name: Optional[str] = None,
) -> CheckReport:
    """Checks PTX, or the PTX in a file of CUDA, Python, LLVM or Rust.

    Args:
        source: The text, or the path of a file. The suffix of `name` or of the path says which language it is.
        targets: Targets to check for, such as `sm_100a`, instead of the module's own.
        version: A version of the PTX ISA, such as `9.0`, instead of the module's own.
        select: Run these rules only: codes (`TC301`), names or families (`TC3`).
        ignore: Do not run these rules.
        name: What the text is called in findings.

    Returns:
        The findings, in the order of the text.

    Raises:
        CheckError: The file cannot be read, or holds no PTX.
        ValueError: There is no such target, version or rule.
    """
    path, text = read(source, name)
    chosen = None if select is None else _words(select)
    return CheckReport(path, _core.Report(path, text, _words(targets), version, chosen, _words(ignore)))


def _words(given: Union[str, Iterable[str]]) -> list[str]:
    """A word alone is meant as one, not as its letters."""
    return [given] if isinstance(given, str) else list(given)
