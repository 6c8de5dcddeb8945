//! `mma`, `mma.sp` and `wmma` in their forms, compared bit for bit with what an H200 computes:
//! `fixtures/hardware/mma_forms.bin` and `wmma_fragments.txt`. `fixtures/hardware/record_mma_forms.py` wrote them, and
//! says what they hold; kernels and operands are made here as there.

#![allow(
    clippy::many_single_char_names,
    reason = "matrices and their sizes are called what the ISA calls them"
)]
#![allow(clippy::float_cmp, reason = "sums are exact")]

use std::fs;

use ptx_simulation::launch::Argument;

use crate::{buffer, left, root};

/// A form of the record.
struct Form {
    name: String,
    opcode: String,
    /// Tiles, and those of which all words are recorded.
    tiles: usize,
    full: usize,
    /// Words of A, B, D and the metadata in a lane; of `wmma`, those of the matrices.
    a: usize,
    b: usize,
    d: usize,
    e: usize,
    hashes: Vec<u32>,
    words: Vec<u32>,
}

impl Form {
    fn is_wmma(&self) -> bool {
        self.opcode.starts_with("wmma")
    }

    /// Words of a D of the whole warp.
    fn result(&self) -> usize {
        if self.is_wmma() { self.d } else { 32 * self.d }
    }

    /// The types of A, B and D.
    fn types(&self) -> [&str; 3] {
        let types: Vec<&str> = self.opcode.split('.').filter(|word| format(word).is_some()).collect();
        match types[..] {
            [d, _] => ["f16", "f16", d],
            [d, a, b, _] => [a, b, d],
            _ => panic!("{}", self.opcode),
        }
    }

    fn shape(&self) -> [usize; 3] {
        let word = self.opcode.split('.').find(|word| word.starts_with('m') && word.contains('k')).unwrap();
        let numbers: Vec<usize> = word[1..].split(['n', 'k']).map(|it| it.parse().unwrap()).collect();
        numbers.try_into().unwrap()
    }
}

