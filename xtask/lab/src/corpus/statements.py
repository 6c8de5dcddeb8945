"""Where the calls of assembly and the strings with programs of C++ stand in files of Python.

Reads names of files, one a line; writes for each place
`file <tab> kind <tab> start <tab> end <tab> text`, in bytes. It shares nothing with the checker but
the names of the functions that take assembly.
"""

import ast
import sys
import warnings

WORDS = (b"asm", b"inline_ptx", b"InlineAsm")
STRING = ("asm_string", "asm", "template", "ptx", "code")


def takes_assembly(name):
    return (
        name == "InlineAsm"
        or name == "inline_asm_elementwise"
        or name.endswith(("inline_asm", "inline_ptx", "inline_ptx_hl"))
    )


def literals(node, names, depth=0):
    """The literals that a value is made of, through the names of the file that have one."""
    if depth > 6:
        return
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value
        elif isinstance(part, ast.Name) and part.id in names:
            yield from literals(names[part.id], {}, depth + 1)


def places(text):
    tree = ast.parse(text)
    lines = [0]
    for line in text.splitlines(keepends=True):
        lines.append(lines[-1] + len(line))

    def at(line, column):
        return lines[line - 1] + column

    names = {}
    documentation = set()
    inside = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            names.setdefault(node.targets[0].id, node.value)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            documentation.add(node.value)
        if isinstance(node, ast.JoinedStr):
            inside.update(part for part in ast.walk(node) if part is not node)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            function = node.func
            name = getattr(function, "id", getattr(function, "attr", None))
            if name is None or not takes_assembly(name):
                continue
            end = at(function.end_lineno, function.end_col_offset)
            values = [keyword.value for keyword in node.keywords if keyword.arg in STRING] or node.args
            known = " ".join(text for value in values for text in literals(value, names))
            yield "call", end - len(name.encode()), end, known
        is_string = isinstance(node, ast.JoinedStr) or isinstance(node, ast.Constant) and isinstance(node.value, str)
        if is_string and node not in documentation and node not in inside:
            start, end = at(node.lineno, node.col_offset), at(node.end_lineno, node.end_col_offset)
            written = text[start:end]
            if b"asm" not in written:
                continue
            quote = min((written.find(sign), sign) for sign in (b'"', b"'") if sign in written)
            opening = quote[1] * 3 if written[quote[0] :].startswith(quote[1] * 3) else quote[1]
            # Several literals in a row are no program that is read as one.
            yield "program", start + quote[0] + len(opening), end - len(opening), ""


warnings.simplefilter("ignore")
for name in sys.stdin.read().splitlines():
    with open(name, "rb") as file:
        text = file.read()
    if not any(word in text for word in WORDS):
        continue
    try:
        for kind, start, end, known in places(text):
            known = " ".join(known.split())[:400]
            print(name, kind, start, end, known, sep="\t")
    except (SyntaxError, ValueError, RecursionError) as error:
        print(name, "unreadable", 0, 0, type(error).__name__, sep="\t")
