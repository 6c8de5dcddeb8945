//! What the analyses say of numbers, against what the simulator computes, which is held against hardware: single
//! instructions on numbers at the edges of what they take. A finding about the lanes of a warp, or about the rounds of
//! a loop, is only made where the numbers bear it out.

use ptx_check::resolve::operations::Opcode;
use ptx_tc::simulation::arithmetic::Lanes;
use ptx_tc::{Options, Source, check};

/// Opcodes, the width of their destination, and of their sources; 1 is a predicate.
const FORMS: &[(&str, u32, &[u32])] = &[
    ("mov.b32", 32, &[32]),
    ("not.b32", 32, &[32]),
    ("neg.s32", 32, &[32]),
    ("and.b32", 32, &[32, 32]),
    ("or.b32", 32, &[32, 32]),
    ("xor.b64", 64, &[64, 64]),
    ("lop3.b32", 32, &[32, 32, 32, 0]),
    ("shl.b16", 16, &[16, 32]),
    ("shl.b32", 32, &[32, 32]),
    ("shl.b64", 64, &[64, 32]),
    ("shr.u16", 16, &[16, 32]),
    ("shr.s16", 16, &[16, 32]),
    ("shr.u32", 32, &[32, 32]),
    ("shr.s32", 32, &[32, 32]),
    ("shr.u64", 64, &[64, 32]),
    ("shr.s64", 64, &[64, 32]),
    ("shf.l.wrap.b32", 32, &[32, 32, 32]),
    ("shf.l.clamp.b32", 32, &[32, 32, 32]),
    ("shf.r.wrap.b32", 32, &[32, 32, 32]),
    ("shf.r.clamp.b32", 32, &[32, 32, 32]),
    ("bfe.u32", 32, &[32, 32, 32]),
    ("bfe.s32", 32, &[32, 32, 32]),
    ("bfe.u64", 64, &[64, 32, 32]),
    ("bfe.s64", 64, &[64, 32, 32]),
    ("bfi.b32", 32, &[32, 32, 32, 32]),
    ("bfi.b64", 64, &[64, 64, 32, 32]),
    ("prmt.b32", 32, &[32, 32, 32]),
    ("prmt.b32.f4e", 32, &[32, 32, 32]),
    ("prmt.b32.rc16", 32, &[32, 32, 32]),
    ("brev.b32", 32, &[32]),
    ("brev.b64", 64, &[64]),
    ("popc.b32", 32, &[32]),
    ("clz.b32", 32, &[32]),
    ("bmsk.clamp.b32", 32, &[32, 32]),
    ("szext.wrap.s32", 32, &[32, 32]),
    ("add.u16", 16, &[16, 16]),
    ("add.s32", 32, &[32, 32]),
    ("add.sat.s32", 32, &[32, 32]),
    ("add.u64", 64, &[64, 64]),
    ("sub.u32", 32, &[32, 32]),
    ("sub.s64", 64, &[64, 64]),
    ("mul.lo.u16", 16, &[16, 16]),
    ("mul.hi.u16", 16, &[16, 16]),
    ("mul.lo.s32", 32, &[32, 32]),
    ("mul.hi.u32", 32, &[32, 32]),
    ("mul.hi.s32", 32, &[32, 32]),
    ("mul.hi.u64", 64, &[64, 64]),
    ("mul.wide.u32", 64, &[32, 32]),
    ("mul.wide.s32", 64, &[32, 32]),
    ("mul.wide.s16", 32, &[16, 16]),
    ("mad.lo.s32", 32, &[32, 32, 32]),
    ("mad.hi.u32", 32, &[32, 32, 32]),
    ("mad.wide.u32", 64, &[32, 32, 64]),
    ("mad.wide.s32", 64, &[32, 32, 64]),
    ("mul24.lo.u32", 32, &[32, 32]),
    ("div.u32", 32, &[32, 32]),
    ("div.s32", 32, &[32, 32]),
    ("div.u16", 16, &[16, 16]),
    ("rem.u32", 32, &[32, 32]),
    ("rem.s32", 32, &[32, 32]),
    ("rem.u64", 64, &[64, 64]),
    ("min.u32", 32, &[32, 32]),
    ("min.s32", 32, &[32, 32]),
    ("max.s16", 16, &[16, 16]),
    ("max.u64", 64, &[64, 64]),
    ("cvt.u32.u16", 32, &[16]),
    ("cvt.s32.s16", 32, &[16]),
    ("cvt.u64.u32", 64, &[32]),
    ("cvt.s64.s32", 64, &[32]),
    ("cvt.u32.u64", 32, &[64]),
    ("cvt.u16.u32", 16, &[32]),
    ("cvt.u32.u8", 32, &[32]),
    ("cvt.s32.s8", 32, &[32]),
    ("cvt.s8.s32", 32, &[32]),
    ("cvt.u8.u8", 32, &[32]),
    ("cvt.s16.u16", 32, &[32]),
    ("cvt.u64.u32", 64, &[64]),
    ("cvt.s64.s32", 64, &[64]),
    ("cvt.sat.s8.s32", 32, &[32]),
    ("selp.b32", 32, &[32, 32, 1]),
    ("selp.b64", 64, &[64, 64, 1]),
    ("slct.u32.s32", 32, &[32, 32, 32]),
];

