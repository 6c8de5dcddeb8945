//! Changes to texts: most of them by tokens, so that what comes out is nearly PTX.

use std::borrow::Cow;
use std::ops::Range;

use fastrand::Rng;
use ptx_check::syntax::lexer::{Token, lex};

use crate::corpus::{Corpus, HOSTS};

/// Texts do not grow beyond this.
const LONGEST: usize = 100_000;

/// Numbers at the edges of what instructions, types and Tensor Memory take.
const NUMBERS: &str = "\
    0 1 -1 2 7 8 15 16 31 32 33 63 64 65 127 128 192 255 256 288 511 512 513 576 577 1024 65535 65536 \
    0x7fffffff 0x80000000 -2147483648 0xffffffff 4294967296 0x7fffffffffffffff 0x8000000000000000 \
    -9223372036854775808 18446744073709551615 18446744073709551616 99999999999999999999999 0b11 017 \
    0x1FU 1.5 0f3F800000 0d3FF0000000000000 1e400 0x08200490 0x4000004000000001";

/// What names may be replaced by.
const NAMES: &str = "\
    %tid.x %laneid %ctaid.y %clock64 WARP_SZ _ undeclared %r0 %r1 %rd1 %p1 p taddr slot mbar \
    %r4294967295 %r16777216";

/// Pieces of text that mean something to the lexer, the structure pass or the suppression.
const SNIPPETS: &[&str] = &[
    ";",
    ",",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ":",
    "@",
    "!",
    "|",
    "/*",
    "*/",
    "//",
    "\"",
    "\n",
    "\r",
    "\r\n",
    "#",
    "# 1 \"f\"\n",
    "\u{feff}",
    "é",
    "\u{1f600}",
    "\u{1a}",
    ".reg .b32 %r<16777216>;",
    ".reg .b32 t;",
    "L0:",
    "bra L0;",
    "@p bra L0;",
    "ret;",
    "exit;",
    ".entry k2() {",
    ".func (.reg .b32 t) foo(",
    ".visible ",
    ".extern .func g();",
    "call g;",
    "{ .reg .b32 %r<4>; ",
    "// ptx-tc: allow(TC1, TC301)\n",
    "/* ptx-tc: allow-file(TC7) */",
    "// ptx-tc: allow(",
    ".target sm_107a",
    ".target sm_100a, sm_103a",
    ".version 9.4",
    ".branchtargets L0, L1;",
    ".callprototype _ ();",
    ".pragma \"nounroll\";",
    ".loc 1 2 3",
    ".section .debug { .b8 1 }",
    ".align 8 ",
    "elect.sync _|p, -1;",
    "bar.sync 0;",
    "tcgen05.wait::ld.sync.aligned;",
    "%",
];

