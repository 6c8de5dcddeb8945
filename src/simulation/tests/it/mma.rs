//! `mma.sync`, compared with what an H200 computes: `fixtures/hardware/mma_sync.bin`, whose form
//! `src/numbers/tests/it/recorded.rs` explains. And what of its results is not known.

use std::fs;

use ptx_simulation::Output;
use ptx_simulation::launch::Argument;

use crate::{buffer, left, root};

/// Of each form, so many tiles are computed.
const TILES: usize = 12;

struct Form {
    name: String,
    k: usize,
    /// By tile: A by rows, B by columns, the old D and the new D by rows.
    tiles: Vec<[Vec<u32>; 4]>,
    /// Bits of an element of A or B, and of D.
    bits: (usize, usize),
}

fn read(mut bytes: &[u8]) -> Vec<Form> {
    let mut forms = Vec::new();
    while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
        let line = std::str::from_utf8(&bytes[..end]).unwrap();
        bytes = &bytes[end + 1..];
        let words: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| words[at].parse::<usize>().unwrap();
        let (count, k, factor, result) = (number(1), number(2), number(3), number(4));
        let mut take = |elements: usize, width: usize| -> Vec<Vec<u32>> {
            let (words, rest) = bytes.split_at(count * elements * width);
            bytes = rest;
            let word = |word: &[u8]| word.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte));
            words.chunks(elements * width).map(|tile| tile.chunks(width).map(word).collect()).collect()
        };
        let all = [take(16 * k, factor), take(8 * k, factor), take(128, result), take(128, result)];
        let tiles = (0..count).map(|at| std::array::from_fn(|matrix| all[matrix][at].clone()));
        let tiles = tiles.collect();
        forms.push(Form { name: words[0].to_owned(), k, tiles, bits: (factor * 8, result * 8) });
    }
    forms
}

/// The element of A, B and D in a part of a register, as the figures of the PTX ISA show it: `i` counts the elements of
/// a lane.
fn a_of(lane: usize, i: usize, per: usize) -> (usize, usize) {
    let (register, part) = (i / per, i % per);
    (lane / 4 + 8 * (register % 2), lane % 4 * per + part + 4 * per * (register / 2))
}

fn b_of(lane: usize, i: usize, per: usize) -> (usize, usize) {
    let (register, part) = (i / per, i % per);
    (lane % 4 * per + part + 4 * per * register, lane / 4)
}

fn d_of(lane: usize, i: usize) -> (usize, usize) {
    (lane / 4 + 8 * (i / 2), lane % 4 * 2 + i % 2)
}

