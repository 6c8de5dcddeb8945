"""How the site colours PTX: opcodes with their qualifiers, directives, registers, numbers, labels and comments."""

from pygments.lexer import RegexLexer, bygroups, include
from pygments.lexers import _mapping
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text

__all__ = ["PtxLexer"]


class PtxLexer(RegexLexer):
    """PTX. The lexer of Pygments takes `1` in `.cta_group::1` for a number, and a variable called `bar` for an opcode."""

    name = "PTX of ptx-tc"
    aliases = ["ptx"]

    _name = r"[a-zA-Z_$%][\w$%]*"

    tokens = {
        "root": [
            (rf"({_name})(\s*)(:)(?!:)", bygroups(Name.Label, Text, Punctuation)),
            # A directive takes what follows as it comes, to the end of its line.
            (r"\.[a-zA-Z_]\w*", Keyword.Declaration, "directive"),
            (rf"(@)(!?)({_name})", bygroups(Operator, Operator, Name.Variable)),
            # At the start of a statement, a name is an opcode. Its qualifiers are separated by dots.
            (rf"({_name})((?:\s*\.\s*[\w:]+)*)", bygroups(Keyword, Keyword.Type), "operands"),
            (r"[{}(),;]", Punctuation),
            include("any"),
        ],
        "operands": [
            (r"[;{}](?=\s*$)|;", Punctuation, "#pop"),
            include("any"),
        ],
        "directive": [
            (r"\n|[;{]", Punctuation, "#pop"),
            include("any"),
        ],
        "any": [
            (r"\s+", Text),
            (r"//[^\n]*", Comment.Single),
            (r"/\*[\s\S]*?\*/", Comment.Multiline),
            (r'"[^"]*"', String),
            (r"\.[a-zA-Z_][\w:]*", Keyword.Type),
            (r"0[fFdD][0-9a-fA-F]+|0[xX][0-9a-fA-F]+U?|0[bB][01]+U?|\d+(\.\d+)?([eE][+-]?\d+)?U?", Number),
            (rf"%[\w.]+|{_name}", Name.Variable),
            (r"[\[\](){},<>|:]", Punctuation),
            (r"[-+*/&^!~=?]", Operator),
            (r".", Text),
        ],
    }


def register() -> None:
    """Makes it what a block of `ptx` is coloured by."""
    others = {name: row for name, row in _mapping.LEXERS.items() if "ptx" not in row[2]}
    _mapping.LEXERS.clear()
    _mapping.LEXERS.update(others, PtxLexer=(__name__, PtxLexer.name, ("ptx",), (), ()))
