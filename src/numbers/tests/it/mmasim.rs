//! What MMA-Sim computes, as `fixtures/numbers/record_mmasim.py` has recorded it. That file explains the record.

use std::fs;
use std::path::Path;

use ptx_numbers::{Accumulator, Format, Kind, Matrix, Multiply, OldD, Target};

const SIZE: usize = 64;

fn random(seed: u64, count: usize) -> impl Iterator<Item = u64> {
    let start = seed.wrapping_mul(0xD134_2543_DE82_EF95);
    (1..=count as u64).map(move |at| {
        let x = start.wrapping_add(at.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ x >> 31
    })
}

/// Exponent bits, fraction bits, bias, whether there is a sign, whether the largest exponent has no finite numbers.
fn shape(format: &str) -> (u32, u32, i64, bool, bool) {
    match format {
        "f32" | "tf32" => (8, 23, 127, true, true),
        "f16" => (5, 10, 15, true, true),
        "bf16" => (8, 7, 127, true, true),
        "e4m3" => (4, 3, 7, true, false),
        "e5m2" => (5, 2, 15, true, true),
        "e3m2" => (3, 2, 3, true, false),
        "e2m3" => (2, 3, 1, true, false),
        "e2m1" => (2, 1, 1, true, false),
        "ue8m0" => (8, 0, 127, false, false),
        "ue4m3" => (4, 3, 7, false, false),
        format => panic!("{format}"),
    }
}

fn codes(format: &str, mode: &str, seed: u64, count: usize) -> Vec<u32> {
    let (exponent, fraction, bias, signed, special) = shape(format);
    let largest = (1_u64 << exponent) - 1;
    let code = |r: u64| {
        if mode == "wide" && (r >> 56).is_multiple_of(8) {
            return 0;
        }
        let sign = if signed { (r >> 24 & 1) << (exponent + fraction) } else { 0 };
        let field = if mode == "bits" {
            let field = r >> 32 & largest;
            let keep = (r >> 48).is_multiple_of(64);
            if field == largest && !keep { field & largest >> 1 } else { field }
        } else {
            let spread: i64 = if mode == "wide" { 40 } else { 5 };
            let field = bias - spread / 2 + ((r >> 32) % spread.unsigned_abs()).cast_signed();
            field.clamp(0, largest.cast_signed() - i64::from(special)).cast_unsigned()
        };
        (sign | field << fraction | r & ((1 << fraction) - 1)) as u32
    };
    random(seed, count).map(code).collect()
}

fn format(name: &str) -> Format {
    *Format::ALL.iter().find(|format| format.parameters().name == name).unwrap()
}

/// The hash of the D of one line, whose last word it is.
fn compute(words: &[&str], seed: u64) -> u64 {
    let [kind, a_type, b_type, d_type, scale_type, blocks, k, mode] = words[..] else { panic!("{words:?}") };
    let (blocks, k): (usize, usize) = (blocks.parse().unwrap(), k.parse().unwrap());
    let mut a = codes(a_type, mode, seed, SIZE * k);
    let mut b = codes(b_type, mode, seed + 1, SIZE * k);
    let mut d = codes(d_type, mode, seed + 2, SIZE * SIZE);
    if mode == "cancel" {
        let (exponent, fraction, ..) = shape(a_type);
        for from in (0..SIZE * k).step_by(k) {
            for at in from..from + k / 2 - 1 {
                a[at + k / 2] = a[at] ^ 1 << (exponent + fraction);
                b[at + k / 2] = b[at];
            }
        }
    }
    let kind = match kind {
        "tf32" => Kind::Tf32,
        "f16" => Kind::F16,
        "f8f6f4" => Kind::F8f6f4,
        "mxf8f6f4" => Kind::Mxf8f6f4,
        "mxf4" => Kind::Mxf4,
        "mxf4nvf4" => Kind::Mxf4nvf4,
        kind => panic!("{kind}"),
    };
    let accumulator = if d_type == "f16" { Accumulator::F16 } else { Accumulator::F32 };
    let mut multiply = Multiply::tcgen05(kind, Target::Sm100, format(a_type), format(b_type), accumulator);
    let mut scales = [Vec::new(), Vec::new()];
    if blocks > 0 {
        multiply.scale = Some(format(scale_type));
        scales = [seed + 3, seed + 4].map(|seed| codes(scale_type, mode, seed, SIZE * blocks));
    }
    let a = multiply.rows(&Matrix::new(SIZE, k, &a).scaled(&scales[0])).unwrap();
    let b = multiply.columns(&Matrix::new(SIZE, k, &b).scaled(&scales[1])).unwrap();
    multiply.execute(&a, &b, &mut d, OldD::Read { scale: 0 }).unwrap();
    d.iter()
        .flat_map(|word| word.to_le_bytes())
        .fold(0xCBF2_9CE4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3))
}

#[test]
fn mmasim() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/numbers/mmasim.txt");
    let text = fs::read_to_string(path).unwrap();
    let mut different = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let words: Vec<&str> = line.split(' ').collect();
        let (hash, words) = words.split_last().unwrap();
        if format!("{:016x}", compute(words, 1 + 8 * at as u64)) != *hash {
            different.push(line);
        }
    }
    assert!(different.is_empty(), "{} lines differ:\n{}", different.len(), different.join("\n"));
    assert!(text.lines().count() * SIZE * SIZE > 1_000_000);
}
