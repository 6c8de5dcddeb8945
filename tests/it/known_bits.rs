//! Known bits against brute force: random programs run on random inputs, and no bit that the
//! analysis claims to know may ever have another value.
//!
//! A program is made as text, which the library reads, and as a tree, which a direct interpreter
//! here runs; the two share nothing. After each instruction a tcgen05 instruction reads what was
//! written as its idesc (32 bits, or 16 of them) or b-desc (64 bits). Those are the probes.
//!
//! One rule of the analysis is no theorem: address arithmetic on a shared-memory descriptor, a
//! word with 0b001 in bits 46 to 48, does not carry out of its low word. The interpreter notices
//! when a run breaks that assumption, and such a run proves nothing. Constants with the mark are
//! rare, so that nearly every run counts; that is asserted, too.

use std::cell::Cell;
use std::fmt::Write as _;

use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::{TestError, TestRunner};
use ptx_tc::description::{Description, Word};
use ptx_tc::descriptor::Known;
use ptx_tc::diagnostic::{Code, Ptxas};
use ptx_tc::{Options, Source, check};

/// Threads that run a program together; `shfl` goes from one to the next.
const LANES: usize = 4;
/// Registers of 16, 32 and 64 bits, and predicates.
const COUNTS: [usize; 3] = [4, 6, 4];
const PREDICATES: usize = 3;

/// A register: its width in bits and its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Reg(u32, usize);

#[derive(Clone, Copy, Debug)]
enum Src {
    Reg(Reg),
    /// Written as a negative number where that is the shorter way to say it.
    Imm(u32, u64),
}

#[derive(Clone, Debug)]
enum Op {
    Mov(Reg, Src),
    Not(Reg, Src),
    Neg(Reg, Src),
    /// and, or, xor, add, sub, `mul.lo`
    Binary(&'static str, Reg, Src, Src),
    /// min, max, div, rem, of numbers with a sign or without.
    Whole(&'static str, bool, Reg, Src, Src),
    Brev(Reg, Src),
    /// To the left, or to the right; a position that is too large is cut, or counts as 32.
    Shf(bool, bool, Reg, Src, Src, Src),
    AddSat(Reg, Src, Src),
    MulHi(Reg, Src, Src),
    /// An addition with carry out, and one with carry in, to the next register.
    AddCarry(Reg, Reg, Src, Src),
    Shl(Reg, Src, Src),
    Shr(bool, Reg, Src, Src),
    MulWide(bool, Reg, Src, Src),
    MadLo(Reg, Src, Src, Src),
    MadWide(bool, Reg, Src, Src, Src),
    Bfe(bool, Reg, Src, Src, Src),
    Bfi(Reg, Src, Src, Src, Src),
    Prmt(Reg, Src, Src, Src),
    Lop3(Reg, Src, Src, Src, u8),
    Selp(Reg, Src, Src, usize),
    Setp(usize, &'static str, Src, Src),
    /// To and from a type of so many bits and this sign.
    Cvt(Reg, (bool, u32), (bool, u32), Reg),
    /// From the lowest bits up.
    Pack(Reg, Vec<Src>),
    /// Parts that are none are not wanted: `_`.
    Unpack(Vec<Option<Reg>>, Reg),
    /// From the window of shared memory or into it.
    Cvta(bool, Reg, Reg),
}

#[derive(Clone, Debug)]
enum Stmt {
    Op(Option<(bool, usize)>, Op),
    /// Takes the value of the next thread; with or without the predicate.
    Shfl(bool, Reg, Reg),
    If(usize, Vec<Stmt>, Vec<Stmt>),
    Loop(u8, Vec<Stmt>),
    /// A jump through a table.
    Switch(Reg, Vec<Vec<Stmt>>),
}

/// How a register starts.
#[derive(Clone, Copy, Debug)]
enum Init {
    Constant(u64),
    Input,
}

#[derive(Clone, Debug)]
struct Program {
    init: Vec<Init>,
    body: Vec<Stmt>,
}

// --- the program as text ---------------------------------------------------------------------

impl std::fmt::Display for Reg {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}", ["h", "r", "d"][file(self.0)], self.1)
    }
}

impl std::fmt::Display for Src {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Self::Reg(reg) => reg.fmt(f),
            Self::Imm(width, value) if sign_extend(value, width) < 0 => {
                write!(f, "{}", sign_extend(value, width))
            }
            Self::Imm(_, value) => write!(f, "{value:#x}"),
        }
    }
}

fn file(width: u32) -> usize {
    (width / 32) as usize
}

fn registers() -> impl Iterator<Item = Reg> {
    (0..3).flat_map(|file| (0..COUNTS[file]).map(move |index| Reg(16 << file, index)))
}

fn sign(signed: bool) -> char {
    if signed { 's' } else { 'u' }
}