fn one_of(words: &'static str, random: &mut Rng) -> &'static str {
    let count = words.split(' ').count();
    words.split(' ').nth(random.usize(..count)).unwrap_or_default()
}

/// A changed text.
pub fn text(corpus: &Corpus, random: &mut Rng) -> Vec<u8> {
    changed(base, corpus, random)
}

/// A changed kernel: of what is made to be run, or of a real one.
pub fn kernel(corpus: &Corpus, random: &mut Rng) -> Vec<u8> {
    changed(base_to_run, corpus, random)
}

fn changed(base: fn(&Corpus, &mut Rng) -> String, corpus: &Corpus, random: &mut Rng) -> Vec<u8> {
    let mut text = base(corpus, random);
    if random.u8(..) < 4 {
        return text.into_bytes();
    }
    if random.u8(..) < 32 {
        let other = base(corpus, random);
        text = spliced(&text, &other, random);
    }
    let mut tokens = Tokens::new(&text);
    // Mostly few: the more is wrong, the less is looked at.
    for _ in 0..=(random.u32(..).trailing_zeros() * 2) {
        tokens.change(corpus, random);
    }
    let mut bytes = tokens.text().into_bytes();
    if random.u8(..) < 48 {
        change_bytes(&mut bytes, random);
    }
    bytes.truncate(LONGEST);
    bytes
}

/// A text with a small change more.
pub fn again(text: &[u8], random: &mut Rng) -> Vec<u8> {
    if random.u8(..) < 64 {
        let mut bytes = text.to_vec();
        change_bytes(&mut bytes, random);
        bytes.truncate(LONGEST);
        return bytes;
    }
    let text = String::from_utf8_lossy(text);
    let mut tokens = Tokens::new(&text);
    tokens.change(&Corpus::default(), random);
    tokens.text().into_bytes()
}

/// Pieces of text that mean something to the languages that PTX is written in.
const HOST_SNIPPETS: &[&str] = &[
    "asm volatile(",
    "asm(\"",
    "__asm__ __volatile__ (R\"x(",
    ")x\"",
    " : \"=r\"(x), ",
    " : : \"l\"(y) : \"memory\");",
    "\"n\"(N)",
    "%0",
    "%%",
    "%=",
    "%[name]",
    "[name] \"+r\"(z)",
    "#if A\n",
    "\n#else\n",
    "\n#endif\n",
    "#define M(a, b) \".\" #a \"tcgen05\" b\n",
    "#define L(r) \"=r\"(r[0]), \"=r\"(r[1])\n",
    ": L(x)",
    "M(x, \"y\")",
    "\\\n",
    "\\n\\t",
    "\\x25",
    "llvm.inline_asm(None, [a], \"",
    "tl.inline_asm_elementwise(\"",
    "inline_ptx(f\"{",
    "}\"",
    "\"\"\"",
    "'''",
    " if x else ",
    "if x:\n    t = \"trap;\"\nelse:\n    t = \"exit;\"\n",
    "def f(t, c):\n    inline_asm(None, [], t, c)\n",
    "{$r0}",
    "{{",
    "}}",
    "$0",
    "${0:x}",
    "$$",
    "\\0A",
    "call void asm sideeffect \"",
    "\", \"=r,r,~{memory}\"(i32 %a)",
    "llvm.inline_asm has_side_effects \"",
    "tt.elementwise_inline_asm \"",
    "nvvm.inline_ptx \"",
    "asm!(\"",
    "in(reg32) a, options(nostack)",
    "{name}",
    "r#\"",
    "\"#",
    "// ptx-tc: allow(TC301)\n",
    "# ptx-tc: allow(TC301)\n",
    "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 48;",
];

/// A changed file of another language, and which language it is of: mostly that which it was of.
pub fn host(corpus: &Corpus, random: &mut Rng) -> (u8, Vec<u8>) {
    let Some((ending, text)) = random.choice(&corpus.hosts) else { return (0, Vec::new()) };
    let own = HOSTS.iter().position(|it| it == ending).unwrap_or_default();
    let language = if random.u8(..) < 8 { random.usize(..HOSTS.len()) } else { own };
    let mut bytes = text.clone().into_bytes();
    for _ in 0..random.u32(..).trailing_zeros() * 2 {
        let at = random.usize(..=bytes.len());
        match random.u8(..8) {
            0..3 => {
                let snippet = random.choice(HOST_SNIPPETS).copied().unwrap_or_default();
                bytes.splice(at..at, snippet.bytes());
            }
            // Lines more, or less.
            3 | 4 => {
                let mut lines: Vec<Vec<u8>> =
                    bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
                let part = range(lines.len(), 8, random);
                if random.bool() {
                    lines.drain(part);
                } else {
                    let copy = lines[part].to_vec();
                    let at = random.usize(..=lines.len());
                    lines.splice(at..at, copy);
                }
                bytes = lines.concat();
            }
            5 => {
                let word = random.choice(&corpus.words).map(String::as_str).unwrap_or_default();
                bytes.splice(at..at, [".", word].concat().bytes());
            }
            _ => change_bytes(&mut bytes, random),
        }
    }
    bytes.truncate(LONGEST);
    (language as u8, bytes)
}

fn base(corpus: &Corpus, random: &mut Rng) -> String {
    if random.u8(..) < 128 {
        return random.choice(&corpus.small).cloned().unwrap_or_default();
    }
    // The longer of several: most functions of the kernels are short.
    let some = (0..random.u32(1..6)).filter_map(|_| random.choice(&corpus.functions));
    some.max_by_key(|text| text.len()).cloned().unwrap_or_default()
}

fn base_to_run(corpus: &Corpus, random: &mut Rng) -> String {
    if random.u8(..) < 192 {
        return random.choice(&corpus.runs).cloned().unwrap_or_default();
    }
    random.choice(&corpus.functions).cloned().unwrap_or_default()
}

/// Two modules as one: the second behind the first, or lines of it in the first.
fn spliced(text: &str, other: &str, random: &mut Rng) -> String {
    if random.bool() {
        return format!("{text}{other}");
    }
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let others: Vec<&str> = other.split_inclusive('\n').collect();
    let at = random.usize(..=lines.len());
    let part = range(others.len(), 40, random);
    [&lines[..at], &others[part], &lines[at..]].concat().concat()
}

/// A random range of at most `most` out of `len`.
fn range(len: usize, most: usize, random: &mut Rng) -> Range<usize> {
    let start = random.usize(..=len);
    start..(start + random.usize(..=most)).min(len)
}

fn change_bytes(bytes: &mut Vec<u8>, random: &mut Rng) {
    for _ in 0..=random.u32(..).trailing_zeros() {
        let at = random.usize(..=bytes.len());
        match random.u8(..6) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, random.u8(1..)),
            2 => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = (*byte ^ 1 << random.u8(..8)).max(1);
                }
            }
            3 => {
                let part = range(bytes.len(), 200, random);
                bytes.drain(part);
            }
            4 => {
                let part = range(bytes.len(), 200, random);
                let copy = bytes[part].to_vec();
                bytes.splice(at..at, copy);
            }
            _ => {
                let snippet = random.choice(SNIPPETS).copied().unwrap_or_default();
                bytes.splice(at..at, snippet.bytes());
            }
        }
    }
}

