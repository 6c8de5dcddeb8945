//! What a GPU has computed, as fixtures/hardware has recorded it, computed again.

use std::fs;

use ptx_check::resolve::operations::Opcode;
use ptx_simulation::addresses::matrix::eight_by_eight;
use ptx_simulation::addresses::{Element, Im2col, Operand, Piece, Swizzle, Tensor, Tile};
use ptx_simulation::arithmetic::Lanes;

use crate::root;

/// How far a result may be from the hardware's.
#[derive(Clone, Copy)]
enum Tolerance {
    /// Not at all.
    Exact,
    /// So many units in the last place.
    Units(u64),
    /// So much, as a power of two.
    Absolute(i32),
    /// So much in proportion to it, as a power of two.
    Relative(i32),
    /// One or the other.
    Either(i32, i32),
}

/// The ISA's own bounds of its approximations, by how an opcode starts: of what the hardware may be
/// off, and so of what the exact value may differ from it.
const TOLERANCES: &[(&str, Tolerance)] = &[
    ("div.approx", Tolerance::Units(2)),
    ("div.full", Tolerance::Units(2)),
    ("rcp.approx.ftz.f64", Tolerance::Relative(-19)),
    ("rcp.approx", Tolerance::Units(1)),
    ("sqrt.approx", Tolerance::Relative(-22)),
    ("rsqrt.approx.ftz.f64", Tolerance::Relative(-19)),
    ("rsqrt.approx.f64", Tolerance::Units(1)),
    ("rsqrt.approx", Tolerance::Relative(-22)),
    ("sin.approx", Tolerance::Absolute(-20)),
    ("cos.approx", Tolerance::Absolute(-20)),
    ("lg2.approx", Tolerance::Either(-22, -22)),
    ("ex2.approx.f16", Tolerance::Relative(-9)),
    ("ex2.approx.ftz.bf16", Tolerance::Relative(-7)),
    ("ex2.approx", Tolerance::Units(2)),
    ("tanh.approx.f16", Tolerance::Absolute(-10)),
    ("tanh.approx.bf16", Tolerance::Absolute(-8)),
    ("tanh.approx", Tolerance::Relative(-11)),
];

/// A form of the record, and its executions in rows of what was read and written.
struct Form<'t> {
    opcode: &'t str,
    sources: Vec<&'t str>,
    destinations: Vec<&'t str>,
    /// The lanes that execute it; the others have zeros.
    active: u32,
    rows: Vec<Vec<u64>>,
}

fn forms(text: &str) -> Vec<Form<'_>> {
    let form = |block| {
        let (head, rows) = str::split_once(block, '\n').unwrap();
        let parts: Vec<&str> = head.split(" | ").collect();
        let row = |line: &str| line.split(' ').map(|word| u64::from_str_radix(word, 16).unwrap()).collect();
        Form {
            opcode: parts[0],
            sources: parts[1].split_whitespace().collect(),
            destinations: parts[2].split_whitespace().collect(),
            active: u32::from_str_radix(parts[3], 16).unwrap(),
            rows: rows.lines().map(row).collect(),
        }
    };
    text.split("\n> ").skip(1).map(form).collect()
}

fn record(name: &str) -> String {
    fs::read_to_string(root().join("fixtures/hardware").join(name)).unwrap()
}