/// A kernel of one warp that multiplies what its lanes have in `m`, words of A, B and C, and leaves D there.
fn kernel(opcode: &str, [a, b, d]: [usize; 3], spoil: &str) -> String {
    let list = |name: &str, count: usize| {
        (0..count).map(|at| format!("{name}{at}")).collect::<Vec<String>>().join(", ")
    };
    let mut text = format!(
        ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 m)\n{{\n\
         .reg .b64 p, o; .reg .b32 lane, unknown; .reg .pred q; .reg .b32 a<8>, b<8>, c<8>, d<8>;\n\
         ld.param.u64 p, [m]; mov.u32 lane, %laneid; mul.wide.u32 o, lane, {}; add.u64 p, p, o;\n",
        4 * (a + b + d)
    );
    for (name, count, from) in [("a", a, 0), ("b", b, a), ("c", d, a + b)] {
        for at in 0..count {
            text.push_str(&format!("ld.global.b32 {name}{at}, [p+{}];\n", 4 * (from + at)));
        }
    }
    text.push_str(spoil);
    text.push_str(&format!(
        "{opcode} {{{}}}, {{{}}}, {{{}}}, {{{}}};\n",
        list("d", d),
        list("a", a),
        list("b", b),
        list("c", d)
    ));
    for at in 0..d {
        text.push_str(&format!("st.global.b32 [p+{}], d{at};\n", 4 * at));
    }
    text + "ret;\n}\n"
}

/// What the lanes have of a tile, in words.
fn words(form: &Form, [a, b, c, _]: &[Vec<u32>; 4]) -> ([usize; 3], Vec<u8>) {
    let (bits, d_bits) = form.bits;
    let (per, d_per) = (32 / bits, 32 / d_bits);
    let counts = [16 * form.k / 32 / per, 8 * form.k / 32 / per, 4 / d_per];
    let mut all = Vec::new();
    for lane in 0..32 {
        let mut push = |count: usize, per: usize, bits: usize, element: &dyn Fn(usize) -> u32| {
            for register in 0..count {
                let word = (0..per).fold(0, |word, at| word | element(register * per + at) << (at * bits));
                all.extend(word.to_le_bytes());
            }
        };
        push(counts[0], per, bits, &|i| {
            let (row, column) = a_of(lane, i, per);
            a[row * form.k + column]
        });
        push(counts[1], per, bits, &|i| {
            let (row, column) = b_of(lane, i, per);
            b[column * form.k + row]
        });
        push(counts[2], d_per, d_bits, &|i| {
            let (row, column) = d_of(lane, i);
            c[row * 8 + column]
        });
    }
    (counts, all)
}

fn opcode(form: &Form) -> String {
    let (d, ty) = match &*form.name {
        "f16_f32" | "f16k8_f32" => ("f32", "f16"),
        "f16_f16" => ("f16", "f16"),
        "bf16_f32" => ("f32", "bf16"),
        "tf32_f32" => ("f32", "tf32"),
        "e4m3_f32" => ("f32", "e4m3"),
        "e5m2_f32" => ("f32", "e5m2"),
        "s8_s32" => ("s32", "s8"),
        other => panic!("{other}"),
    };
    format!("mma.sync.aligned.m16n8k{}.row.col.{d}.{ty}.{ty}.{d}", form.k)
}

/// Element `i` of a lane's D.
fn element(output: &Output, counts: [usize; 3], d_bits: usize, (lane, i): (usize, usize)) -> Option<u32> {
    let start = 4 * lane * counts.iter().sum::<usize>() + i * d_bits / 8;
    let is_unknown = output.unknown.iter().any(|it| it.start < start + d_bits / 8 && start < it.end);
    let bytes = output.bytes[start..start + d_bits / 8].iter().rev();
    (!is_unknown).then(|| bytes.fold(0, |word, byte| word << 8 | u32::from(*byte)))
}

fn forms() -> Vec<Form> {
    read(&fs::read(root().join("fixtures/hardware/mma_sync.bin")).unwrap())
}

#[test]
fn a_warp_multiplies_as_an_h200_does() {
    let mut compared = 0;
    for form in forms() {
        for tile in form.tiles.iter().step_by(form.tiles.len() / TILES) {
            let (counts, data) = words(&form, tile);
            let arguments: Vec<Argument> = vec![buffer(data)];
            let output = left(&kernel(&opcode(&form), counts, ""), arguments, 32);
            for (lane, i) in (0..32).flat_map(|lane| (0..4).map(move |i| (lane, i))) {
                let (row, column) = d_of(lane, i);
                let expected = tile[3][row * 8 + column];
                let got = element(&output, counts, form.bits.1, (lane, i));
                // Which NaN a sum of fp8 gives is not known.
                let nan = |bits: u32| f32::from_bits(bits).is_nan() && form.name.starts_with('e');
                let is_same = got == Some(expected) || nan(expected) && got.is_some_and(nan);
                assert!(is_same, "{} ({row}, {column}): {got:x?}, recorded {expected:x}", form.name);
                compared += 1;
            }
        }
    }
    assert_eq!(compared, 8 * TILES * 128);
}

#[test]
fn what_is_not_known_of_a_factor_is_a_row_or_a_column() {
    let form = forms().into_iter().find(|form| form.name == "f16_f32").unwrap();
    let tile = &form.tiles[0];
    let (counts, data) = words(&form, tile);
    // In lane 6: register 1 of A has the row 9, register 0 of B the column 1, register 3 of C the element (9, 5).
    for (register, is_lost) in [
        ("a1", &(|row: usize, _: usize| row == 9) as &dyn Fn(usize, usize) -> bool),
        ("b0", &|_: usize, column: usize| column == 1),
        ("c3", &|row: usize, column: usize| (row, column) == (9, 5)),
    ] {
        let spoil = format!("setp.eq.u32 q, lane, 6; @q mov.b32 {register}, unknown;\n");
        let output = left(&kernel(&opcode(&form), counts, &spoil), vec![buffer(data.clone())], 32);
        for (lane, i) in (0..32).flat_map(|lane| (0..4).map(move |i| (lane, i))) {
            let (row, column) = d_of(lane, i);
            let got = element(&output, counts, 32, (lane, i));
            let expected = (!is_lost(row, column)).then_some(tile[3][row * 8 + column]);
            assert_eq!(got, expected, "{register}: ({row}, {column})");
        }
    }
}

#[test]
fn forms_that_are_not_computed_leave_what_is_not_known() {
    // What sm_80 computes of four matrices of halves nobody has recorded.
    let four = "mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16";
    for (opcode, target, counts) in [(four, "sm_80", [2, 2, 4])] {
        let count: usize = counts.iter().sum();
        let text = kernel(opcode, counts, "").replace("sm_90", target);
        let output = left(&text, vec![buffer(vec![0; 4 * 32 * count])], 32);
        for (lane, register) in (0..32).flat_map(|lane| (0..counts[2]).map(move |it| (lane, it))) {
            assert_eq!(element(&output, counts, 32, (lane, register)), None, "{opcode}");
        }
    }
}

/// Integers are exact: products of nibbles and of bytes, whose sum may be clamped.
#[test]
fn integers_are_summed_exactly() {
    for (ty, bits, m, k, registers) in [
        ("s4", 4, 16, 32, [2, 1, 4]),
        ("u4", 4, 16, 64, [4, 2, 4]),
        ("s4", 4, 8, 32, [1, 1, 2]),
        ("u8", 8, 8, 16, [1, 1, 2]),
        ("s8", 8, 16, 16, [2, 1, 4]),
        ("u8", 8, 16, 32, [4, 2, 4]),
    ] {
        for (satfinite, start) in [("", 5), (".satfinite", i32::MAX - 3)] {
            let count: usize = registers.iter().sum();
            // Words that are the same in all lanes: then all rows of A and all columns of B are the same, too.
            let (a, b) = (0x7531_2461_u32, 0x1234_5677_u32);
            let mut data = Vec::new();
            for _ in 0..32 {
                data.extend((0..registers[0]).flat_map(|_| a.to_le_bytes()));
                data.extend((0..registers[1]).flat_map(|_| b.to_le_bytes()));
                data.extend((0..registers[2]).flat_map(|_| start.to_le_bytes()));
            }
            let opcode = format!("mma.sync.aligned.m{m}n8k{k}.row.col{satfinite}.s32.{ty}.{ty}.s32");
            let output = left(&kernel(&opcode, registers, ""), vec![buffer(data)], 32);
            let number = |word: u32, at: u32| i64::from(word >> (at * bits) & ((1 << bits) - 1));
            let per = 32 / bits;
            // None has its upper bit set, so that signed and unsigned are the same.
            let sum: i64 = (0..k).map(|at| number(a, at % per) * number(b, at % per)).sum::<i64>();
            let exact = sum + i64::from(start);
            let expected =
                if satfinite.is_empty() { exact as i32 } else { exact.min(i32::MAX.into()) as i32 };
            assert_eq!(output.bytes.len(), 4 * 32 * count);
            for (lane, register) in (0..32).flat_map(|lane| (0..registers[2]).map(move |it| (lane, it))) {
                let got = element(&output, registers, 32, (lane, register));
                assert_eq!(got, Some(expected.cast_unsigned()), "{opcode}");
            }
        }
    }
}