fn fnv(bytes: impl IntoIterator<Item = u8>) -> u32 {
    bytes.into_iter().fold(0x811C_9DC5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

fn words_of(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

fn forms() -> Vec<Form> {
    let file = fs::read(root().join("fixtures/hardware/mma_forms.bin")).unwrap();
    let mut bytes = &file[file.iter().position(|byte| *byte == b'\n').unwrap() + 1..];
    let mut forms = Vec::new();
    while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
        let line = std::str::from_utf8(&bytes[..end]).unwrap();
        bytes = &bytes[end + 1..];
        let (head, opcode) = line.split_once(" | ").unwrap();
        let fields: Vec<&str> = head.split(' ').collect();
        let number = |at: usize| fields[at].parse::<usize>().unwrap();
        let mut form = Form {
            name: fields[0].to_owned(),
            opcode: opcode.to_owned(),
            tiles: number(1),
            full: number(2),
            a: number(3),
            b: number(4),
            d: number(5),
            e: number(7),
            hashes: Vec::new(),
            words: Vec::new(),
        };
        let mut take = |count: usize| {
            let (taken, rest) = bytes.split_at(4 * count);
            bytes = rest;
            words_of(taken)
        };
        form.hashes = take(2 * form.tiles);
        form.words = take(2 * form.full * form.result());
        forms.push(form);
    }
    forms
}

/// xorshift32.
struct Random(u32);

impl Random {
    fn word(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0
    }

    fn below(&mut self, count: usize) -> usize {
        (self.word() >> 8) as usize % count
    }
}

/// What a word keeps and gets so that numbers are near 1; the same with more exponents; bits of an element; numbers that
/// are special.
type Numbers = (u64, u64, u64, u64, u32, &'static [u64]);

fn format(ty: &str) -> Option<Numbers> {
    const BYTES: &[u64] = &[0x80, 0x7F, 0xFF, 0];
    const NIBBLES: &[u64] = &[8, 7, 15, 0];
    Some(match ty {
        "f16" => {
            (0x8FFF_8FFF, 0x3000_3000, 0xBFFF_BFFF, 0x0400_0400, 16, &[0x7C00, 0x7E01, 1, 0x3FF, 0x7BFF, 0])
        }
        "bf16" => {
            (0x81FF_81FF, 0x3E00_3E00, 0x8FFF_8FFF, 0x3000_3000, 16, &[0x7F80, 0x7FC1, 1, 0x7F, 0x7F7F, 0])
        }
        "tf32" => (
            0x81FF_FFFF,
            0x3E00_0000,
            0x8FFF_FFFF,
            0x3000_0000,
            32,
            &[0x7F80_0000, 0x7FC0_0000, 0x2000, 0x7F7F_E000, 0, 0x1FFF],
        ),
        "f32" => (
            0x81FF_FFFF,
            0x3E00_0000,
            0x8FFF_FFFF,
            0x3000_0000,
            32,
            &[0x7F80_0000, 0x7FC0_0001, 1, 0x7F_FFFF, 0x7F7F_FFFF, 0],
        ),
        "f64" => (
            0x801F_FFFF_FFFF_FFFF,
            0x3FE0_0000_0000_0000,
            0x83FF_FFFF_FFFF_FFFF,
            0x3C00_0000_0000_0000,
            64,
            &[0x7FF << 52, 0x7FF8 << 48, 1, (1 << 52) - 1, 0x7FEF_FFFF_FFFF_FFFF, 0],
        ),
        "e4m3" => (0x8F8F_8F8F, 0x3030_3030, 0xBFBF_BFBF, 0x0808_0808, 8, &[0x7F, 0x7E, 1, 7, 8, 0]),
        "e5m2" => (0x8F8F_8F8F, 0x3030_3030, 0xBFBF_BFBF, 0x0404_0404, 8, &[0x7C, 0x7D, 1, 3, 0x7B, 0]),
        "s8" | "u8" => (0, 0, 0, 0, 8, BYTES),
        "s4" | "u4" => (0, 0, 0, 0, 4, NIBBLES),
        "b1" => (0, 0, 0, 0, 1, &[0, 1]),
        "s32" => (0, 0, 0, 0, 32, &[1 << 31, (1 << 31) - 1, 0, 1]),
        _ => return None,
    })
}

/// A word, or a double, of a matrix of a tile.
fn operand(random: &mut Random, ty: &str, mode: usize, is_a: bool) -> u64 {
    let (keep, gets, keep_far, gets_far, bits, special) = format(ty).unwrap();
    let (width, sign) = (bits.max(32), 1_u64 << (bits - 1));
    let mut word = u64::from(random.word());
    if width == 64 {
        word |= u64::from(random.word()) << 32;
    }
    let places = || (0..width).step_by(bits as usize);
    let ones = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
    if keep == 0 {
        if matches!(mode, 1 | 3) {
            word = places().fold(0, |word, at| word | special[random.below(special.len())] << at);
        }
        return word;
    }
    match mode {
        0 => return word,
        4 => return word & keep_far | gets_far,
        _ => word = word & keep | gets,
    }
    if mode == 2 && bits < 32 {
        let every_other = |what: u64| places().step_by(2).fold(0, |all, at| all | what << at);
        let low = word & every_other(ones);
        word = low | (low ^ if is_a { every_other(sign) } else { 0 }) << bits;
    }
    if mode == 3 {
        for at in places() {
            if random.below(8) == 0 {
                let number = special[random.below(special.len())];
                let sign = if random.below(2) == 1 { sign } else { 0 };
                word = word & !(ones << at) | (number | sign) << at;
            }
        }
    }
    word
}

fn operands(form: &Form, tiles: usize) -> Vec<u8> {
    let mut random = Random(fnv(form.name.bytes()) | 1);
    let [a, b, d] = form.types();
    let mut data = Vec::new();
    for mode in (0..tiles).map(|tile| tile % 5) {
        for _ in 0..if form.is_wmma() { 1 } else { 32 } {
            for (ty, count, is_a, is_old) in
                [(a, form.a, true, false), (b, form.b, false, false), (d, form.d, false, true)]
            {
                let size = if ty == "f64" { 2 } else { 1 };
                // The old D is no pair; nor is a B of its type.
                let mode = if mode == 2 && !is_a && (is_old || ty == d) { 1 } else { mode };
                for _ in 0..count / size {
                    let word = operand(&mut random, ty, mode, is_a);
                    data.extend(&word.to_le_bytes()[..4 * size]);
                }
            }
            if form.e > 0 {
                let mut choices = if a == "tf32" { vec![4, 14] } else { vec![4, 8, 12, 9, 13, 14] };
                if a != "tf32" && !form.opcode.contains("ordered") {
                    choices.extend([1, 2, 3, 6, 7, 11]);
                }
                let word = (0..8).fold(0, |word, at| word | choices[random.below(choices.len())] << (4 * at));
                data.extend(u32::to_le_bytes(word));
            }
        }
    }
    data
}

/// What is xored with D before it is the next C.
fn sign(d: &str) -> u64 {
    match d {
        "f32" => 1 << 31,
        "f16" => 0x8000_8000,
        "f64" => 1 << 63,
        _ => 0,
    }
}

const HEAD: &str = ".version 8.7\n.target sm_90\n.address_size 64\n\
    .visible .entry k(.param .u64 out, .param .u64 in, .param .u32 tiles)\n{\n\
    .reg .b64 i, o, p, x; .reg .b32 lane, n, meta; .reg .pred q;\n\
    ld.param.u64 i, [in]; ld.param.u64 o, [out]; ld.param.u32 n, [tiles]; mov.u32 lane, %laneid;\n";
const TAIL: &str = "sub.u32 n, n, 1; setp.ne.u32 q, n, 0; @q bra L;\nret;\n}\n";

fn vector(matrix: &str, count: usize) -> String {
    format!("{{{}}}", (0..count).map(|at| format!("{matrix}{at}")).collect::<Vec<String>>().join(", "))
}

fn kernel(form: &Form) -> String {
    let d_type = form.types()[2];
    let width = if d_type == "f64" { 64 } else { 32 };
    let words = width / 32;
    let [a, b, d] = [form.a, form.b, form.d].map(|count| count / words);
    let total = form.a + form.b + form.d + form.e;
    let mut text = format!(
        "{HEAD}mul.wide.u32 x, lane, {}; add.u64 i, i, x; mul.wide.u32 x, lane, {}; add.u64 o, o, x;\n",
        4 * total,
        4 * form.d
    );
    for (matrix, count) in [("a", a), ("b", b), ("c", d), ("d", d), ("e", d)] {
        text += &format!(".reg .b{width} {matrix}<{count}>; ");
    }
    text += "\nL:\n";
    let loaded = [("a", a), ("b", b), ("c", d)]
        .into_iter()
        .flat_map(|(matrix, count)| (0..count).map(move |at| format!("{matrix}{at}")));
    for (at, register) in loaded.enumerate() {
        text += &format!("ld.global.b{width} {register}, [i+{}];\n", at * width / 8);
    }
    let mut tail = String::new();
    if form.e > 0 {
        text += &format!("ld.global.b32 meta, [i+{}];\n", 4 * (total - 1));
        tail = format!(", meta, {}", form.name.rsplit('_').next().unwrap());
    }
    let (opcode, [of_a, of_b, of_c]) = (&form.opcode, [vector("a", a), vector("b", b), vector("c", d)]);
    text += &format!("{opcode} {}, {of_a}, {of_b}, {of_c}{tail};\n", vector("d", d));
    for at in 0..d {
        text += &format!("st.global.b{width} [o+{}], d{at};\n", at * width / 8);
        text += &format!("xor.b{width} c{at}, d{at}, {:#x};\n", sign(d_type));
    }
    text += &format!("{opcode} {}, {of_a}, {of_b}, {of_c}{tail};\n", vector("e", d));
    for at in 0..d {
        text += &format!("st.global.b{width} [o+{}], e{at};\n", 128 * form.d + at * width / 8);
    }
    text + &format!("add.u64 i, i, {}; add.u64 o, o, {};\n{TAIL}", 128 * total, 256 * form.d)
}

/// Registers of a fragment of `wmma`, and the bits of one.
fn fragment(ty: &str, elements: usize, is_factor: bool) -> (usize, usize) {
    let bits = format(ty).unwrap().4 as usize;
    let width = if bits == 64 { 64 } else { 32 };
    if ty == "f16" && is_factor { (8, 32) } else { ((elements * bits / (32 * width)).max(1), width) }
}

fn wmma_kernel(form: &Form) -> String {
    let ([a, b, d], [m, n, k]) = (form.types(), form.shape());
    let layouts: Vec<&str> = form.opcode.split('.').filter(|word| matches!(*word, "row" | "col")).collect();
    let shape = format!("m{m}n{n}k{k}");
    let mut text = HEAD.to_owned();
    let mut vectors = Vec::new();
    for (matrix, ty, elements, is_factor) in [
        ("a", a, m * k, true),
        ("b", b, n * k, true),
        ("c", d, m * n, false),
        ("d", d, m * n, false),
        ("e", d, m * n, false),
    ] {
        let (count, width) = fragment(ty, elements, is_factor);
        text += &format!(".reg .b{width} {matrix}<{count}>; ");
        vectors.push(vector(matrix, count));
    }
    let strides = [if layouts[0] == "row" { k } else { m }, if layouts[1] == "row" { n } else { k }];
    let (opcode, width) = (&form.opcode, fragment(d, m * n, false).1);
    let [va, vb, vc, vd, ve] = &vectors[..] else { unreachable!() };
    text += &format!(
        "\nL:\nwmma.load.a.sync.aligned.{}.{shape}.global.{a} {va}, [i], {};\nadd.u64 p, i, {};\n\
         wmma.load.b.sync.aligned.{}.{shape}.global.{b} {vb}, [p], {};\nadd.u64 p, p, {};\n\
         wmma.load.c.sync.aligned.row.{shape}.global.{d} {vc}, [p], {n};\n\
         {opcode} {vd}, {va}, {vb}, {vc};\nwmma.store.d.sync.aligned.row.{shape}.global.{d} [o], {vd}, {n};\n",
        layouts[0],
        strides[0],
        4 * form.a,
        layouts[1],
        strides[1],
        4 * form.b,
    );
    for at in 0..vd.split(',').count() {
        text += &format!("xor.b{width} c{at}, d{at}, {:#x};\n", sign(d));
    }
    text + &format!(
        "{opcode} {ve}, {va}, {vb}, {vc};\nadd.u64 o, o, {size};\n\
         wmma.store.d.sync.aligned.col.{shape}.global.{d} [o], {ve}, {m};\n\
         add.u64 o, o, {size}; add.u64 i, i, {};\n{TAIL}",
        4 * (form.a + form.b + form.d),
        size = 4 * form.d
    )
}

/// Each NaN is the same.
fn without_nans(words: &[u32], d: &str) -> Vec<u32> {
    match d {
        "f32" => {
            words.iter().map(|it| if f32::from_bits(*it).is_nan() { 0x7FFF_FFFF } else { *it }).collect()
        }
        "f16" => {
            let half = |it: u32| if it & 0x7FFF > 0x7C00 { 0x7FFF } else { it };
            words.iter().map(|it| half(it & 0xFFFF) | half(it >> 16) << 16).collect()
        }
        "f64" => {
            let double = |pair: &[u32]| match f64::from_bits(u64::from(pair[1]) << 32 | u64::from(pair[0])) {
                it if it.is_nan() => [0xFFFF_FFFF, 0x7FFF_FFFF],
                _ => [pair[0], pair[1]],
            };
            words.chunks(2).flat_map(double).collect()
        }
        _ => words.to_vec(),
    }
}

/// What differs from the record.
fn differences(form: &Form, tiles: usize) -> Option<String> {
    let d = form.types()[2];
    let text = if form.is_wmma() { wmma_kernel(form) } else { kernel(form) };
    let length = form.result();
    let arguments = vec![
        buffer(vec![0; 8 * length * tiles]),
        buffer(operands(form, tiles)),
        Argument::Bytes((tiles as u32).to_le_bytes().to_vec()),
    ];
    let output = left(&text, arguments, 32);
    if !output.unknown.is_empty() {
        return Some("not known".to_owned());
    }
    for (at, result) in words_of(&output.bytes).chunks(length).enumerate() {
        let result = without_nans(result, d);
        if let Some(recorded) = form.words.get(at * length..(at + 1) * length) {
            let recorded = without_nans(recorded, d);
            let differing = (0..length).filter(|at| result[*at] != recorded[*at]).count();
            if let Some(first) = (0..length).find(|at| result[*at] != recorded[*at]) {
                let (ours, theirs) = (result[first], recorded[first]);
                return Some(format!(
                    "D {at}: {differing} of {length}, word {first}: {ours:08x}, recorded {theirs:08x}"
                ));
            }
        }
        if fnv(result.iter().flat_map(|word| word.to_le_bytes())) != form.hashes[at] {
            return Some(format!("D {at} has another hash"));
        }
    }
    None
}

#[test]
fn forms_of_mma_are_computed_as_an_h200_does() {
    let forms = forms();
    let wrong: Vec<String> = forms
        .iter()
        .filter_map(|form| Some(format!("{}: {}", form.name, differences(form, form.tiles)?)))
        .collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), forms.len(), wrong.join("\n"));
    assert_eq!(
        forms.iter().filter(|form| form.name.contains("m8n8k4") && form.types()[0] == "f16").count(),
        8
    );
    assert_eq!(forms.len(), 166);
}

#[test]
fn fragments_of_wmma_hold_what_an_h200_has_there() {
    use ptx_check::isa::mma_fragments::{Factor, Sum};

    let text = fs::read_to_string(root().join("fixtures/hardware/wmma_fragments.txt")).unwrap();
    let mut compared = 0;
    for block in text.split("> ").skip(1) {
        let mut lines = block.lines();
        let head: Vec<&str> = lines.next().unwrap().split(' ').collect();
        let numbers: Vec<u32> = head[1][1..].split(['n', 'k']).map(|it| it.parse().unwrap()).collect();
        let ([m, n, k], bits) = (<[u32; 3]>::try_from(numbers).unwrap(), format(head[2]).unwrap().4);
        let columns: u32 = head[5].parse().unwrap();
        for (lane, line) in (0..).zip(lines) {
            for (at, element) in (0..).zip(line.split(' ')) {
                let recorded: u32 = element.parse().unwrap();
                let of = |factor: Factor| {
                    let (register, part) = (at / factor.per_register(), at % factor.per_register());
                    factor.place(lane, register % factor.registers(), part)
                };
                let (row, column) = match head[0] {
                    "a" => of(Factor::a(m, k, bits).unwrap()),
                    "b" => {
                        let (column, row) = of(Factor::b(n, k, bits).unwrap());
                        (row, column)
                    }
                    _ => {
                        let place = Sum::new(m, n).unwrap().place(lane, at);
                        (place.row, place.column)
                    }
                };
                assert_eq!(row * columns + column, recorded, "{}, lane {lane}, element {at}", head.join(" "));
                compared += 1;
            }
        }
    }
    assert!(compared > 20_000, "{compared}");
}

/// A kernel of one warp for `sm_120a`, whose lanes have the words of A, B and C and of both scale factors in `m`.
fn scaled_kernel(opcode: &str, ids: &str) -> String {
    let load = |name: &str, count: usize, from: usize| {
        (0..count)
            .map(|at| format!("ld.global.b32 {name}{at}, [p+{}];\n", 4 * (from + at)))
            .collect::<String>()
    };
    format!(
        ".version 9.0\n.target sm_120a\n.address_size 64\n.visible .entry k(.param .u64 m)\n{{\n\
         .reg .b64 p, o; .reg .b32 lane; .reg .b32 a<4>, b<2>, c<4>, d<4>, s<2>;\n\
         ld.param.u64 p, [m]; mov.u32 lane, %laneid; mul.wide.u32 o, lane, 48; add.u64 p, p, o;\n\
         {}{}{}{}{opcode} {{d0, d1, d2, d3}}, {{a0, a1, a2, a3}}, {{b0, b1}}, {{c0, c1, c2, c3}}{ids};\n\
         st.global.v4.b32 [p], {{d0, d1, d2, d3}};\nret;\n}}\n",
        load("a", 4, 0),
        load("b", 2, 4),
        load("c", 4, 6),
        load("s", 2, 10),
    )
}

/// Products of one number of 6 bits, in the lower bits of the first byte of each row, and of 1.
#[test]
fn six_bits_are_the_lower_ones_of_a_byte() {
    for (format, one, numbers) in [
        ("e3m2", 0x0C, [(0x0C, 1.0), (0x08, 0.5), (0x30, -2.0), (0x01, 0.0625_f32)]),
        ("e2m3", 0x08, [(0x08, 1.0), (0x04, 0.5), (0x30, -2.0), (0x01, 0.125)]),
    ] {
        for (code, number) in numbers {
            let mut lanes = vec![[0_u32; 12]; 32];
            for lane in lanes.iter_mut().step_by(4) {
                (lane[0], lane[1], lane[4]) = (code, code, one);
            }
            let opcode = format!("mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.{format}.{format}.f32");
            let data = lanes.iter().flatten().flat_map(|word| word.to_le_bytes()).collect();
            let output = left(&scaled_kernel(&opcode, ""), vec![buffer(data)], 32);
            assert!(output.unknown.is_empty(), "{opcode}");
            let words = words_of(&output.bytes);
            let mut sums = words.chunks(12).flat_map(|lane| &lane[..4]);
            assert!(sums.all(|it| *it == number.to_bits()), "{format}, {code:#x}");
        }
    }
}

/// The authors of MMA-Sim say that the hardware takes the lower two bits of a byte of e2m1 for more of the fraction.
#[test]
fn bits_beside_a_narrow_element_make_a_row_unknown() {
    for (format, code, rows_known) in
        [("e2m1", 0x08, true), ("e2m1", 0x09, false), ("e2m3", 0x3F, true), ("e2m3", 0x48, false)]
    {
        let mut data = vec![0; 32 * 48];
        data[0] = code;
        let opcode = format!("mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.{format}.{format}.f32");
        let output = left(&scaled_kernel(&opcode, ""), vec![buffer(data)], 32);
        assert_eq!(output.unknown.is_empty(), rows_known, "{format}, {code:#x}");
    }
}

/// Sums of scaled products on `sm_120a`: where the elements and the factors are is written here anew, and sums are so
/// small that they are exact.
#[test]
fn scale_factors_of_a_warp_scale_rows_and_columns() {
    let fours = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0_f32];
    let mxf4 = "mma.sync.aligned.m16n8k64.row.col.kind";
    // Bits of an element, factors of a row, their first byte, the thread ids, and whether the factors are ue4m3.
    for (opcode, bits, count, byte, threads, is_ue4m3) in [
        (format!("{mxf4}::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0"), 4, 2, 2, [1, 3], false),
        (format!("{mxf4}::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3"), 4, 4, 0, [0, 1], true),
        (
            "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e2m1.e2m1.f32.ue8m0"
                .to_owned(),
            8,
            1,
            3,
            [1, 2],
            false,
        ),
    ] {
        let mut random = Random(bits + count + 1);
        let mut lanes = vec![[0_u32; 12]; 32];
        for lane in &mut lanes {
            for word in &mut lane[..6] {
                // In a byte, the four bits in the middle count.
                *word = random.word() & if bits == 8 { 0x3C3C_3C3C } else { u32::MAX };
            }
            for word in &mut lane[6..10] {
                *word = (random.below(9) as f32 - 4.0).to_bits();
            }
            for word in &mut lane[10..] {
                let factor = |random: &mut Random| {
                    if is_ue4m3 { [0x38, 0x40, 0x30][random.below(3)] } else { 126 + random.below(3) as u32 }
                };
                *word = (0..4).fold(0, |word, at| word | factor(&mut random) << (8 * at));
            }
        }
        let scale = |code: u32| match (is_ue4m3, code) {
            (true, 0x38) => 1.0,
            (true, 0x40) => 2.0,
            (true, _) => 0.5,
            (false, code) => 2_f32.powi(code.cast_signed() - 127),
        };
        let value = |word: u32, at: u32| {
            let code = word >> (at * bits) >> if bits == 8 { 2 } else { 0 } & 0xF;
            if code & 8 != 0 { -fours[code as usize & 7] } else { fours[code as usize & 7] }
        };
        let (per, k) = (32 / bits, if bits == 8 { 32 } else { 64 });
        let block = k / count;
        let (mut a, mut b) = (vec![[0.0; 64]; 16], vec![[0.0; 64]; 8]);
        for (lane, words) in (0_u32..).zip(&lanes) {
            for (register, at) in (0..4_u32).flat_map(|it| (0..per).map(move |at| (it, at))) {
                let column = lane % 4 * per + at + register / 2 * (4 * per);
                a[(lane / 4 + register % 2 * 8) as usize][column as usize] = value(words[register as usize], at);
                if register < 2 {
                    let row = lane % 4 * per + at + register * (4 * per);
                    b[lane as usize / 4][row as usize] = value(words[4 + register as usize], at);
                }
            }
        }
        let ids = format!(
            ", s0, {{{byte}, {}}}, s1, {{{byte}, {}}}",
            threads[0], threads[1]
        );
        let data = lanes.iter().flatten().flat_map(|word| word.to_le_bytes()).collect();
        let output = left(&scaled_kernel(&opcode, &ids), vec![buffer(data)], 32);
        assert!(output.unknown.is_empty(), "{opcode}");
        let words = words_of(&output.bytes);
        for (lane, i) in (0..32).flat_map(|lane| (0..4).map(move |i| (lane, i))) {
            let (row, column) = (lane / 4 + 8 * (i / 2), lane % 4 * 2 + i % 2);
            // Of the group that has the row: the lane of the thread id, and the next one for the second eight rows.
            let of_a = lanes[row % 8 * 4 + threads[0] * 2 + row / 8][10];
            let of_b = lanes[column * 4 + threads[1]][11];
            let product = |at: u32| {
                let number = 8 * (byte + at / block);
                let scales = scale(of_a >> number & 0xFF) * scale(of_b >> number & 0xFF);
                a[row][at as usize] * b[column][at as usize] * scales
            };
            let expected = (0..k).map(product).sum::<f32>() + f32::from_bits(lanes[lane][6 + i]);
            let got = f32::from_bits(words[12 * lane + i]);
            assert!(got == expected, "{opcode} ({row}, {column}): {got}, not {expected}");
        }
    }
}
