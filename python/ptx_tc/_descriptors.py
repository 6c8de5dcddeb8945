"""Descriptors: the words in which multiplies say their shapes, types and operands."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from . import _core


@dataclass(frozen=True)
class DescriptorField:
    """A field of a descriptor."""

    name: str
    #: Its bits, from the lowest on: pairs of first and last.
    bits: tuple[tuple[int, int], ...]
    raw: int
    #: What it says, as people write it.
    value: str
    meaning: str


@dataclass(frozen=True)
class Descriptor:
    """A descriptor. `int()` is the word, and `d["m"]` the text of a field."""

    word: int
    #: Whether nothing is wrong with it.
    valid: bool
    fields: tuple[DescriptorField, ...]
    #: What is wrong with it.
    problems: tuple[str, ...]

    def __int__(self) -> int:
        return self.word

    def __index__(self) -> int:
        return self.word

    def __getitem__(self, name: str) -> str:
        for it in self.fields:
            if it.name == name:
                return it.value
        raise KeyError(name)


def _words(fields: dict[str, Any]) -> list[str]:
    def text(value: Any) -> str:
        if isinstance(value, bool):
            return "yes" if value else "no"
        return str(value)

    return [f"{name.replace('_', '-')}={text(value)}" for name, value in fields.items() if value is not None]


def _decode(descriptor: str, word: int, options: list[str]) -> Descriptor:
    if not 0 <= word < 2**64:
        raise ValueError(f"a descriptor is a number of 0 to 2**64 - 1, not {word}")
    written = _core.output_of(["decode", descriptor, hex(word), "--format", "json", *options])
    document = json.loads(written)
    fields = tuple(
        DescriptorField(
            name=it["name"],
            bits=tuple((first, last) for first, last in it["bits"]),
            raw=it["raw"],
            value=it["value"],
            meaning=it["meaning"],
        )
        for it in document["fields"]
    )
    problems = tuple(it["message"] for it in document.get("problems", []))
    return Descriptor(word=word, valid=document["valid"], fields=fields, problems=problems)


def _encode(descriptor: str, options: list[str], fields: dict[str, Any]) -> int:
    written = _core.output_of(["encode", descriptor, "--format", "json", *options, *_words(fields)])
    return int(json.loads(written)["word"], 16)


def decode_idesc(word: int, *, kind: str, **context: Any) -> Descriptor:
    """The fields of an instruction descriptor (32 bits), and what is wrong with it.

    Args:
        word: The word.
        kind: The kind of the multiply, such as `f16` or `mxf4nvf4`: the layout depends on it.
        context: What else is known: `cta_group`, `ws`, `sp`, `ashift`, `scale_vec`, `target`, `version`.
    """
    return _decode("idesc", word, ["--kind", kind, *_words(context)])


def decode_smem(word: int, **context: Any) -> Descriptor:
    """The fields of a shared memory descriptor (64 bits). `context`: `target`, `version`."""
    return _decode("smem", word, _words(context))


def decode_zero_mask(word: int, *, m: int, n: int) -> Descriptor:
    """The fields of a zero-column mask descriptor (64 bits), of a multiply of this M and N."""
    return _decode("zero-mask", word, _words({"m": m, "n": n}))


def encode_idesc(**fields: Any) -> int:
    """The word of an instruction descriptor: `encode_idesc(kind="f16", dtype="f32", a="bf16", b="bf16", m=128, n=256)`.

    Raises:
        ValueError: There is no such field or value, or the descriptor is not valid.
    """
    return _encode("idesc", [], fields)


def encode_smem(*matrix: object, **fields: Any) -> int:
    """The word of a shared memory descriptor, by its fields: `encode_smem(start=0x400, swizzle="128B", sbo=1024)`;
    or of a packed matrix, with the strides computed: `encode_smem("bf16", "128x64", "k-major", swizzle="128B")`.

    Raises:
        ValueError: There is no such field or value, or the descriptor is not valid.
    """
    words = [str(it) for it in matrix]
    return _encode("smem", ["--matrix", *words] if matrix else [], fields)


def encode_zero_mask(**fields: Any) -> int:
    """The word of a zero-column mask descriptor, by its fields."""
    return _encode("zero-mask", [], fields)