/// A token with the blanks and comments before it.
#[derive(Clone)]
struct Piece<'t> {
    gap: Cow<'t, str>,
    token: Option<Token>,
    text: Cow<'t, str>,
}

/// A text as tokens.
struct Tokens<'t> {
    pieces: Vec<Piece<'t>>,
    rest: &'t str,
}

impl<'t> Tokens<'t> {
    fn new(text: &'t str) -> Self {
        let mut end = 0;
        let pieces = lex(text)
            .map(|(token, range)| {
                let gap = Cow::Borrowed(&text[end..range.start]);
                end = range.end;
                Piece { gap, token: token.ok(), text: Cow::Borrowed(&text[range]) }
            })
            .collect();
        Self { pieces, rest: &text[end..] }
    }

    fn text(&self) -> String {
        let pieces = self.pieces.iter().flat_map(|piece| [piece.gap.as_ref(), piece.text.as_ref()]);
        pieces.chain([self.rest]).collect()
    }

    /// One change. Some change nothing, where there is nothing to change.
    fn change(&mut self, corpus: &Corpus, random: &mut Rng) {
        if self.pieces.is_empty() {
            return;
        }
        let statement = self.statement(random.usize(..self.pieces.len()));
        match random.u8(..24) {
            0 => self.swap_operands(statement, random),
            1 | 2 => self.change_operand(statement, random),
            3 => self.repeat_operand(statement, random),
            4 => self.remove_operand(statement, random),
            5..=7 => self.change_opcode(statement, corpus, random),
            8 => self.replace_opcode(statement, corpus, random),
            9 => drop(self.pieces.drain(statement)),
            10 => self.repeat(statement, 1),
            11 => self.repeat(statement, 1 << random.u8(..7)),
            12 => self.move_statement(statement, random),
            13 => self.swap_statements(statement, random),
            14 | 15 => self.change_number(random),
            16 | 17 => self.change_name(random),
            18 => self.change_guard(&statement, random),
            19 => self.pieces.truncate(random.usize(..self.pieces.len())),
            20 => drop(self.pieces.remove(random.usize(..self.pieces.len()))),
            21 => {
                let at = random.usize(..self.pieces.len());
                let copy = random.choice(&self.pieces).cloned();
                self.pieces.extend(copy);
                self.pieces[at..].rotate_right(1);
            }
            22 => {
                let at = random.usize(..self.pieces.len());
                let snippet = random.choice(SNIPPETS).copied().unwrap_or_default();
                self.insert(at, " ", snippet);
            }
            _ => self.vectorise(statement, random),
        }
    }

    fn insert(&mut self, at: usize, gap: &'static str, text: impl Into<Cow<'t, str>>) {
        self.pieces.insert(at, Piece { gap: Cow::Borrowed(gap), token: None, text: text.into() });
    }

    /// The pieces of the statement around one of them; ended by a `;` or the end of a line.
    fn statement(&self, at: usize) -> Range<usize> {
        let ends = |index: usize| {
            self.pieces[index].token == Some(Token::Semicolon)
                || self.pieces.get(index + 1).is_none_or(|next| next.gap.contains('\n'))
        };
        let start = (0..at).rev().find(|index| ends(*index)).map_or(0, |index| index + 1);
        let end =
            (at..self.pieces.len()).find(|index| ends(*index)).map_or(self.pieces.len(), |index| index + 1);
        start..end
    }

    /// The opcode of a statement: its first word that is no guard.
    fn opcode(&self, statement: &Range<usize>) -> Option<usize> {
        let is_word = |index: &usize| {
            matches!(self.pieces[*index].token, Some(Token::Dotted | Token::Identifier))
                && !(statement.start..*index)
                    .rev()
                    .take(2)
                    .any(|before| self.pieces[before].token == Some(Token::At))
        };
        statement.clone().find(is_word)
    }

