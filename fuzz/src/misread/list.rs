//! What is misread.

use crate::simulated::body::{Body, Edit, Statement, guard, moved};

/// A class of misreadings.
#[derive(Debug)]
pub struct Misreading {
    /// The field.
    pub name: &'static str,
    places: fn(&Body<'_>) -> Vec<Change>,
}

impl Misreading {
    /// Its places in a kernel.
    pub(super) fn places(&self, body: &Body<'_>) -> Vec<Change> {
        (self.places)(body)
    }
}

/// A field changed in one place.
#[derive(Clone, Debug)]
pub(super) struct Change {
    pub(super) edits: Vec<Edit>,
    /// What was changed.
    pub(super) what: String,
    /// Why the result may be the same.
    pub(super) reasons: Vec<Why>,
}

/// A reason for which a result is the same.
#[derive(Clone, Debug)]
pub(super) struct Why {
    pub(super) text: &'static str,
    /// Edits with which the kernel runs clean, and with the same result, where the reason holds: nothing where the
    /// instruction shows it.
    pub(super) probe: Vec<Edit>,
}

/// A reason that an instruction shows.
fn shown(is_it: bool, text: &'static str) -> Vec<Why> {
    if is_it { vec![Why { text, probe: Vec::new() }] } else { Vec::new() }
}

/// A reason that holds if none of some conditions does: lines that set `IS`, and may use `LOW` and `WORD`.
fn unless(it: &Statement<'_>, conditions: &[String], text: &'static str) -> Vec<Why> {
    let guard = guard(it);
    let lines: String = conditions
        .iter()
        .map(|condition| {
            let (first, last) = condition.rsplit_once("setp").unwrap_or_default();
            format!("{first} {guard}setp{last} @IS trap; ")
        })
        .collect();
    let lines =
        lines.replace("IS", "injected_is").replace("LOW", "injected_low").replace("WORD", "injected_word");
    let probe = format!(
        "{{ .reg .pred injected_is; .reg .b32 injected_low; .reg .b64 injected_word; \
         setp.ne.b32 injected_is, 0, 0; {lines}}}"
    );
    vec![Why { text, probe: it.before(&probe) }]
}

/// The leading dimension of a matrix that is K-major under a swizzle, and whose rows do not leave an atom.
fn has_one_atom(body: &Body<'_>, it: &Statement<'_>, word: Word) -> Vec<Why> {
    if word == Word::Copied {
        let is_narrow = it.opcode.contains("x128b");
        return shown(is_narrow, "rows of 16 bytes have no second column");
    }
    let descriptor = it.operand(word.operand(it), body.text).unwrap_or_default();
    let instruction = it.operand(Word::Instruction.operand(it), body.text).unwrap_or_default();
    let transposed = if word == Word::A { 1 << 15 } else { 1 << 16 };
    let conditions = [
        format!("and.b64 WORD, {descriptor}, {}; setp.eq.u64 IS, WORD, 0;", 7_u64 << 61),
        format!("and.b64 WORD, {descriptor}, {}; setp.ne.u64 IS, WORD, 0;", 1_u64 << 52),
        format!("and.b32 LOW, {instruction}, {transposed}; setp.ne.u32 IS, LOW, 0;"),
    ];
    let mut why = unless(it, &conditions, "K-major under a swizzle: a row has one atom");
    // A row of 48 bytes that starts in the first six sixteenths of an atom does not leave it.
    let inside = format!("and.b64 WORD, {descriptor}, 7; setp.gt.u64 IS, WORD, 5;");
    let relative = format!("and.b64 WORD, {descriptor}, {}; setp.eq.u64 IS, WORD, 0;", 1_u64 << 52);
    why.extend(unless(
        it,
        &[conditions[0].clone(), relative, inside],
        "K = 96: this row does not leave its atom",
    ));
    // A half of the columns of a pair of CTAs.
    if word == Word::B && it.opcode.contains("cta_group::2.kind::f16") {
        let columns = format!("and.b32 LOW, {instruction}, {}; setp.gt.u32 IS, LOW, {};", 63 << 17, 16 << 17);
        why.extend(unless(it, &[columns], "MN-major: the columns of a CTA have one atom"));
    }
    why
}

/// What is stored is stored again before it is read.
fn is_overwritten(it: &Statement<'_>) -> Vec<Why> {
    vec![Why {
        text: "nothing reads what this stores: without the store the result is the same",
        probe: it.delete(),
    }]
}

/// Multiplies of a kernel that only shows their form, and does not store their results.
fn is_unused(body: &Body<'_>, it: &Statement<'_>) -> Vec<Why> {
    let is_shown =
        it.opcode.contains("kind::tf32") && body.all("tcgen05.mma").any(|it| it.opcode.contains("kind::f16"));
    shown(is_shown, "the result is not stored")
}

/// Operands of multiplies and copies that are descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    A,
    B,
    Copied,
    Instruction,
}