const EDGES: &[u64] = &[
    0,
    1,
    2,
    3,
    5,
    15,
    16,
    17,
    31,
    32,
    33,
    63,
    64,
    65,
    255,
    256,
    257,
    261,
    0x3210,
    0x7654,
    0x8888,
    0xFFFF,
    0x1_0000,
    0x1_0005,
    0x7FFF_FFFF,
    0x8000_0000,
    0x8000_0001,
    0xFFFF_FFFF,
    0x1_0000_0000,
    0x1_0000_0001,
    0x8000_0000_0000_0000,
    0xFFFF_FFFF_0000_0000,
    0xFFFF_FFFF_FFFF_FFFF,
];

/// A table of `lop3`.
const TABLE: u64 = 0x96;

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn below(&mut self, count: usize) -> usize {
        self.next() as usize % count
    }

    fn edge(&mut self) -> u64 {
        if self.below(4) == 0 { self.next() << 1 } else { EDGES[self.below(EDGES.len())] }
    }
}

fn low(value: u64, width: u32) -> u64 {
    if width == 64 { value } else { value & ((1 << width) - 1) }
}

/// A source: a number for each thread, or round, and the statements that make it from `i`, which counts them.
struct Input {
    text: String,
    numbers: Vec<u64>,
}

/// A source in the register `s<number>`, of so many bits, made of `i`.
fn source(random: &mut Random, number: usize, width: u32, count: u64, counts: bool) -> Input {
    let prefix = prefix(width);
    let register = format!("{prefix}{number}");
    if width == 0 {
        return Input { text: String::new(), numbers: vec![TABLE; count as usize] };
    }
    if width == 1 {
        let below = random.below(5) as u64;
        let text = format!("    setp.lt.u32 {register}, i, {below};\n");
        return Input { text, numbers: (0..count).map(|i| u64::from(i < below)).collect() };
    }
    let base = random.edge();
    let factor = if counts { [1, 1, 2, 32, 0x4000_0000][random.below(5)] } else { 0 };
    let numbers = (0..count).map(|i| low(base.wrapping_add(i * factor), width)).collect();
    let base = low(base, width);
    let text = match (width, factor) {
        (_, 0) => format!("    mov.b{width} {register}, {base:#x};\n"),
        (16, _) => format!(
            "    mul.lo.u32 c, i, {factor};\n    cvt.u16.u32 {register}, c;\n    add.u16 {register}, {register}, {base:#x};\n"
        ),
        (32, _) => {
            format!("    mul.lo.u32 c, i, {factor};\n    add.u32 {register}, c, {base:#x};\n")
        }
        _ => format!(
            "    mul.lo.u32 c, i, {factor};\n    cvt.u64.u32 {register}, c;\n    add.u64 {register}, {register}, {base:#x};\n"
        ),
    };
    Input { text, numbers }
}

fn prefix(width: u32) -> char {
    match width {
        1 => 'q',
        16 => 'h',
        32 => 'r',
        _ => 'd',
    }
}