impl Op {
    fn text(&self) -> String {
        match self {
            Self::Mov(d, a) => format!("mov.b{} {d}, {a};", d.0),
            Self::Not(d, a) => format!("not.b{} {d}, {a};", d.0),
            Self::Neg(d, a) => format!("neg.s{} {d}, {a};", d.0),
            Self::Binary(name, d, a, b) => {
                let letter = if matches!(*name, "and" | "or" | "xor") { 'b' } else { 'u' };
                format!("{name}.{letter}{} {d}, {a}, {b};", d.0)
            }
            Self::Whole(name, signed, d, a, b) => format!("{name}.{}{} {d}, {a}, {b};", sign(*signed), d.0),
            Self::Brev(d, a) => format!("brev.b{} {d}, {a};", d.0),
            Self::Shf(left, wrap, d, a, b, by) => {
                let direction = if *left { 'l' } else { 'r' };
                let overflow = if *wrap { "wrap" } else { "clamp" };
                format!("shf.{direction}.{overflow}.b32 {d}, {a}, {b}, {by};")
            }
            Self::AddSat(d, a, b) => format!("add.sat.s32 {d}, {a}, {b};"),
            Self::MulHi(d, a, b) => format!("mul.hi.u{} {d}, {a}, {b};", d.0),
            Self::AddCarry(d, e, a, b) => {
                format!("add.cc.u32 {d}, {a}, {b};\n    addc.u32 {e}, {e}, 0;")
            }
            Self::Shl(d, a, by) => format!("shl.b{} {d}, {a}, {by};", d.0),
            Self::Shr(signed, d, a, by) => format!("shr.{}{} {d}, {a}, {by};", sign(*signed), d.0),
            Self::MulWide(signed, d, a, b) => {
                format!("mul.wide.{}{} {d}, {a}, {b};", sign(*signed), d.0 / 2)
            }
            Self::MadLo(d, a, b, c) => format!("mad.lo.s{} {d}, {a}, {b}, {c};", d.0),
            Self::MadWide(signed, d, a, b, c) => {
                format!("mad.wide.{}{} {d}, {a}, {b}, {c};", sign(*signed), d.0 / 2)
            }
            Self::Bfe(signed, d, a, at, len) => {
                format!("bfe.{}{} {d}, {a}, {at}, {len};", sign(*signed), d.0)
            }
            Self::Bfi(d, a, b, at, len) => format!("bfi.b{} {d}, {a}, {b}, {at}, {len};", d.0),
            Self::Prmt(d, a, b, selector) => format!("prmt.b32 {d}, {a}, {b}, {selector};"),
            Self::Lop3(d, a, b, c, table) => format!("lop3.b32 {d}, {a}, {b}, {c}, {table:#x};"),
            Self::Selp(d, a, b, p) => format!("selp.b{} {d}, {a}, {b}, p{p};", d.0),
            Self::Setp(p, cmp, a, b) => format!("setp.{cmp}.s32 p{p}, {a}, {b};"),
            Self::Cvt(d, to, from, a) => {
                format!("cvt.{}{}.{}{} {d}, {a};", sign(to.0), to.1, sign(from.0), from.1)
            }
            Self::Pack(d, parts) => {
                let parts: Vec<String> = parts.iter().map(ToString::to_string).collect();
                format!("mov.b{} {d}, {{{}}};", d.0, parts.join(", "))
            }
            Self::Unpack(parts, a) => {
                let name = |part: &Option<Reg>| part.map_or("_".to_owned(), |part| part.to_string());
                let parts: Vec<String> = parts.iter().map(name).collect();
                format!("mov.b{} {{{}}}, {a};", a.0, parts.join(", "))
            }
            Self::Cvta(true, d, a) => format!("cvta.to.shared.u64 {d}, {a};"),
            Self::Cvta(false, d, a) => format!("cvta.shared.u64 {d}, {a};"),
        }
    }

    fn writes(&self) -> Vec<Reg> {
        match self {
            Self::Mov(d, ..)
            | Self::Not(d, ..)
            | Self::Neg(d, ..)
            | Self::Binary(_, d, ..)
            | Self::Whole(_, _, d, ..)
            | Self::Brev(d, ..)
            | Self::Shf(_, _, d, ..)
            | Self::AddSat(d, ..)
            | Self::MulHi(d, ..)
            | Self::Shl(d, ..)
            | Self::Shr(_, d, ..)
            | Self::MulWide(_, d, ..)
            | Self::MadLo(d, ..)
            | Self::MadWide(_, d, ..)
            | Self::Bfe(_, d, ..)
            | Self::Bfi(d, ..)
            | Self::Prmt(d, ..)
            | Self::Lop3(d, ..)
            | Self::Selp(d, ..)
            | Self::Cvt(d, ..)
            | Self::Pack(d, ..)
            | Self::Cvta(_, d, ..) => vec![*d],
            Self::AddCarry(d, e, ..) => vec![*d, *e],
            Self::Unpack(parts, _) => parts.iter().flatten().copied().collect(),
            Self::Setp(..) => Vec::new(),
        }
    }
}

/// Writes the text; probes are numbered in its order.
#[derive(Default)]
struct Writer {
    text: String,
    labels: usize,
}

impl Writer {
    fn program(program: &Program) -> String {
        let mut this = Self::default();
        this.line(
            ".version 9.0\n.target sm_100a\n.address_size 64\n.entry k(.param .align 8 .b8 in[1024])\n{",
        );
        this.line(".reg .pred p<3>, q<64>, e;\n.reg .b16 h<4>;\n.reg .b32 r<6>, n<64>, w, taddr;");
        this.line(".reg .b64 d<4>, adesc;");
        for (number, (reg, init)) in registers().zip(&program.init).enumerate() {
            match init {
                Init::Constant(value) => this.line(&format!("mov.b{} {reg}, {value:#x};", reg.0)),
                Init::Input => this.line(&format!("ld.param.b{} {reg}, [in+{}];", reg.0, 8 * number)),
            }
        }
        for p in 0..PREDICATES {
            this.line(&format!("ld.param.b32 n0, [in+{}];\n    setp.ne.s32 p{p}, n0, 0;", 512 + 8 * p));
        }
        this.statements(&program.body);
        registers().for_each(|reg| this.probe(reg));
        this.line("ret;\n}");
        this.text
    }

