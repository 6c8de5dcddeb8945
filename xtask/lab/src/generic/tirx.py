"""Statements of the PTX table in the package `apache-tvm-tirx`, through its own renderer.

Takes the folder of the table, how many statements of each entry there are to be, and a seed; writes for
each `family <tab> entry <tab> statement`, with registers named as in fixtures/ptxas/mistakes.ptx.
"""

import importlib
import itertools
import random
import re
import sys
import types

# What a constraint of the inline assembly binds.
CLASSES = {"h": "h", "r": "r", "f": "fr", "l": "d", "d": "fd", "q": "q"}
# More combinations of words than these are not walked in order.
MANY = 20_000


def load(folder):
    """The two modules that need nothing of the package around them."""
    package = types.ModuleType("table_of_ptx")
    package.__path__ = [folder]
    sys.modules["table_of_ptx"] = package
    return importlib.import_module("table_of_ptx.table"), importlib.import_module("table_of_ptx.render")


def combinations(table, entry, count, rng):
    """Sets of words that the entry allows, such that each word is in one of them as far as chance has it."""
    axes = [(*slot.choices, "") if slot.optional else slot.choices for slot in entry.slots]
    is_legal = lambda combo: entry.check is None or not entry.check(table.mods(entry, combo))
    size = 1
    for axis in axes:
        size *= len(axis)
    if size <= MANY:
        found = [combo for combo in itertools.product(*axes) if is_legal(combo)]
        rng.shuffle(found)
    else:
        found = []
        # Mostly without the words that may be left out; then those with one word that is wanted.
        wanted = [(at, word) for at, axis in enumerate(axes) for word in axis]
        for at, word in wanted * 2:
            for _ in range(3_000):
                leaves_out = rng.random()
                combo = tuple(
                    word if place == at else "" if "" in axis and rng.random() < leaves_out else rng.choice(axis)
                    for place, axis in enumerate(axes)
                )
                if is_legal(combo):
                    found.append(combo)
                    break
        rng.shuffle(found)
    # Those with words that were not met yet come first.
    met, first, later = set(), [], []
    for combo in found:
        new = {(at, word) for at, word in enumerate(combo) if word} - met
        (first if new or not first else later).append(combo)
        met |= new
    return (first + later)[: max(count, len(first))]


def statement(source):
    match = re.search(r'asm(?: volatile)?\("(.*?)" : (.*)\);', source, re.S)
    if match is None:
        return None
    text, bindings = match.groups()
    counts, names = {}, []
    for constraint in re.findall(r'"[=+]?([a-z])"\(', bindings):
        register = CLASSES[constraint]
        names.append(f"{register}{counts.setdefault(register, 0)}")
        counts[register] += 1
    text = re.sub(r"%(\d+)", lambda it: names[int(it.group(1))], text).replace("%%", "%")
    return " ".join(text.replace("\\n", " ").replace("\\t", " ").split())


def main():
    folder, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    table, render = load(folder)
    for name in sorted(table.TABLE):
        entry = table.TABLE[name]
        rng = random.Random(f"{seed} {name}")
        for tokens in combinations(table, entry, count, rng):
            dtypes = rng.choice([None, rng.choice(table.dtype_combos(entry, tokens))])
            imms = rng.choice(table.imm_combos(entry, ("0", "1", "8")))
            predicated = rng.choice(table.pred_forms(entry)) and rng.random() < 0.2
            sinks = rng.choice([frozenset(), rng.choice(table.sink_combos(entry, tokens)[:64])])
            try:
                _, _, source = render.render_variant(entry, tokens, predicated, dtypes, imms, sinks)
            except (ValueError, AssertionError):
                continue
            text = statement(source)
            if text:
                print(entry.family, name, text, sep="\t")


main()