/// What a multiply's instruction descriptor looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    Dense,
    Scaled8,
    Scaled4,
}

impl Layout {
    fn of(statement: &Statement<'_>) -> Self {
        if statement.opcode.contains("kind::mxf8f6f4") {
            Self::Scaled8
        } else if statement.opcode.contains("kind::mxf4") {
            Self::Scaled4
        } else {
            Self::Dense
        }
    }
}

impl Word {
    /// Which operand it is.
    fn operand(self, statement: &Statement<'_>) -> usize {
        match self {
            Self::A | Self::Copied => 1,
            Self::B => 2,
            Self::Instruction => 3 + usize::from(statement.opcode.contains(".sp.")),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::A => "a-desc",
            Self::B => "b-desc",
            Self::Copied => "s-desc",
            Self::Instruction => "idesc",
        }
    }
}

/// No reason.
fn no_reason(_: &Statement<'_>, _: u64) -> Vec<Why> {
    Vec::new()
}

/// The same.
fn none(_: &Statement<'_>) -> Vec<Why> {
    Vec::new()
}

/// Changes of the bits of a descriptor by exclusive or, in the multiplies that have the field.
fn bits(
    body: &Body<'_>,
    word: Word,
    masks: impl Fn(&Statement<'_>) -> Vec<u64>,
    why: impl Fn(&Statement<'_>, u64) -> Vec<Why>,
) -> Vec<Change> {
    let opcode = if word == Word::Copied { "tcgen05.cp" } else { "tcgen05.mma" };
    let ty = if word == Word::Instruction { "b32" } else { "b64" };
    let mut all = Vec::new();
    for it in body.all(opcode) {
        let at = word.operand(it);
        if it.operand(at, body.text).is_none_or(|operand| operand.starts_with('[')) {
            continue;
        }
        for mask in masks(it) {
            let edits = it.computed(at, ty, &format!("xor.{ty} WORD, OLD, {mask};"), body.text);
            let what = format!("{} xor {mask:#x}", word.name());
            all.extend(edits.map(|edits| Change { edits, what, reasons: why(it, mask) }));
        }
    }
    all
}

/// Each bit of a field by itself.
fn each(low: u32, high: u32) -> Vec<u64> {
    (low..=high).map(|bit| 1 << bit).collect()
}

/// Each other value of a field.
fn values(low: u32, high: u32) -> Vec<u64> {
    (1..1_u64 << (high - low + 1)).map(|value| value << low).collect()
}

/// Bits of the instruction descriptor that all its layouts have.
fn of_all(body: &Body<'_>, masks: &[u64]) -> Vec<Change> {
    bits(body, Word::Instruction, |_| masks.to_vec(), |it, _| is_unused(body, it))
}

/// Those that only some layouts have.
fn of_layouts(body: &Body<'_>, masks: impl Fn(Layout) -> Vec<u64>) -> Vec<Change> {
    bits(body, Word::Instruction, |it| masks(Layout::of(it)), |it, _| is_unused(body, it))
}

/// Addresses in brackets that are moved.
fn addresses(
    body: &Body<'_>,
    opcode: &str,
    at: impl Fn(&Statement<'_>) -> Option<usize>,
    by: &[(i64, &str)],
    why: impl Fn(&Statement<'_>) -> Vec<Why>,
) -> Vec<Change> {
    let mut all = Vec::new();
    for it in body.all(opcode) {
        let Some(at) = at(it) else { continue };
        for (by, what) in by {
            let address = it.operand(at, body.text).and_then(|address| moved(address, *by));
            let edits = address.and_then(|address| it.with(at, &address));
            all.extend(edits.map(|edits| Change { edits, what: (*what).to_owned(), reasons: why(it) }));
        }
    }
    all
}

/// Statements with one piece of the opcode in place of another.
fn opcodes(
    body: &Body<'_>,
    opcode: &str,
    pieces: &[(&str, &str)],
    why: impl Fn(&Statement<'_>) -> Vec<Why>,
) -> Vec<Change> {
    let mut all = Vec::new();
    for it in body.all(opcode) {
        for (old, new) in pieces.iter().filter(|(old, _)| it.opcode.contains(old)) {
            let changed = it.opcode.replacen(old, new, 1);
            let edits = it.replace(it.text.replacen(it.opcode, &changed, 1));
            all.push(Change { edits, what: format!("`{new}` for `{old}`"), reasons: why(it) });
        }
    }
    all
}

/// Shapes of loads and stores of Tensor Memory, and the registers that each has for `.x1`.
const SHAPES: [(&str, u32); 5] =
    [("32x32b", 1), ("16x64b", 1), ("16x128b", 2), ("16x256b", 4), ("16x32bx2", 1)];

/// Loads or stores in another shape with as many registers.
fn shapes(body: &Body<'_>, opcode: &str) -> Vec<Change> {
    let mut all = Vec::new();
    let is_load = opcode.ends_with("ld");
    for it in body.all(opcode).filter(|it| !it.opcode.contains(".red")) {
        let mut pieces = it.opcode.split('.');
        let Some((shape, each)) = pieces.find_map(|piece| SHAPES.iter().find(|(shape, _)| *shape == piece))
        else {
            continue;
        };
        let count = pieces.next().and_then(|piece| piece.strip_prefix('x')?.parse::<u32>().ok());
        let Some(count) = count else { continue };
        for (other, of_other) in SHAPES.iter().filter(|(other, _)| other != shape) {
            let registers = count * each;
            if registers % of_other != 0 {
                continue;
            }
            let new = format!("{other}.x{}", registers / of_other);
            let mut edits: Vec<Edit> = Vec::new();
            let at = it.range.start + it.text.find(it.opcode).unwrap_or_default();
            let opcode = it.opcode.replacen(&format!("{shape}.x{count}"), &new, 1);
            edits.push((at..at + it.opcode.len(), opcode));
            let address = usize::from(is_load);
            if *other == "16x32bx2" {
                let end = it.operands[address].end;
                edits.push((end..end, ", 16".to_owned()));
            } else if *shape == "16x32bx2" {
                edits.push((it.operands[address].end..it.operands[address + 1].end, String::new()));
            }
            let reasons = if is_load { Vec::new() } else { is_overwritten(it) };
            all.push(Change { edits, what: format!("`.{new}` for `.{shape}.x{count}`"), reasons });
        }
    }
    all
}

/// `.pack::16b` or `.unpack::16b` put in or taken out.
fn packed(body: &Body<'_>, opcode: &str, qualifier: &str) -> Vec<Change> {
    let (with, without) = (format!("{qualifier}.b32"), ".b32".to_owned());
    let mut all = Vec::new();
    for it in body.all(opcode).filter(|it| !it.opcode.contains(".red")) {
        let (old, new) = if it.opcode.contains(qualifier) { (&with, &without) } else { (&without, &with) };
        let changed = it.opcode.replacen(old.as_str(), new, 1);
        let edits = it.replace(it.text.replacen(it.opcode, &changed, 1));
        let reasons = if opcode.ends_with("ld") { Vec::new() } else { is_overwritten(it) };
        all.push(Change { edits, what: format!("`{new}` for `{old}`"), reasons });
    }
    all
}

/// Which operand of a multiply is the n-th address of Tensor Memory after the instruction descriptor.
fn scale_address(number: usize) -> impl Fn(&Statement<'_>) -> Option<usize> {
    move |it| it.opcode.contains("block_scale").then(|| Word::Instruction.operand(it) + 1 + number)
}

const COLUMNS: &[(i64, &str)] = &[(1, "one column on"), (4, "four columns on"), (16 << 16, "16 lanes on")];

/// The classes.
#[rustfmt::skip]
pub const MISREADINGS: &[Misreading] = &[
    // Matrix descriptors.
    Misreading { name: "swizzle of A", places: |body| bits(body, Word::A, |_| values(61, 63), no_reason) },
    Misreading { name: "swizzle of B", places: |body| bits(body, Word::B, |_| values(61, 63), no_reason) },
    Misreading { name: "swizzle of a copied matrix", places: |body| bits(body, Word::Copied, |_| values(61, 63), no_reason) },
    Misreading { name: "stride (SBO) of A", places: |body| bits(body, Word::A, |_| each(32, 45), no_reason) },
    Misreading { name: "stride (SBO) of B", places: |body| bits(body, Word::B, |_| each(32, 45), no_reason) },
    Misreading { name: "stride (SBO) of a copied matrix", places: |body| bits(body, Word::Copied, |_| each(32, 45), no_reason) },
    Misreading { name: "leading offset (LBO) of A", places: |body| bits(body, Word::A, |_| each(16, 29), |it, _| has_one_atom(body, it, Word::A)) },
    Misreading { name: "leading offset (LBO) of B", places: |body| bits(body, Word::B, |_| each(16, 29), |it, _| has_one_atom(body, it, Word::B)) },
    Misreading { name: "leading offset (LBO) of a copied matrix", places: |body| bits(body, Word::Copied, |_| each(16, 29), |it, _| has_one_atom(body, it, Word::Copied)) },
    Misreading { name: "start address of A", places: |body| bits(body, Word::A, |_| each(0, 13), |it, _| is_unused(body, it)) },
    Misreading { name: "start address of B", places: |body| bits(body, Word::B, |_| each(0, 13), |it, _| is_unused(body, it)) },
    Misreading { name: "start address of a copied matrix", places: |body| bits(body, Word::Copied, |_| each(0, 13), no_reason) },
    Misreading { name: "base offset of A", places: |body| bits(body, Word::A, |_| values(49, 51), no_reason) },
    Misreading { name: "base offset of B", places: |body| bits(body, Word::B, |_| values(49, 51), no_reason) },
    Misreading { name: "mode of the leading dimension", places: |body| [Word::A, Word::B].into_iter().flat_map(|word| bits(body, word, |_| vec![1 << 52], |it, _| has_one_atom(body, it, word))).collect() },
    // The instruction descriptor.
    Misreading { name: "transpose A", places: |body| of_all(body, &[1 << 15]) },
    Misreading { name: "transpose B", places: |body| of_all(body, &[1 << 16]) },
    Misreading { name: "negate A", places: |body| of_all(body, &[1 << 13]) },
    Misreading { name: "negate B", places: |body| of_all(body, &[1 << 14]) },
    Misreading { name: "type of A", places: |body| of_all(body, &values(7, 9)) },
    Misreading { name: "type of B", places: |body| of_layouts(body, |layout| match layout {
        Layout::Dense | Layout::Scaled8 => values(10, 12),
        Layout::Scaled4 => values(10, 11),
    }) },
    Misreading { name: "type of D", places: |body| of_layouts(body, |layout| match layout {
        Layout::Dense => values(4, 5),
        Layout::Scaled8 | Layout::Scaled4 => Vec::new(),
    }) },
    Misreading { name: "N", places: |body| bits(body, Word::Instruction, |_| each(17, 22), |it, mask| {
        let instruction = it.operand(Word::Instruction.operand(it), body.text).unwrap_or_default();
        let condition = format!("and.b32 LOW, {instruction}, {mask}; setp.ne.u32 IS, LOW, 0;");
        unless(it, &[condition], "more columns, which nothing loads")
    }) },
    Misreading { name: "M", places: |body| of_layouts(body, |layout| match layout {
        Layout::Dense => each(24, 28),
        Layout::Scaled8 | Layout::Scaled4 => each(27, 28),
    }) },
    Misreading { name: "K", places: |body| of_layouts(body, |layout| match layout {
        Layout::Dense => vec![1 << 29],
        Layout::Scaled8 | Layout::Scaled4 => vec![1 << 31],
    }) },
    Misreading { name: "sparsity", places: |body| of_all(body, &[1 << 2]) },
    Misreading { name: "sparsity selector", places: |body| bits(body, Word::Instruction,
        |it| if it.opcode.contains(".sp.") && Layout::of(it) == Layout::Dense { values(0, 1) } else { Vec::new() }, no_reason) },
    Misreading { name: "saturation", places: |body| bits(body, Word::Instruction, |_| vec![1 << 3],
        |it, _| shown(it.opcode.contains("kind::i8"), "no sum needs more than 32 bits")) },
    Misreading { name: "id of the scales of A", places: |body| of_layouts(body, |layout| match layout {
        Layout::Dense => Vec::new(),
        Layout::Scaled8 | Layout::Scaled4 => values(29, 30),
    }) },
    Misreading { name: "id of the scales of B", places: |body| of_layouts(body, |layout| match layout {
        Layout::Dense => Vec::new(),
        Layout::Scaled8 | Layout::Scaled4 => values(4, 5),
    }) },
    Misreading { name: "type of the scales", places: |body| of_layouts(body, |layout| match layout {
        Layout::Dense => Vec::new(),
        Layout::Scaled8 | Layout::Scaled4 => vec![1 << 23],
    }) },
    // Tensor Memory.
    Misreading { name: "address of the scales of A", places: |body| addresses(body, "tcgen05.mma", scale_address(0), COLUMNS, none) },
    Misreading { name: "address of the scales of B", places: |body| addresses(body, "tcgen05.mma", scale_address(1), COLUMNS, none) },
    Misreading { name: "address of the metadata", places: |body| addresses(body, "tcgen05.mma", |it| it.opcode.contains(".sp.").then_some(3), &COLUMNS[..2], none) },
    Misreading { name: "address of D", places: |body| addresses(body, "tcgen05.mma", |_| Some(0), COLUMNS, none) },
    Misreading { name: "address of A in Tensor Memory", places: |body| addresses(body, "tcgen05.mma", |_| Some(1), COLUMNS, none) },
    Misreading { name: "address of a load", places: |body| addresses(body, "tcgen05.ld", |_| Some(1), COLUMNS, none) },
    Misreading { name: "address of a store", places: |body| addresses(body, "tcgen05.st", |_| Some(0), COLUMNS, is_overwritten) },
    Misreading { name: "shape of a load", places: |body| shapes(body, "tcgen05.ld") },
    Misreading { name: "shape of a store", places: |body| shapes(body, "tcgen05.st") },
    Misreading { name: "pack", places: |body| packed(body, "tcgen05.ld", ".pack::16b") },
    Misreading { name: "unpack", places: |body| packed(body, "tcgen05.st", ".unpack::16b") },
    Misreading { name: "reduction of a load", places: |body| opcodes(body, "tcgen05.ld.red", &[(".max", ".min"), (".min", ".max")], none) },
    Misreading { name: "shape of a copy", places: |body| opcodes(body, "tcgen05.cp", &[
        ("32x128b.warpx4", "64x128b.warpx2::02_13"), ("32x128b.warpx4", "64x128b.warpx2::01_23"), ("32x128b.warpx4", "128x128b"),
        ("warpx4.32x128b", "warpx2::02_13.64x128b"), ("128x256b", "128x128b"), ("128x128b", "128x256b"), ("128x128b", "4x256b"),
    ], none) },
    // The instruction.
    Misreading { name: "size of the vectors of scales", places: |body| opcodes(body, "tcgen05.mma", &[
        ("mxf4nvf4.block_scale.block16", "mxf4nvf4.block_scale.block32"), ("mxf4nvf4.block_scale.block32", "mxf4nvf4.block_scale.block16"),
        ("mxf4nvf4.block_scale.scale_vec::4X", "mxf4nvf4.block_scale.scale_vec::2X"),
        ("mxf4nvf4.block_scale.scale_vec::2X", "mxf4nvf4.block_scale.scale_vec::4X"),
    ], none) },
    Misreading { name: "kind", places: |body| opcodes(body, "tcgen05.mma", &[
        ("kind::f16", "kind::tf32"), ("kind::tf32", "kind::f16"), ("kind::f8f6f4", "kind::i8"), ("kind::i8", "kind::f8f6f4"),
        ("kind::f8f6f4", "kind::f16"), ("kind::mxf4nvf4", "kind::mxf4"), ("kind::mxf4.", "kind::mxf4nvf4."),
    ], |it| {
        let is_same = it.opcode.contains("kind::mxf4") && !it.opcode.contains("block16") && !it.opcode.contains("4X");
        shown(is_same, "with ue8m0 scales of 32 elements both kinds are one multiply")
    }) },
    Misreading { name: "half of a pair", places: |body| opcodes(body, "tcgen05.mma", &[("cta_group::2", "cta_group::1")], none) },
    Misreading { name: "weight stationary", places: |body| {
        let instruction = |it: &Statement<'_>| it.operand(Word::Instruction.operand(it), body.text).unwrap_or_default().to_owned();
        let why = |it: &Statement<'_>| {
            let condition = format!("and.b32 LOW, {}, {}; setp.ne.u32 IS, LOW, {};", instruction(it), 31 << 24, 8 << 24);
            unless(it, &[condition], "with M = 128 the layout of D is the same")
        };
        opcodes(body, "tcgen05.mma.cta_group::1", &[("mma.cta_group::1", "mma.ws.cta_group::1")], why)
    } },
];