    fn line(&mut self, line: &str) {
        let _ = writeln!(self.text, "    {line}");
    }

    fn label(&mut self) -> usize {
        self.labels += 1;
        self.labels
    }

    fn probe(&mut self, reg: Reg) {
        match reg.0 {
            16 => {
                self.line(&format!("cvt.u32.u16 w, {reg};"));
                self.line("tcgen05.mma.cta_group::1.kind::f16 [taddr], adesc, adesc, w, e;");
            }
            32 => self.line(&format!("tcgen05.mma.cta_group::1.kind::f16 [taddr], adesc, adesc, {reg}, e;")),
            _ => self.line(&format!("tcgen05.mma.cta_group::1.kind::f16 [taddr], adesc, {reg}, taddr, e;")),
        }
    }

    fn statements(&mut self, body: &[Stmt]) {
        for stmt in body {
            match stmt {
                Stmt::Op(guard, op) => {
                    // A guard stands before each line of the text.
                    let guard = guard.map_or(String::new(), |(negated, p)| {
                        format!("@{}p{p} ", if negated { "!" } else { "" })
                    });
                    self.line(&format!("{guard}{}", op.text().replace("\n    ", &format!("\n    {guard}"))));
                    op.writes().into_iter().for_each(|reg| self.probe(reg));
                }
                Stmt::Shfl(pair, d, a) => {
                    let pair = if *pair { "|e" } else { "" };
                    self.line(&format!("shfl.sync.idx.b32 {d}{pair}, {a}, taddr, 31, -1;"));
                    self.probe(*d);
                }
                Stmt::If(p, then, otherwise) => {
                    let label = self.label();
                    self.line(&format!("@!p{p} bra ELSE{label};"));
                    self.statements(then);
                    self.line(&format!("bra.uni END{label};\nELSE{label}:"));
                    self.statements(otherwise);
                    self.line(&format!("END{label}:"));
                }
                Stmt::Loop(count, body) => {
                    let label = self.label();
                    self.line(&format!("mov.u32 n{label}, 0;\nL{label}:"));
                    self.statements(body);
                    self.line(&format!("add.u32 n{label}, n{label}, 1;"));
                    self.line(&format!(
                        "setp.lt.u32 q{label}, n{label}, {count};\n    @q{label} bra L{label};"
                    ));
                }
                Stmt::Switch(reg, arms) => {
                    let label = self.label();
                    let names: Vec<String> = (0..arms.len()).map(|arm| format!("ARM{label}_{arm}")).collect();
                    self.line(&format!("and.b32 n{label}, {reg}, {};", arms.len() - 1));
                    self.line(&format!("T{label}: .branchtargets {};", names.join(", ")));
                    self.line(&format!("brx.idx n{label}, T{label};"));
                    for (name, arm) in names.iter().zip(arms) {
                        self.line(&format!("{name}:"));
                        self.statements(arm);
                        self.line(&format!("bra END{label};"));
                    }
                    self.line(&format!("END{label}:"));
                }
            }
        }
    }
}

// --- the program run -------------------------------------------------------------------------

#[derive(Clone, Debug)]
struct State {
    files: [[u64; 6]; 3],
    predicates: [bool; PREDICATES],
    /// What `cvta` adds; nothing that a program knows.
    window: u64,
}

/// What the runs of all threads showed.
#[derive(Default)]
struct Observed {
    /// For each probe, in the order of the text, the values that it read.
    probes: Vec<Vec<u64>>,
    /// Whether arithmetic on a descriptor left its low word.
    carried: bool,
}

fn low(value: u64, width: u32) -> u64 {
    if width == 64 { value } else { value & ((1 << width) - 1) }
}

fn sign_extend(value: u64, width: u32) -> i64 {
    (value << (64 - width)).cast_signed() >> (64 - width)
}

fn extend(value: u64, width: u32, signed: bool) -> u64 {
    if signed { sign_extend(value, width).cast_unsigned() } else { low(value, width) }
}

/// One bit at a time, as the ISA describes `bfe`.
fn bfe(a: u64, at: u64, len: u64, width: u32, signed: bool) -> u64 {
    let (at, len, top) = (at & 0xFF, len & 0xFF, u64::from(width) - 1);
    let bit = |index: u64| a >> index & 1;
    let sign = if !signed || len == 0 { 0 } else { bit((at + len - 1).min(top)) };
    (0..=top).fold(0, |d, i| d | (if i < len && at + i <= top { bit(at + i) } else { sign }) << i)
}

fn bfi(a: u64, b: u64, at: u64, len: u64, width: u32) -> u64 {
    let (at, len) = (at & 0xFF, len & 0xFF);
    (0..len)
        .take_while(|i| at + i < u64::from(width))
        .fold(b, |f, i| f & !(1 << (at + i)) | (a >> i & 1) << (at + i))
}

fn prmt(a: u64, b: u64, selector: u64) -> u64 {
    let bytes =
        [a.to_le_bytes(), b.to_le_bytes()].map(|bytes| [bytes[0], bytes[1], bytes[2], bytes[3]]).concat();
    (0..4).fold(0, |d, i| {
        let select = selector >> (4 * i) & 0xF;
        let byte = bytes[(select & 7) as usize];
        let byte = if select < 8 {
            byte
        } else if byte >= 0x80 {
            0xFF
        } else {
            0
        };
        d | u64::from(byte) << (8 * i)
    })
}