    /// The operands of a statement, without the commas between them.
    fn operands(&self, statement: &Range<usize>) -> Vec<Range<usize>> {
        let Some(opcode) = self.opcode(statement) else { return Vec::new() };
        let mut found = Vec::new();
        let mut depth = 0_usize;
        let behind = opcode + 1;
        let mut start = behind;
        for index in behind..statement.end {
            match self.pieces[index].token {
                Some(Token::BraceOpen | Token::BracketOpen | Token::ParenOpen) => depth += 1,
                Some(Token::BraceClose | Token::BracketClose | Token::ParenClose) => {
                    depth = depth.saturating_sub(1);
                }
                Some(Token::Comma) if depth == 0 => {
                    found.push(start..index);
                    start = index + 1;
                }
                Some(Token::Semicolon) => {
                    found.push(start..index);
                    return found;
                }
                _ => {}
            }
        }
        found
    }

    fn swap_operands(&mut self, statement: Range<usize>, random: &mut Rng) {
        let operands = self.operands(&statement);
        let (Some(one), Some(other)) = (random.choice(&operands), random.choice(&operands)) else { return };
        self.swap(one.clone(), other.clone());
    }

    /// Swaps two ranges; nothing where they touch the same pieces.
    fn swap(&mut self, one: Range<usize>, other: Range<usize>) {
        let (first, second) = if one.start < other.start { (one, other) } else { (other, one) };
        if first.end > second.start {
            return;
        }
        let pieces = &self.pieces;
        let swapped =
            [&pieces[second.clone()], &pieces[first.end..second.start], &pieces[first.clone()]].concat();
        self.pieces.splice(first.start..second.end, swapped);
    }

    fn change_operand(&mut self, statement: Range<usize>, random: &mut Rng) {
        let operands = self.operands(&statement);
        let Some(operand) = random.choice(&operands).cloned() else { return };
        match random.u8(..6) {
            0 => self.surround(operand, "[", "]"),
            1 => self.surround(operand, "[", "+16]"),
            2 => self.surround(operand, "-", ""),
            3 => self.surround(operand, "!", ""),
            4 => {
                let number = one_of(NUMBERS, random);
                self.replace(operand, number);
            }
            _ => {
                let name = self.name(random);
                self.replace(operand, name);
            }
        }
    }

    fn surround(&mut self, operand: Range<usize>, before: &'static str, behind: &'static str) {
        self.insert(operand.end, "", behind);
        self.insert(operand.start, " ", before);
    }

    fn replace(&mut self, operand: Range<usize>, by: impl Into<Cow<'t, str>>) {
        let piece = Piece { gap: Cow::Borrowed(" "), token: None, text: by.into() };
        self.pieces.splice(operand, [piece]);
    }

