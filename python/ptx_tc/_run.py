"""What became of a launch."""

from __future__ import annotations

import base64
import functools
import html
import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Optional, Union

from . import _core
from ._findings import Finding, Place, finding, place

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Reason:
    """Why something could not be judged, and what to do about it."""

    message: str
    help: Optional[str]
    place: Optional[Place]

    def __str__(self) -> str:
        return self.message if self.help is None else f"{self.message}\n  help: {self.help}"


@dataclass(frozen=True)
class Statistics:
    """How much was simulated."""

    clusters: int
    warp_instructions: int
    asynchronous_operations: int
    seconds: float


class FindingsError(AssertionError):
    """A kernel has findings, or not all of it could be judged. Its text is what the program shows."""

    #: The run; nothing in a copy that another process has sent.
    run: Optional[Run]
    findings: list[Finding]

    def __init__(self, run: Run) -> None:
        super().__init__(f"`{run.kernel}`: {run.verdict}\n{run}")
        self.run = run
        self.findings = run.findings

    def __reduce__(self) -> Any:
        return _restored_error, (str(self), self.findings)


def _restored_error(text: str, findings: list[Finding]) -> FindingsError:
    error = FindingsError.__new__(FindingsError, text)
    error.args = (text,)
    error.run, error.findings = None, findings
    return error


@dataclass(frozen=True)
class _Unknown:
    """The bytes of an array that are not known."""

    start: int
    length: int
    ranges: list[tuple[int, int]]