impl State {
    fn get(&self, reg: Reg) -> u64 {
        self.files[file(reg.0)][reg.1]
    }

    fn set(&mut self, reg: Reg, value: u64) {
        self.files[file(reg.0)][reg.1] = low(value, reg.0);
    }

    fn src(&self, src: Src) -> u64 {
        match src {
            Src::Reg(reg) => self.get(reg),
            Src::Imm(width, value) => low(value, width),
        }
    }

    fn run(&mut self, op: &Op, carried: &mut bool) {
        match op {
            Op::Mov(d, a) => self.set(*d, self.src(*a)),
            Op::Not(d, a) => self.set(*d, !self.src(*a)),
            Op::Neg(d, a) => self.set(*d, 0u64.wrapping_sub(self.src(*a))),
            Op::Binary(name, d, a, b) => {
                let (a, b) = (self.src(*a), self.src(*b));
                let result = match *name {
                    "and" => a & b,
                    "or" => a | b,
                    "xor" => a ^ b,
                    "add" => a.wrapping_add(b),
                    "sub" => a.wrapping_sub(b),
                    "mul.lo" => a.wrapping_mul(b),
                    other => unreachable!("{other}"),
                };
                let left = |word: u64| word >> 46 & 7 == 1 && word >> 32 != result >> 32;
                if d.0 == 64 && matches!(*name, "or" | "add" | "sub") {
                    *carried |= left(a) || *name != "sub" && left(b);
                }
                self.set(*d, result);
            }
            Op::Whole(name, signed, d, a, b) => {
                let number = |src: Src| {
                    let word = self.src(src);
                    if *signed { i128::from(extend(word, d.0, true).cast_signed()) } else { i128::from(word) }
                };
                let (a, b) = (number(*a), number(*b));
                let result = match *name {
                    "min" => a.min(b),
                    "max" => a.max(b),
                    // Whatever that is.
                    "div" | "rem" if b == 0 => -1,
                    "div" => a / b,
                    "rem" => a % b,
                    other => unreachable!("{other}"),
                };
                self.set(*d, result as u64);
            }
            Op::Brev(d, a) => self.set(*d, self.src(*a).reverse_bits() >> (64 - d.0)),
            Op::Shf(left, wrap, d, a, b, by) => {
                let both = self.src(*b) << 32 | self.src(*a);
                let by = self.src(*by);
                let by = if *wrap { by % 32 } else { by.min(32) };
                self.set(*d, if *left { (both << by) >> 32 } else { both >> by });
            }
            Op::AddSat(d, a, b) => {
                let [a, b] = [*a, *b].map(|src| sign_extend(self.src(src), 32) as i32);
                self.set(*d, u64::from(a.saturating_add(b).cast_unsigned()));
            }
            Op::MulHi(d, a, b) => {
                let product = u128::from(self.src(*a)) * u128::from(self.src(*b));
                self.set(*d, (product >> d.0) as u64);
            }
            Op::AddCarry(d, e, a, b) => {
                let sum = self.src(*a) + self.src(*b);
                self.set(*d, sum);
                self.set(*e, self.get(*e) + (sum >> 32));
            }
            Op::Shl(d, a, by) => {
                let by = self.src(*by);
                self.set(*d, if by >= u64::from(d.0) { 0 } else { self.src(*a) << by });
            }
            Op::Shr(signed, d, a, by) => {
                let wide = i128::from(extend(self.src(*a), d.0, *signed).cast_signed());
                let wide = if *signed { wide } else { i128::from(self.src(*a)) };
                self.set(*d, (wide >> self.src(*by).min(64)) as u64);
            }
            Op::MulWide(signed, d, a, b) => {
                let [a, b] = [*a, *b].map(|src| extend(self.src(src), d.0 / 2, *signed));
                self.set(*d, a.wrapping_mul(b));
            }
            Op::MadLo(d, a, b, c) => {
                self.set(*d, self.src(*a).wrapping_mul(self.src(*b)).wrapping_add(self.src(*c)));
            }
            Op::MadWide(signed, d, a, b, c) => {
                let [a, b] = [*a, *b].map(|src| extend(self.src(src), d.0 / 2, *signed));
                self.set(*d, a.wrapping_mul(b).wrapping_add(self.src(*c)));
            }
            Op::Bfe(signed, d, a, at, len) => {
                self.set(*d, bfe(self.src(*a), self.src(*at), self.src(*len), d.0, *signed));
            }
            Op::Bfi(d, a, b, at, len) => {
                self.set(*d, bfi(self.src(*a), self.src(*b), self.src(*at), self.src(*len), d.0));
            }
            Op::Prmt(d, a, b, selector) => {
                self.set(*d, prmt(self.src(*a), self.src(*b), self.src(*selector)));
            }
            Op::Lop3(d, a, b, c, table) => {
                let [a, b, c] = [*a, *b, *c].map(|src| self.src(src));
                let bit =
                    |i: u32| u64::from(*table) >> ((a >> i & 1) << 2 | (b >> i & 1) << 1 | c >> i & 1) & 1;
                self.set(*d, (0..32).fold(0, |d, i| d | bit(i) << i));
            }
            Op::Selp(d, a, b, p) => self.set(*d, self.src(if self.predicates[*p] { *a } else { *b })),
            Op::Setp(p, cmp, a, b) => {
                let [a, b] = [*a, *b].map(|src| sign_extend(self.src(src), 32));
                self.predicates[*p] = match *cmp {
                    "eq" => a == b,
                    "lt" => a < b,
                    other => unreachable!("{other}"),
                };
            }
            Op::Cvt(d, to, from, a) => {
                let value = low(extend(self.get(*a), from.1, from.0), to.1);
                // A wider register gets the result extended, by its sign if it has one.
                self.set(*d, extend(value, to.1, to.0));
            }
            Op::Pack(d, parts) => {
                let width = d.0 / parts.len() as u32;
                let packed = parts.iter().rev().fold(0, |packed, part| packed << width | self.src(*part));
                self.set(*d, packed);
            }
            Op::Unpack(parts, a) => {
                let (value, width) = (self.get(*a), a.0 / parts.len() as u32);
                for (at, part) in
                    parts.iter().enumerate().filter_map(|(at, part)| Some((at as u32, (*part)?)))
                {
                    self.set(part, value >> (at * width));
                }
            }
            Op::Cvta(into, d, a) => {
                let window = if *into { 0u64.wrapping_sub(self.window) } else { self.window };
                self.set(*d, self.get(*a).wrapping_add(window));
            }
        }
    }
}