    /// A name out of the text, or one of [`NAMES`].
    fn name(&self, random: &mut Rng) -> Cow<'t, str> {
        let found = random.choice(&self.pieces).filter(|piece| piece.token == Some(Token::Identifier));
        match found {
            Some(piece) if random.bool() => piece.text.clone(),
            _ => Cow::Borrowed(one_of(NAMES, random)),
        }
    }

    fn repeat_operand(&mut self, statement: Range<usize>, random: &mut Rng) {
        let operands = self.operands(&statement);
        let (Some(operand), Some(at)) = (random.choice(&operands), random.choice(&operands)) else { return };
        let at = at.start;
        let comma = Piece { gap: Cow::Borrowed(""), token: Some(Token::Comma), text: Cow::Borrowed(",") };
        let copy: Vec<Piece<'t>> = self.pieces[operand.clone()].iter().cloned().chain([comma]).collect();
        self.pieces.splice(at..at, copy);
    }

    fn remove_operand(&mut self, statement: Range<usize>, random: &mut Rng) {
        let operands = self.operands(&statement);
        let Some(operand) = random.choice(&operands).cloned() else { return };
        let comma = self.pieces.get(operand.end).is_some_and(|piece| piece.token == Some(Token::Comma));
        self.pieces.drain(operand.start..operand.end + usize::from(comma));
    }

    /// An operand becomes a vector, or a vector its elements.
    fn vectorise(&mut self, statement: Range<usize>, random: &mut Rng) {
        let operands = self.operands(&statement);
        let Some(operand) = random.choice(&operands).cloned() else { return };
        let braces = |pieces: &[Piece<'_>]| pieces.iter().any(|piece| piece.token == Some(Token::BraceOpen));
        if braces(&self.pieces[operand.clone()]) && random.bool() {
            let is_brace =
                |piece: &Piece<'_>| matches!(piece.token, Some(Token::BraceOpen | Token::BraceClose));
            let without: Vec<Piece<'t>> =
                self.pieces[operand.clone()].iter().filter(|piece| !is_brace(piece)).cloned().collect();
            self.pieces.splice(operand, without);
            return;
        }
        let elements = *random.choice(&[0, 1, 2, 3, 4, 8]).unwrap_or(&1);
        let text: String = self.pieces[operand.clone()].iter().map(|piece| piece.text.as_ref()).collect();
        let vector = format!("{{{}}}", vec![text; elements].join(", "));
        self.replace(operand, vector);
    }

    /// Words of an opcode are swapped, repeated, removed, inserted.
    fn change_opcode(&mut self, statement: Range<usize>, corpus: &Corpus, random: &mut Rng) {
        let Some(opcode) = self.opcode(&statement) else { return };
        let text = self.pieces[opcode].text.clone();
        let mut words: Vec<&str> = text.split('.').collect();
        let at = random.usize(..words.len());
        match random.u8(..6) {
            0 if words.len() > 1 => drop(words.remove(at)),
            1 => words.insert(at, words[at]),
            2 => {
                let other = random.usize(..words.len());
                words.swap(at, other);
            }
            3 => words.insert(at + 1, random.choice(&corpus.words).map_or("", String::as_str)),
            _ => words[at] = random.choice(&corpus.words).map_or("", String::as_str),
        }
        self.pieces[opcode].text = Cow::Owned(words.join("."));
    }

    fn replace_opcode(&mut self, statement: Range<usize>, corpus: &Corpus, random: &mut Rng) {
        let Some(opcode) = self.opcode(&statement) else { return };
        let other = random.choice(&corpus.opcodes).cloned().unwrap_or_default();
        self.pieces[opcode].text = Cow::Owned(other);
    }

    fn repeat(&mut self, statement: Range<usize>, times: usize) {
        let length: usize = self.pieces[statement.clone()].iter().map(|piece| piece.text.len()).sum();
        let times = times.min(LONGEST / 4 / length.max(1));
        let copies: Vec<Piece<'t>> =
            (0..times).flat_map(|_| &self.pieces[statement.clone()]).cloned().collect();
        self.pieces.splice(statement.end..statement.end, copies);
    }

    fn move_statement(&mut self, statement: Range<usize>, random: &mut Rng) {
        let moved: Vec<Piece<'t>> = self.pieces.drain(statement).collect();
        if self.pieces.is_empty() {
            self.pieces = moved;
            return;
        }
        let at = self.statement(random.usize(..self.pieces.len())).start;
        self.pieces.splice(at..at, moved);
    }

    fn swap_statements(&mut self, statement: Range<usize>, random: &mut Rng) {
        let other = self.statement(random.usize(..self.pieces.len()));
        self.swap(statement, other);
    }

    /// The first piece that `wanted` holds for, from a random one on.
    fn any(&self, random: &mut Rng, wanted: impl Fn(&Piece<'_>) -> bool) -> Option<usize> {
        let from = random.usize(..self.pieces.len());
        (from..self.pieces.len()).chain(0..from).find(|index| wanted(&self.pieces[*index]))
    }

    fn change_number(&mut self, random: &mut Rng) {
        let is_number = |piece: &Piece<'_>| matches!(piece.token, Some(Token::Integer | Token::Float));
        let Some(at) = self.any(random, is_number) else { return };
        let number = if random.u8(..) < 32 {
            Cow::Owned(random.u64(..).to_string())
        } else {
            Cow::Borrowed(one_of(NUMBERS, random))
        };
        self.pieces[at].text = number;
    }

    fn change_name(&mut self, random: &mut Rng) {
        let Some(at) = self.any(random, |piece| piece.token == Some(Token::Identifier)) else { return };
        let name = match self.any(random, |piece| piece.token == Some(Token::Identifier)) {
            Some(other) if random.u8(..) < 200 => self.pieces[other].text.clone(),
            _ => self.name(random),
        };
        self.pieces[at].text = name;
    }

    fn change_guard(&mut self, statement: &Range<usize>, random: &mut Rng) {
        if self.pieces[statement.start].token == Some(Token::At) {
            if random.bool() {
                self.pieces.drain(statement.start..(statement.start + 2).min(statement.end));
            } else {
                self.insert(statement.start + 1, "", "!");
            }
            return;
        }
        let name = self.name(random);
        let negation = if random.bool() { "!" } else { "" };
        self.insert(statement.start, "\n", format!("@{negation}{name} "));
    }
}