class Run:
    """What became of a launch: the verdict, and what was found. `str()` is what the program shows."""

    def __init__(self, core: _core.Run, unknown: list[_Unknown], names: dict[str, tuple[int, Any]]) -> None:
        self._core = core
        self._unknown = unknown
        self._names = names
        document: dict[str, Any] = json.loads(core.json())["kernels"][0]
        self._document = document
        path = document["path"]
        self._findings = [
            finding(path, it, functools.partial(core.finding, index))
            for index, it in enumerate(document["diagnostics"])
        ]

    @property
    def kernel(self) -> str:
        """The name of the kernel, as its source has it."""
        return str(self._document["name"])

    @property
    def verdict(self) -> str:
        """`clean`: all ran, and nothing is wrong. `findings`: something is. `incomplete`: not all could be judged."""
        return self._core.verdict

    @property
    def is_clean(self) -> bool:
        """Whether the verdict is `clean`."""
        return self.verdict == "clean"

    @property
    def findings(self) -> list[Finding]:
        """What is wrong."""
        return list(self._findings)

    @property
    def reasons(self) -> list[Reason]:
        """Why not all could be judged."""
        return [
            Reason(it["message"], it.get("help"), place(it["span"]) if it.get("span") else None)
            for it in self._document["reasons"]
        ]

    @property
    def assumed(self) -> list[str]:
        """What was taken for granted."""
        return list(self._document["assumed"])

    @property
    def printed(self) -> str:
        """What threads printed by `printf`."""
        return "".join(it["text"] for it in self._document.get("printed", []))

    @property
    def statistics(self) -> Statistics:
        """How much was simulated."""
        it = self._document["statistics"]
        return Statistics(
            it["clusters"], it["warp_instructions"], it["asynchronous_operations"], it["seconds"]
        )

    @property
    def json(self) -> dict[str, Any]:
        """What `ptx-tc simulate --format json` writes of a kernel."""
        return self._document

    def raise_for_findings(self, *, incomplete: bool = True) -> Run:
        """Raises an exception if something is wrong, with the findings as its text.

        Args:
            incomplete: Whether it is wrong, too, that not all could be judged.

        Returns:
            The run itself.

        Raises:
            FindingsError: The verdict is `findings`, or `incomplete`.
        """
        if self.verdict == "findings" or incomplete and self.verdict == "incomplete":
            raise FindingsError(self)
        return self

    def known(self, array: Any) -> NDArray[np.bool_]:
        """Which elements of an array of the launch have a value that is known: an array of its shape.

        An element is not known if the kernel made it from memory that nothing wrote, or by arithmetic that no source
        describes. It keeps the value that it had before.
        """
        import numpy as np

        from ._arrays import ByteView

        view = ByteView.of(array)
        is_own = any(
            it.start <= view.start and view.start + view.bytes.size <= it.start + it.length for it in self._unknown
        )
        if not is_own:
            raise _core.LaunchError("the array was no argument of this launch")
        mask = np.ones(view.bytes.size, dtype=np.bool_)
        for it in self._unknown:
            for first, last in it.ranges:
                first, last = it.start + first - view.start, it.start + last - view.start
                mask[max(first, 0) : max(last, 0)] = False
        if view.itemsize == 0 or mask.size == 0:
            return np.ones(view.shape, dtype=np.bool_)
        return mask.reshape(-1, view.itemsize).all(axis=1).reshape(view.shape)

    def explain(self, element: str) -> str:
        """What an element of the results comes from: the instructions, and the elements of other arrays.

        Args:
            element: The array and the index, such as `c[17, 3]`. An array has the name of its parameter, or the one
                that `names` of the launch gives it.

        Raises:
            LaunchError: There is no such array or element.
        """
        value: Optional[str] = None
        if not isinstance(element, str):
            raise _core.LaunchError(f"an element is named like `c[17, 3]`, not {element!r}")
        name, _, index = element.strip().rstrip("]").partition("[")
        if name in self._names and index:
            try:
                number = tuple(int(it) for it in index.split(","))
                value = str(self._names[name][1][number])
            except (ValueError, IndexError, TypeError):
                value = None
        return self._core.explain(element, value).strip("\n")

    def _state(self, cta: Any, until: Any) -> tuple[bytes, list[tuple[int, int]], bytes, bytes]:
        index = (cta,) if isinstance(cta, int) else tuple(cta)
        x, y, z = (*index, 0, 0)[:3]
        if any(not isinstance(it, int) or not 0 <= it < 2**32 for it in (x, y, z)):
            raise IndexError(f"the grid has no CTA {cta!r}")
        line: Optional[int] = None
        if until is not None:
            try:
                line = int(str(until).rpartition(":")[2])
            except ValueError:
                raise _core.LaunchError(f"`until` is a line of the PTX, such as `\"gemm.ptx:120\"`, not {until!r}") from None
            if not 1 <= line < 2**32:
                raise _core.LaunchError(f"`until` is a line of the PTX, from 1, not {line}")
        return self._core.state((x, y, z), line)

    def shared(
        self, cta: Union[int, tuple[int, ...]] = 0, *, until: Union[None, int, str] = None
    ) -> NDArray[np.uint8]:
        """The shared memory of a CTA when it has ended; its cluster runs again.

        Args:
            cta: The index of the CTA in the grid: `%ctaid`.
            until: A line of the PTX (`120`, `"gemm.ptx:120"`): the memory as it is when a thread is about to execute the
                first instruction there.

        Returns:
            The bytes by their addresses in `.shared::cta`; the first 1024 are kept by the system. What is not known is
            masked (`numpy.ma`).
        """
        import numpy as np

        data, unknown, _, _ = self._state(cta, until)
        shared = np.ma.array(np.frombuffer(bytes(data), dtype=np.uint8).copy(), mask=False)
        for first, last in unknown:
            shared[first:last] = np.ma.masked
        return shared

    def tensor_memory(
        self, cta: Union[int, tuple[int, ...]] = 0, *, until: Union[None, int, str] = None
    ) -> NDArray[np.uint32]:
        """The Tensor Memory of a CTA when it has ended: 128 lanes x columns, cells of 32 bits; its cluster runs again.

        Most kernels free it in the end, so that nothing of it is known: say where to look by `until`, as for `shared`.
        `view(numpy.float32)` shows accumulators. What is not known is masked.
        """
        import numpy as np

        _, _, data, known = self._state(cta, until)
        cells = np.frombuffer(bytes(data), dtype=np.uint32).reshape(128, -1).copy()
        return np.ma.array(cells, mask=np.frombuffer(bytes(known), dtype=np.uint8).reshape(128, -1) == 0)

    def timeline(self, *, width: int = 100, color: bool = False) -> str:
        """What happened, drawn as text: a line for each warp and unit, time from left to right."""
        return self._core.timeline(width, color)

    def timeline_svg(self) -> str:
        """What happened, drawn as an image in SVG: it follows the light or dark mode of its reader."""
        return self._core.timeline_svg()

    def trace(self, path: Union[str, os.PathLike[str]]) -> None:
        """Writes what happened to a file, as a Chrome trace: ui.perfetto.dev opens it."""
        text = self._core.trace()
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def __str__(self) -> str:
        return self._core.text(False, 100).rstrip()

    def __repr__(self) -> str:
        return f"<Run of {self.kernel}: {self.verdict}, {len(self._findings)} findings>"

    def __reduce__(self) -> Any:
        raise TypeError("a run holds a device's memory, and has no copy: copy `run.findings`, `run.json` or `str(run)`")

    def _timeline_html(self) -> str:
        """What happened, as a notebook shows it."""
        image = base64.b64encode(self.timeline_svg().encode()).decode()
        text = html.escape(self.timeline(), quote=True)
        return f'<img alt="{text}" src="data:image/svg+xml;base64,{image}">' if image else ""

    def _repr_html_(self) -> str:
        colors = {"clean": "#1a7f37", "incomplete": "#9a6700", "findings": "#cf222e"}
        statistics = self.statistics
        parts = [
            f'<div><strong style="color:{colors[self.verdict]}">{self.verdict}</strong> '
            f"<code>{html.escape(self.kernel)}</code> "
            f"<small>{statistics.clusters} clusters, {statistics.warp_instructions} warp instructions, "
            f"{statistics.seconds:.2f} s</small></div>"
        ]
        if self.verdict != "clean":
            parts.append(f"<pre>{html.escape(str(self))}</pre>")
        timeline = self._timeline_html()
        if timeline:
            parts.append(f"<details><summary>timeline</summary>{timeline}</details>")
        return "".join(parts)