/// Runs statements; `next` is the number of the next probe in the text.
struct Runner<'a> {
    observed: &'a mut Observed,
    next: usize,
}

impl Runner<'_> {
    fn probe(&mut self, reg: Reg, threads: &[&mut State]) {
        if self.observed.probes.len() <= self.next {
            self.observed.probes.resize(self.next + 1, Vec::new());
        }
        self.observed.probes[self.next].extend(threads.iter().map(|thread| thread.get(reg)));
        self.next += 1;
    }

    /// The statements for these threads, which may be none: probes are counted in any case.
    fn run(&mut self, body: &[Stmt], threads: &mut [&mut State]) {
        for stmt in body {
            match stmt {
                Stmt::Op(guard, op) => {
                    for thread in threads.iter_mut() {
                        if guard.is_none_or(|(negated, p)| thread.predicates[p] != negated) {
                            thread.run(op, &mut self.observed.carried);
                        }
                    }
                    op.writes().into_iter().for_each(|reg| self.probe(reg, threads));
                }
                Stmt::Shfl(_, d, a) => {
                    let values: Vec<u64> = threads.iter().map(|thread| thread.get(*a)).collect();
                    for (lane, thread) in threads.iter_mut().enumerate() {
                        thread.set(*d, values[(lane + 1) % values.len()]);
                    }
                    self.probe(*d, threads);
                }
                Stmt::If(p, then, otherwise) => {
                    let branches = threads.iter().map(|thread| usize::from(!thread.predicates[*p]));
                    self.branch(&branches.collect::<Vec<_>>(), &[then, otherwise], threads);
                }
                Stmt::Loop(count, body) => {
                    let start = self.next;
                    for _ in 0..*count {
                        self.next = start;
                        self.run(body, threads);
                    }
                }
                Stmt::Switch(reg, arms) => {
                    let last = arms.len() as u64 - 1;
                    let branches = threads.iter().map(|thread| (thread.get(*reg) & last) as usize);
                    let bodies: Vec<&Vec<Stmt>> = arms.iter().collect();
                    self.branch(&branches.collect::<Vec<_>>(), &bodies, threads);
                }
            }
        }
    }

    fn branch(&mut self, taken: &[usize], bodies: &[&Vec<Stmt>], threads: &mut [&mut State]) {
        for (number, body) in bodies.iter().enumerate() {
            let mut some: Vec<&mut State> = threads
                .iter_mut()
                .zip(taken)
                .filter(|(_, taken)| **taken == number)
                .map(|(thread, _)| &mut **thread)
                .collect();
            self.run(body, &mut some);
        }
    }
}

fn observe(program: &Program, inputs: &[[u64; 18]; LANES]) -> Observed {
    let mut threads = inputs.map(|input| {
        let predicates = std::array::from_fn(|p| input[14 + p] & 1 == 1);
        let mut state = State { files: [[0; 6]; 3], predicates, window: input[17] };
        for (index, (reg, init)) in registers().zip(&program.init).enumerate() {
            state.set(
                reg,
                match init {
                    Init::Constant(value) => *value,
                    Init::Input => input[index],
                },
            );
        }
        state
    });
    let mut observed = Observed::default();
    let mut threads: Vec<&mut State> = threads.iter_mut().collect();
    let mut runner = Runner { observed: &mut observed, next: 0 };
    runner.run(&program.body, &mut threads);
    registers().for_each(|reg| runner.probe(reg, &threads));
    observed
}

/// What the library claims to know at each probe, and how wide that is.
fn claims(text: &str) -> Vec<(Known, u32)> {
    let source = Source::new("program.ptx", text).unwrap();
    let report = check(&source, &Options { describe: true, ..Options::default() });
    // Fields past 255 are what is tried; the assembler refuses them where they are immediates.
    let is_broken = |code: Code, ptxas: Ptxas| ptxas == Ptxas::Rejects && code != Code::ImmediateOutOfRange;
    let broken = report.diagnostics.iter().find(|finding| is_broken(finding.code, finding.ptxas));
    assert!(broken.is_none(), "{broken:?}\n{text}");
    let claim = |probe: &Description| {
        // What does not matter is a register that nothing sets.
        let probed = |word: &&Word| !["adesc", "taddr"].contains(&source.slice(word.span));
        let word = probe.words.iter().find(probed).unwrap();
        let width = if source.slice(word.span).starts_with('w') { 16 } else { word.width };
        (word.known, width)
    };
    report.descriptors.unwrap().iter().map(claim).collect()
}