/// Statements that compute something of `i` in a register `x` of the returned width, and what that is for each `i`.
fn computed(random: &mut Random, count: u64) -> (String, u32, Vec<u64>) {
    let (opcode, to, widths) = FORMS[random.below(FORMS.len())];
    let counting = random.below(widths.len());
    let sources: Vec<Input> = widths
        .iter()
        .enumerate()
        .map(|(at, width)| source(random, at, *width, count, at == counting || *width == 1))
        .collect();
    let mut text: String = sources.iter().map(|it| it.text.as_str()).collect();
    let operand = |(at, width): (usize, &u32)| match width {
        0 => format!("{TABLE:#x}"),
        width => format!("{}{at}", prefix(*width)),
    };
    let operands: Vec<String> = widths.iter().enumerate().map(operand).collect();
    text += &format!("    {opcode} x{to}, {};\n", operands.join(", "));
    let arithmetic = Opcode::new(opcode).arithmetic().unwrap().unwrap().widened(to);
    let results = (0..count)
        .map(|i| {
            let sources: Vec<Lanes> = sources.iter().map(|it| [it.numbers[i as usize]; 32]).collect();
            let mut result = [[0; 32]];
            arithmetic.execute(
                u32::MAX,
                &sources.iter().collect::<Vec<_>>(),
                &mut result.iter_mut().collect::<Vec<_>>(),
            );
            low(result[0][0], to)
        })
        .collect();
    (text, to, results)
}

const REGISTERS: &str = "    .reg .b16 h<4>, x16;\n    .reg .b32 i, c, n, t, v, taddr, r<4>, x32;\n    .reg .b64 d<4>, w, x64;\n    .reg .pred p, more, q<4>;\n    .shared .align 4 .b32 slot;\n";

fn codes(text: &str) -> Vec<&'static str> {
    let source = Source::new("k.ptx", text).unwrap();
    let found = check(&source, &Options::default()).diagnostics;
    for finding in &found {
        let code = finding.code.as_str();
        assert!(!code.starts_with("TC0") && !code.starts_with("TC1"), "{code} {}\n{text}", finding.message);
    }
    found.iter().map(|finding| finding.code.as_str()).collect()
}

#[test]
fn parts_of_warps_are_parts() {
    const THREADS: u64 = 64;
    let mut random = Random(1);
    let (mut found, mut there) = (0, 0);
    for _ in 0..1500 {
        let (statements, width, results) = computed(&mut random, THREADS);
        let with = results[random.below(THREADS as usize)];
        let module = format!(
            ".version 9.0\n.target sm_100a\n.visible .entry k() .reqntid {THREADS}\n{{\n{REGISTERS}    mov.u32 i, %tid.x;\n\
             {statements}    setp.eq.b{width} p, x{width}, {with:#x};\n    @p tcgen05.wait::ld.sync.aligned;\n    ret;\n}}\n"
        );
        let is_part = results.chunks(32).any(|warp| {
            let those = warp.iter().filter(|it| **it == with).count();
            those != 0 && those != 32
        });
        let codes = codes(&module);
        let is_found = codes.iter().any(|code| matches!(*code, "TC801" | "TC805"));
        assert!(is_part || !is_found, "{codes:?}\n{module}");
        found += u32::from(is_found);
        there += u32::from(is_part);
    }
    assert!(found * 2 > there, "{found} of {there} are found");
}

#[test]
fn rounds_compute_what_they_compute() {
    const ROUNDS: u64 = 4;
    let mut random = Random(2);
    let (mut found, mut there) = (0, 0);
    for _ in 0..1500 {
        let (statements, width, results) = computed(&mut random, ROUNDS);
        let bit = random.below(width as usize);
        let word = match width {
            16 => "    cvt.u32.u16 v, x16;\n".to_owned() + &format!("    shr.u32 v, v, {bit};\n"),
            32 => format!("    shr.u32 v, x32, {bit};\n"),
            _ => format!("    shr.u64 w, x64, {bit};\n    cvt.u32.u64 v, w;\n"),
        };
        let module = format!(
            ".version 9.0\n.target sm_100a\n.visible .entry k() .reqntid 32\n{{\n{REGISTERS}    mov.b32 i, 0;\nROUND:\n\
             {statements}{word}    and.b32 v, v, 1;\n    shl.b32 n, 32, v;\n\
             \x20   tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], n;\n    ld.shared.b32 taddr, [slot];\n\
             \x20   tcgen05.dealloc.cta_group::1.sync.aligned.b32 taddr, n;\n    add.u32 i, i, 1;\n\
             \x20   setp.lt.u32 more, i, {ROUNDS};\n    @more bra ROUND;\n\
             \x20   tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\n    ret;\n}}\n"
        );
        let sizes: Vec<u64> = results.iter().map(|it| it >> bit & 1).collect();
        let shrinks = sizes.is_sorted_by(|a, b| a >= b);
        let codes = codes(&module);
        let is_found = codes.contains(&"TC302");
        assert!(!shrinks || !is_found, "{codes:?} {sizes:?}\n{module}");
        found += u32::from(is_found);
        there += u32::from(!shrinks);
    }
    assert!(found * 5 > there, "{found} of {there} are found");
}