#[test]
fn instructions_compute_what_the_hardware_does() {
    let text = record("arithmetic.txt");
    let forms = forms(&text);
    let mut wrong = Vec::new();
    for form in &forms {
        let width: u32 = form.destinations[0][1..].parse().unwrap();
        let arithmetic = Opcode::new(form.opcode)
            .arithmetic()
            .unwrap_or_else(|| panic!("{} computes nothing", form.opcode))
            .unwrap_or_else(|error| panic!("{}: {error}", form.opcode))
            .widened(width);
        let tolerance = TOLERANCES.iter().find(|(start, _)| form.opcode.starts_with(start));
        let tolerance = tolerance.map_or(Tolerance::Exact, |(_, tolerance)| *tolerance);
        for warp in form.rows.chunks(32) {
            let mut read = 0;
            let sources: Vec<Lanes> = form
                .sources
                .iter()
                .map(|source| {
                    if let Some(number) = source.strip_prefix('=') {
                        [u64::from_str_radix(number, 16).unwrap(); 32]
                    } else {
                        read += 1;
                        std::array::from_fn(|lane| warp[lane][read - 1])
                    }
                })
                .collect();
            let mut results: Vec<Lanes> = vec![[0; 32]; form.destinations.len()];
            arithmetic.execute(
                form.active,
                &sources.iter().collect::<Vec<_>>(),
                &mut results.iter_mut().collect::<Vec<_>>(),
            );
            for (lane, row) in warp.iter().enumerate() {
                for (result, expected) in results.iter().zip(&row[read..]) {
                    if !is_within(tolerance, form.opcode, *expected, result[lane]) {
                        let inputs = &row[..read];
                        let got = result[lane];
                        wrong.push(format!("{} {inputs:x?}: {expected:x}, not {got:x}", form.opcode));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong[..wrong.len().min(40)].join("\n"));
    assert!(forms.len() > 1000, "{} forms", forms.len());
}

/// Whether two results of an opcode are near enough.
fn is_within(tolerance: Tolerance, opcode: &str, expected: u64, got: u64) -> bool {
    if expected == got {
        return true;
    }
    if let Tolerance::Exact = tolerance {
        return false;
    }
    let (value, width): (fn(u64) -> f64, u32) = match opcode.rsplit('.').next().unwrap() {
        "f64" => (f64::from_bits, 64),
        "f32" => (|bits| f64::from(f32::from_bits(bits as u32)), 32),
        "f16" | "f16x2" => (half, 16),
        "bf16" | "bf16x2" => (|bits| f64::from(f32::from_bits((bits as u32 & 0xFFFF) << 16)), 16),
        other => panic!("{other}"),
    };
    if opcode.ends_with("x2") && expected >> 16 != got >> 16 {
        let upper = is_within(tolerance, &opcode[..opcode.len() - 2], expected >> 16, got >> 16);
        return upper && is_within(tolerance, &opcode[..opcode.len() - 2], expected & 0xFFFF, got & 0xFFFF);
    }
    let (a, b) = (value(expected), value(got));
    if !a.is_finite() || !b.is_finite() {
        return a.total_cmp(&b).is_eq();
    }
    let difference = (a - b).abs();
    let absolute = |power: i32| difference <= 2_f64.powi(power);
    let relative = |power: i32| difference <= b.abs() * 2_f64.powi(power);
    match tolerance {
        Tolerance::Exact => false,
        // Positive and negative numbers are not neighbours, zero but for.
        Tolerance::Units(units) => {
            let sign = 1_u64 << (width - 1);
            expected & sign == got & sign && (expected & !sign).abs_diff(got & !sign) <= units
        }
        Tolerance::Absolute(power) => absolute(power),
        Tolerance::Relative(power) => relative(power),
        Tolerance::Either(first, second) => absolute(first) || relative(second),
    }
}

fn half(bits: u64) -> f64 {
    let (exponent, fraction) = ((bits >> 10 & 31) as i32, (bits & 0x3FF) as f64);
    let magnitude = match exponent {
        0 => fraction * 2_f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2_f64.powi(exponent - 25),
    };
    if bits & 0x8000 == 0 { magnitude } else { -magnitude }
}

/// What the line of a case says after a word.
fn field<'t>(line: &'t str, name: &str) -> &'t str {
    line.split(" | ").find_map(|part| part.strip_prefix(name)?.strip_prefix(' ')).unwrap_or("-")
}

fn numbers<T: std::str::FromStr<Err: std::fmt::Debug>>(text: &str) -> Vec<T> {
    if text == "-" { vec![] } else { text.split(',').map(|word| word.parse().unwrap()).collect() }
}

fn swizzle(name: &str) -> Swizzle {
    match name {
        "none" => Swizzle::None,
        "32B" => Swizzle::Bytes32,
        "64B" => Swizzle::Bytes64,
        "128B" => Swizzle::Bytes128,
        other => panic!("{other}"),
    }
}

#[test]
fn boxes_are_copied_as_the_hardware_does() {
    let text = record("copies.txt");
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let mut copied = 0;
    for case in lines.chunks(2) {
        let [line, outcome] = case else { panic!("{case:?}") };
        // Those with interleaved channels are compared as kernels copy them.
        if field(line, "interleave") != "-" {
            continue;
        }
        let (kind, ty) = line[2..].split(" | ").next().unwrap().split_once(' ').unwrap();
        let bits: u32 = ty.trim_start_matches(char::is_alphabetic).parse().unwrap();
        let swizzle = swizzle(field(line, "swizzle"));
        let tensor = Tensor {
            element: Element::bytes(bits / 8),
            sizes: numbers(field(line, "sizes")),
            strides: numbers(field(line, "strides")),
        };
        let at: Vec<i32> = numbers(field(line, "at"));
        let to: u32 = field(line, "to").parse().unwrap();
        let box_sizes: Vec<u32> = numbers(field(line, "box"));
        let steps: Vec<u32> = numbers(field(line, "steps"));
        let mut bytes: Vec<Option<Option<u64>>> = vec![None; 1 << 14];
        let mut count = 0;
        let mut put = |piece: Piece| {
            count += u64::from(piece.bytes);
            for byte in 0..piece.bytes {
                let place = &mut bytes[(piece.shared + byte) as usize];
                assert!(place.is_none(), "{line}: twice");
                *place = Some(piece.global.map(|global| global + u64::from(byte)));
            }
        };
        let expected_count = if kind == "tile" {
            let tile = Tile { tensor, sizes: box_sizes, steps, swizzle, is_interleaved: false };
            assert_eq!(tile.may_start_at(&at), !outcome.starts_with("failed"), "{line}");
            if outcome.starts_with("failed") {
                continue;
            }
            tile.pieces(&at, to, &mut put);
            tile.row_count() * u64::from(tile.row_bytes())
        } else {
            let (lower, upper) = field(line, "corners").split_once(';').unwrap();
            let column = Im2col {
                tensor,
                lower: numbers(lower),
                upper: numbers(upper),
                channels: box_sizes[0],
                pixels: box_sizes[1],
                steps,
                swizzle,
                is_interleaved: false,
            };
            column.pieces(&at, &numbers::<u16>(field(line, "offsets")), to, &mut put);
            u64::from(column.pixels) * u64::from(column.row_bytes())
        };
        assert_eq!(count, expected_count, "{line}");
        let mut expected = vec![None; 1 << 14];
        for run in outcome.split(' ').filter(|run| !run.starts_with("fill=")) {
            let parts: Vec<&str> = run.split(':').collect();
            let number = |text: &str| u64::from_str_radix(text, 16).unwrap();
            for byte in 0..number(parts[1]) {
                let origin = if parts[2] == "fill" { None } else { Some(number(parts[2]) + byte) };
                expected[(number(parts[0]) + byte) as usize] = Some(origin);
            }
        }
        let wrong = (0..bytes.len()).find(|place| bytes[*place] != expected[*place]);
        if let Some(place) = wrong {
            panic!("{line}: at {place:x} is {:x?}, not {:x?}", expected[place], bytes[place]);
        }
        copied += 1;
    }
    assert!(copied > 100, "{copied} boxes");
}

#[test]
fn matrices_go_to_registers_as_the_hardware_does() {
    let text = record("matrices.txt");
    let blocks: Vec<&str> = text.split("> ").skip(1).collect();
    assert_eq!(blocks.len(), 12);
    for block in blocks {
        let mut lines = block.lines();
        let (name, form) = lines.next().unwrap().split_once('.').unwrap();
        let words: Vec<Vec<u32>> = lines
            .map(|line| line.split(' ').map(|word| u32::from_str_radix(word, 16).unwrap()).collect())
            .collect();
        let is_transposed = form.ends_with("trans");
        let count = form[1..].split('.').next().unwrap().parse().unwrap();
        // Where the row is whose address a lane has.
        let row = |lane: u32| (5 * lane + 3) % 32 * 16;
        let mut rows = vec![0xFFFF_u16; 256];
        for matrix in 0..count {
            for lane in 0..32 {
                let mut loaded = 0;
                for place in eight_by_eight(lane, matrix, is_transposed) {
                    for half in 0..place.bytes / 2 {
                        let element = u32::midpoint(row(place.row), place.byte) + half;
                        let bit = place.bit + 16 * half;
                        loaded |= element << bit;
                        rows[element as usize] = (8 * lane + 2 * matrix + bit / 16) as u16;
                    }
                }
                if name == "ldmatrix" {
                    assert_eq!(words[matrix as usize][lane as usize], loaded, "{form}, lane {lane}");
                }
            }
        }
        if name == "stmatrix" {
            let stored: Vec<u16> =
                words.concat().iter().flat_map(|word| [*word as u16, (word >> 16) as u16]).collect();
            assert_eq!(stored, rows, "{form}");
        }
    }
}

#[test]
fn operands_lie_as_the_hardware_reads_them() {
    let text = record("operands.txt");
    let mut compared = 0;
    for block in text.split("> ").skip(1) {
        let mut lines = block.lines();
        let words: Vec<&str> = lines.next().unwrap().split(' ').collect();
        let number = |at: usize| words[at].split_once('=').unwrap().1.parse().unwrap();
        let operand = Operand {
            start: number(4),
            leading: number(2),
            stride: number(3),
            swizzle: swizzle(words[1]),
            is_k_major: words[0] == "k",
            base: if words.len() > 5 { number(5) } else { 0 },
            is_absolute: false,
        };
        for line in lines {
            let (row, elements) = line.split_once(": ").unwrap();
            for (column, element) in elements.split(' ').enumerate() {
                let expected = 2 * u32::from_str_radix(element, 16).unwrap();
                let got = operand.address(row.parse().unwrap(), column as u32, 2);
                assert_eq!(got, expected, "{operand:?}, row {row}, column {column}");
                compared += 1;
            }
        }
    }
    assert!(compared > 5_000, "{compared}");
}