// --- random programs -------------------------------------------------------------------------

fn reg(width: u32) -> impl Strategy<Value = Reg> + Clone {
    (0..COUNTS[file(width)]).prop_map(move |index| Reg(width, index))
}

/// Words that are not all noise: small numbers, single bits, runs of ones; seldom a descriptor.
fn word() -> impl Strategy<Value = u64> {
    let plain = prop_oneof![
        0..64u64,
        any::<u64>(),
        any::<u32>().prop_map(u64::from),
        (0..64u32).prop_map(|bit| 1 << bit),
        (0..64u32, 0..64u32).prop_map(|(at, len)| ((1u64 << len) - 1) << at),
        (1..64u64).prop_map(|value| 0u64.wrapping_sub(value)),
    ]
    .prop_map(|word| if word >> 46 & 7 == 1 { word ^ 1 << 47 } else { word });
    let descriptor = any::<u64>().prop_map(|word| word & !(7 << 46 | 0xFFFF_0000) | 1 << 46);
    prop_oneof![30 => plain, 1 => descriptor]
}

fn src(width: u32) -> impl Strategy<Value = Src> + Clone {
    let word = word().boxed();
    prop_oneof![
        3 => reg(width).prop_map(Src::Reg),
        2 => word.prop_map(move |value| Src::Imm(width, low(value, width))),
    ]
}

/// A position or length: nearly always a constant, mostly one that means something.
fn count() -> impl Strategy<Value = Src> + Clone {
    prop_oneof![
        8 => (0..40u64).prop_map(|value| Src::Imm(32, value)),
        2 => (0..300u64).prop_map(|value| Src::Imm(32, value)),
        2 => reg(32).prop_map(Src::Reg),
    ]
}

fn predicate() -> impl Strategy<Value = usize> + Clone {
    0..PREDICATES
}

/// What the analysis follows.
fn followed() -> impl Strategy<Value = Op> {
    let width = || select(vec![16u32, 32, 64]);
    let wide = || select(vec![32u32, 64]);
    let binary = select(vec!["and", "or", "xor", "add", "sub", "mul.lo"]);
    prop_oneof![
        1 => width().prop_flat_map(|w| (reg(w), src(w)).prop_map(|(d, a)| Op::Mov(d, a))),
        1 => width().prop_flat_map(|w| (reg(w), src(w)).prop_map(|(d, a)| Op::Not(d, a))),
        1 => width().prop_flat_map(|w| (reg(w), src(w)).prop_map(|(d, a)| Op::Neg(d, a))),
        6 => (binary, width()).prop_flat_map(|(name, w)| {
            (reg(w), src(w), src(w)).prop_map(move |(d, a, b)| Op::Binary(name, d, a, b))
        }),
        2 => width().prop_flat_map(|w| (reg(w), src(w), count()).prop_map(|(d, a, by)| Op::Shl(d, a, by))),
        2 => (any::<bool>(), width()).prop_flat_map(|(signed, w)| {
            (reg(w), src(w), count()).prop_map(move |(d, a, by)| Op::Shr(signed, d, a, by))
        }),
        1 => (any::<bool>(), wide()).prop_flat_map(|(signed, w)| {
            (reg(w), src(w / 2), src(w / 2)).prop_map(move |(d, a, b)| Op::MulWide(signed, d, a, b))
        }),
        1 => width().prop_flat_map(|w| {
            (reg(w), src(w), src(w), src(w)).prop_map(|(d, a, b, c)| Op::MadLo(d, a, b, c))
        }),
        1 => (any::<bool>(), wide()).prop_flat_map(|(signed, w)| {
            (reg(w), src(w / 2), src(w / 2), src(w))
                .prop_map(move |(d, a, b, c)| Op::MadWide(signed, d, a, b, c))
        }),
        2 => (any::<bool>(), wide()).prop_flat_map(|(signed, w)| {
            (reg(w), src(w), count(), count())
                .prop_map(move |(d, a, at, len)| Op::Bfe(signed, d, a, at, len))
        }),
        2 => wide().prop_flat_map(|w| {
            (reg(w), src(w), src(w), count(), count())
                .prop_map(|(d, a, b, at, len)| Op::Bfi(d, a, b, at, len))
        }),
        2 => (reg(32), src(32), src(32), src(32)).prop_map(|(d, a, b, c)| Op::Prmt(d, a, b, c)),
        2 => (select(vec!["min", "max", "div", "rem"]), any::<bool>(), width()).prop_flat_map(
            |(name, signed, w)| {
                (reg(w), src(w), src(w)).prop_map(move |(d, a, b)| Op::Whole(name, signed, d, a, b))
            }
        ),
        1 => wide().prop_flat_map(|w| (reg(w), src(w)).prop_map(|(d, a)| Op::Brev(d, a))),
        1 => (any::<bool>(), any::<bool>(), reg(32), src(32), src(32), count())
            .prop_map(|(left, wrap, d, a, b, by)| Op::Shf(left, wrap, d, a, b, by)),
        1 => (reg(32), src(32), src(32), src(32), any::<u8>())
            .prop_map(|(d, a, b, c, table)| Op::Lop3(d, a, b, c, table)),
        1 => width().prop_flat_map(|w| {
            (reg(w), src(w), src(w), predicate()).prop_map(|(d, a, b, p)| Op::Selp(d, a, b, p))
        }),
        3 => cvt(),
        2 => pack(),
        2 => unpack(),
    ]
}

fn cvt() -> impl Strategy<Value = Op> {
    let ty = || (any::<bool>(), select(vec![8u32, 16, 32, 64]));
    // A register may be wider than the type.
    let holder = |bits: u32, wider: bool| if wider { (bits * 2).clamp(16, 64) } else { bits.max(16) };
    (ty(), ty(), any::<(bool, bool)>()).prop_flat_map(move |(to, from, (wider_d, wider_a))| {
        (reg(holder(to.1, wider_d)), reg(holder(from.1, wider_a)))
            .prop_map(move |(d, a)| Op::Cvt(d, to, from, a))
    })
}

/// The widths of a whole and of its parts.
fn division() -> impl Strategy<Value = (u32, u32)> {
    select(vec![(32, 16), (64, 32), (64, 16)])
}

fn pack() -> impl Strategy<Value = Op> {
    division().prop_flat_map(|(whole, part)| {
        let parts = prop::collection::vec(src(part), (whole / part) as usize);
        (reg(whole), parts).prop_map(|(d, parts)| Op::Pack(d, parts))
    })
}

fn unpack() -> impl Strategy<Value = Op> {
    division().prop_flat_map(|(whole, part)| {
        let parts = prop::collection::vec(any::<(bool, Index)>(), (whole / part) as usize);
        (parts, reg(whole)).prop_map(move |(wanted, a)| {
            // No register twice.
            let mut free: Vec<Reg> = (0..COUNTS[file(part)]).map(|index| Reg(part, index)).collect();
            let parts =
                wanted.iter().map(|(wanted, index)| wanted.then(|| free.remove(index.index(free.len()))));
            let parts: Vec<Option<Reg>> = parts.collect();
            if parts.iter().all(Option::is_none) {
                return Op::Unpack(
                    std::iter::repeat_n(None, parts.len() - 1).chain([Some(Reg(part, 0))]).collect(),
                    a,
                );
            }
            Op::Unpack(parts, a)
        })
    })
}

/// What it does not follow, or follows only half.
fn other() -> impl Strategy<Value = Op> {
    let width = || select(vec![16u32, 32, 64]);
    prop_oneof![
        1 => width().prop_flat_map(|w| (reg(w), src(w), src(w)).prop_map(|(d, a, b)| Op::MulHi(d, a, b))),
        1 => (reg(32), src(32), src(32)).prop_map(|(d, a, b)| Op::AddSat(d, a, b)),
        1 => (0..3usize, 3..6usize, src(32), src(32))
            .prop_map(|(d, e, a, b)| Op::AddCarry(Reg(32, d), Reg(32, e), a, b)),
        1 => (any::<bool>(), reg(64), reg(64)).prop_map(|(into, d, a)| Op::Cvta(into, d, a)),
        2 => (predicate(), select(vec!["eq", "lt"]), src(32), src(32))
            .prop_map(|(p, cmp, a, b)| Op::Setp(p, cmp, a, b)),
    ]
}

fn block(depth: u32) -> BoxedStrategy<Vec<Stmt>> {
    let guard = prop::option::weighted(0.2, (any::<bool>(), predicate()));
    let op = (guard, prop_oneof![8 => followed(), 1 => other()]).prop_map(|(guard, op)| Stmt::Op(guard, op));
    if depth == 0 {
        return prop::collection::vec(op, 0..5).boxed();
    }
    let inner = || block(depth - 1);
    let stmt = prop_oneof![
        12 => op,
        1 => (predicate(), inner(), inner()).prop_map(|(p, then, otherwise)| Stmt::If(p, then, otherwise)),
        1 => (1..4u8, inner()).prop_map(|(count, body)| Stmt::Loop(count, body)),
        1 => (reg(32), prop_oneof![
            prop::collection::vec(inner(), 2),
            prop::collection::vec(inner(), 4),
        ]).prop_map(|(reg, arms)| Stmt::Switch(reg, arms)),
    ];
    prop::collection::vec(stmt, 1..10).boxed()
}

fn any_program() -> impl Strategy<Value = Program> {
    let count = COUNTS.iter().sum::<usize>();
    let init = prop_oneof![Just(Init::Input), word().prop_map(Init::Constant)];
    // Threads meet between the top-level statements only; there they can exchange values.
    let shfl = (any::<bool>(), reg(32), reg(32)).prop_map(|(pair, d, a)| vec![Stmt::Shfl(pair, d, a)]);
    let parts = prop::collection::vec(prop_oneof![4 => block(2), 1 => shfl], 1..4);
    (prop::collection::vec(init, count), parts).prop_map(|(init, parts)| {
        let init = registers().zip(init).map(|(reg, init)| match init {
            Init::Constant(value) => Init::Constant(low(value, reg.0)),
            Init::Input => Init::Input,
        });
        Program { init: init.collect(), body: parts.concat() }
    })
}

/// Nothing but constants and what the analysis follows, without a branch.
fn constant_program() -> impl Strategy<Value = Program> {
    let count = COUNTS.iter().sum::<usize>();
    (prop::collection::vec(word(), count), prop::collection::vec(followed(), 1..20)).prop_map(
        |(init, ops)| {
            let init = registers().zip(init).map(|(reg, value)| Init::Constant(low(value, reg.0)));
            Program { init: init.collect(), body: ops.into_iter().map(|op| Stmt::Op(None, op)).collect() }
        },
    )
}

/// Runs many programs; the share of bits that were claimed, and of runs that counted.
fn brute_force(cases: u32, programs: impl Strategy<Value = Program>) -> (f64, f64) {
    let (known, bits, judged, runs) = (Cell::new(0u64), Cell::new(0u64), Cell::new(0u32), Cell::new(0u32));
    // More of them with PROPTEST_CASES.
    let config = ProptestConfig::default();
    let config = ProptestConfig { cases: cases.max(config.cases), failure_persistence: None, ..config };
    let result =
        TestRunner::new(config).run(&(programs, any::<[[u64; 18]; LANES]>()), |(program, inputs)| {
            let observed = observe(&program, &inputs);
            runs.set(runs.get() + 1);
            if observed.carried {
                return Ok(());
            }
            judged.set(judged.get() + 1);
            let text = Writer::program(&program);
            let claims = claims(&text);
            prop_assert_eq!(claims.len(), observed.probes.len());
            for (number, ((claim, width), values)) in claims.iter().zip(&observed.probes).enumerate() {
                let claimed = low(claim.mask, *width);
                known.set(known.get() + u64::from(claimed.count_ones()));
                bits.set(bits.get() + u64::from(*width));
                for value in values {
                    let wrong = (value ^ claim.value) & claimed;
                    prop_assert!(
                        wrong == 0,
                        "probe {number} read {value:#x}, but {:#x} was claimed of the bits {claimed:#x}; \
                     wrong are {wrong:#x}\n{text}",
                        claim.value,
                    );
                }
            }
            Ok(())
        });
    // The reason has the program; the tree that made it says no more.
    match result {
        Ok(()) => {}
        Err(TestError::Fail(reason, _) | TestError::Abort(reason)) => panic!("{reason}"),
    }
    (known.get() as f64 / bits.get() as f64, f64::from(judged.get()) / f64::from(runs.get()))
}

#[test]
fn no_proved_bit_is_ever_wrong() {
    let (known, judged) = brute_force(4_000, any_program());
    println!("{known:.3} of the bits known, {judged:.3} of the runs judged");
    assert!(known > 0.2, "{known:.3} of the bits known");
    assert!(judged > 0.8, "{judged:.3} of the runs judged");
}

#[test]
fn constants_are_followed() {
    let (known, judged) = brute_force(1_000, constant_program());
    println!("{known:.3} of the bits known, {judged:.3} of the runs judged");
    assert!(known > 0.95, "{known:.3} of the bits known");
    assert!(judged > 0.8, "{judged:.3} of the runs judged");
}

/// A parameter has a value before the function's first instruction, and what stands outside of
/// functions gets one anywhere.
#[test]
fn values_from_elsewhere() {
    let module = |outside: &str, parameter: &str, inside: &str| {
        let text = format!(
            ".version 9.0\n.target sm_100a\n.address_size 64\n{outside}\n.func f({parameter})\n{{\n    \
             .reg .pred p, e;\n    .reg .b32 taddr;\n    .reg .b64 adesc;\n    {inside}\n    \
             @p mov.b32 word, 5;\n    \
             tcgen05.mma.cta_group::1.kind::f16 [taddr], adesc, adesc, word, e;\n    ret;\n}}\n"
        );
        low(claims(&text)[0].0.mask, 32)
    };
    let word = ".reg .b32 word";
    assert_eq!(module("", word, ""), 0);
    assert_eq!(module(&format!("{word};"), "", ""), 0);
    assert_eq!(module("", "", &format!("{word};")), low(u64::MAX, 32));
}

/// Only a number of 32 bits is taken for an offset to a descriptor; what is made for the high word
/// fills in its fields.
#[test]
fn fields_of_descriptors_are_no_offsets() {
    let high_word = |offset: &str| {
        let text = format!(
            ".version 9.0\n.target sm_100a\n.address_size 64\n.entry k(.param .b64 in)\n{{\n    \
             .reg .pred e;\n    .reg .b32 r, s, taddr;\n    .reg .b64 adesc, word, offset;\n    \
             ld.param.b64 word, [in];\n    cvt.u32.u64 r, word;\n    {offset}\n    \
             or.b64 offset, offset, 0x4000404000010000;\n    \
             tcgen05.mma.cta_group::1.kind::f16 [taddr], adesc, offset, taddr, e;\n    ret;\n}}\n"
        );
        claims(&text)[0].0.mask >> 32
    };
    let all = low(u64::MAX, 32);
    for offset in [
        "shr.s32 s, r, 4; cvt.s64.s32 offset, s;",
        "mul.wide.s32 offset, r, 64;",
        "mul.wide.s32 offset, r, 64; add.s64 offset, offset, -2;",
        "and.b64 offset, word, 0x3ffff; shr.u64 offset, offset, 4;",
    ] {
        assert_eq!(high_word(offset), all, "{offset}");
    }
    for field in [
        "mov.b64 offset, word;",
        "shl.b64 offset, word, 32;",
        "cvt.u64.u32 offset, r; shl.b64 offset, offset, 32;",
    ] {
        assert_ne!(high_word(field), all, "{field}");
    }
}
