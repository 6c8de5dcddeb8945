//! What multiplies compute: kernels that compilers made, against sums of integers.
//!
//! The elements are small numbers whose sums are exact, so that results are equal or wrong. A swizzle, a stride, a
//! layout of Tensor Memory or a scale that is misread gives other sums.

#![allow(clippy::many_single_char_names, reason = "matrices and their sizes are called so")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::multiplied::{self, BF16, Case, F16, F32, LAYOUTS, Random, SCALED, map, numbers};

/// Runs a kernel: the bytes that it leaves in `c`.
fn run(name: &str, module: &str, launch: &str, files: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let (bytes, text) = launched(name, name, module, launch, files);
    assert!(!text.contains("not known"), "{name}: {text}");
    bytes
}

/// Runs a kernel in a folder: the bytes that it leaves in `c`, and what is said.
fn launched(
    folder: &str,
    name: &str,
    module: &str,
    launch: &str,
    files: &[(&str, Vec<u8>)],
) -> (Vec<u8>, String) {
    let directory: PathBuf =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join("results").join(format!("{module}.{folder}"));
    fs::create_dir_all(&directory).unwrap();
    for (file, bytes) in files {
        fs::write(directory.join(file), bytes).unwrap();
    }
    fs::write(directory.join("launch.toml"), launch).unwrap();
    let module = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/kernels").join(module);
    let output = Command::new(env!("CARGO_BIN_EXE_ptx-tc"))
        .arg("simulate")
        .arg(module)
        .args(["--kernel", name, "--launch", "launch.toml"])
        .current_dir(&directory)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{name}: {text} {}", String::from_utf8_lossy(&output.stderr));
    (fs::read(directory.join("c.bin")).unwrap(), text)
}

/// Asks for the origin of a byte of `c`, after [`run`]: the elements of A and of B, multiply by multiply, and those of
/// their scale factors.
fn origin(name: &str, module: &str, byte: usize) -> Vec<[Vec<String>; 4]> {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("results").join(format!("{module}.{name}"));
    let module = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/kernels").join(module);
    let output = Command::new(env!("CARGO_BIN_EXE_ptx-tc"))
        .arg("simulate")
        .arg(module)
        .args(["--kernel", name, "--launch", "launch.toml", "--format", "json"])
        .args(["--explain", &format!("c.bin[{byte}]")])
        .current_dir(&directory)
        .output()
        .unwrap();
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut all = Vec::new();
    collect(&document["kernels"][0]["explained"]["origin"], &mut all);
    all
}

fn collect(origin: &Value, all: &mut Vec<[Vec<String>; 4]>) {
    let from = origin["from"].as_array().map_or(&[][..], Vec::as_slice);
    let elements = |name: &str| -> Vec<String> {
        let found = from.iter().find(|it| it["text"] == name);
        let found = found.and_then(|it| it["elements"].as_array()).into_iter().flatten();
        found.map(|it| it.as_str().unwrap().to_owned()).collect()
    };
    if from.iter().any(|it| it["text"] == "A") {
        all.push([elements("A"), elements("B"), elements("scales of A"), elements("scales of B")]);
    }
    for from in from {
        collect(from, all);
    }
}

/// A row of a matrix in a file, cut into so many pieces.
fn row_in_pieces(file: &str, row: usize, k: usize, pieces: usize) -> Vec<Vec<String>> {
    let each = k / pieces;
    (0..pieces).map(|at| vec![format!("{file}[{row}, {}..{}]", at * each, (at + 1) * each)]).collect()
}

/// Looks whether the origin of a byte of `c` is a row of A and a column of B, in the order of K.
fn comes_from(name: &str, module: &str, byte: usize, a: &[Vec<String>], b: &[Vec<String>]) {
    let origin = origin(name, module, byte);
    let of = |which: usize| -> Vec<Vec<String>> { origin.iter().map(|it| it[which].clone()).collect() };
    assert_eq!(of(0), a, "{name}: A");
    assert_eq!(of(1), b, "{name}: B");
}

/// The places in a row of B that a piece such as `b.bin[3, 4..6]` names.
fn along_row(piece: &str, row: usize) -> Vec<usize> {
    let index = piece.strip_prefix(&format!("b.bin[{row}, ")).and_then(|it| it.strip_suffix(']'));
    let index = index.unwrap_or_else(|| panic!("{piece} is not in row {row}"));
    match index.split_once("..") {
        Some((from, to)) => (from.parse().unwrap()..to.parse().unwrap()).collect(),
        None => vec![index.parse().unwrap()],
    }
}

/// Runs a kernel and compares what it leaves with what its multiplies should give.
fn computes(case: &Case) {
    let Case { name, module, launch, files, .. } = case;
    let wrong = case.differences(&run(name, module, launch, files));
    assert_eq!(wrong, 0, "{name}: of {} elements", case.wanted.len());
}

/// Some row and column of a result, and where their element is in the file, if elements take so many bytes.
fn some_element(random: &mut Random, [m, n, _]: [usize; 3], bytes: usize) -> (usize, usize, usize) {
    let (row, column) = (random.below(m as u64) as usize, random.below(n as u64) as usize);
    (row, column, (row * n + column) * bytes)
}

#[test]
fn dense_multiplies() {
    let mut random = Random(1);
    for case in multiplied::dense() {
        computes(&case);
        let (row, column, byte) = some_element(&mut random, case.shape, case.d.bits as usize / 8);
        // A multiply takes 32 bytes of K.
        let pieces = |file: &str, line: usize| row_in_pieces(file, line, case.shape[2], 8);
        comes_from(case.name, case.module, byte, &pieces("a.bin", row), &pieces("b.bin", column));
    }
}

#[test]
fn layouts_of_operands() {
    let mut random = Random(2);
    for (case, (_, ty, _, [a_box, b_box], _)) in multiplied::layouts().iter().zip(LAYOUTS) {
        computes(case);
        let (row, column, byte) = some_element(&mut random, case.shape, 4);
        let pieces = |file: &str, line: usize, (_, is_mn_major): (usize, bool)| -> Vec<Vec<String>> {
            let each = 256 / ty.bits as usize;
            let piece = |from: usize| {
                let along = format!("{from}..{}", from + each);
                vec![if is_mn_major {
                    format!("{file}[{along}, {line}]")
                } else {
                    format!("{file}[{line}, {along}]")
                }]
            };
            (0..case.shape[2]).step_by(each).map(piece).collect()
        };
        let (a, b) = (pieces("a.bin", row, a_box), pieces("b.bin", column, b_box));
        comes_from(case.name, case.module, byte, &a, &b);
    }
}

#[test]
fn block_scaled_multiplies() {
    let mut random = Random(3);
    for (case, (module, name, a_type, _, of_scale, n, _)) in multiplied::scaled().iter().zip(SCALED) {
        computes(case);
        // Where elements are padded, a place in the file is in other units than its elements.
        if a_type.is_padded() {
            continue;
        }
        let (row, column, byte) = some_element(&mut random, case.shape, 2);
        let k = case.shape[2];
        let each = k / of_scale;
        let bytes = k * a_type.bits as usize / 8;
        let pieces = |file: &str, line: usize| row_in_pieces(file, line, bytes, 4);
        comes_from(name, module, byte, &pieces("a.bin", row), &pieces("b.bin", column));
        // A multiply takes a fourth of the scales of a row, or the same four of them by their ids.
        let place = |row: usize, at: usize| {
            (row / 128 * each / 4 + at / 4) * 512 + row % 32 * 16 + row % 128 / 32 * 4 + at % 4
        };
        let of_b = |at: usize| {
            let rows = n / 128;
            (at / 4 * rows + column / 128) * 512 + column % 32 * 16 + column % 128 / 32 * 4 + at % 4
        };
        let of_step = each / 4;
        let range = |file: &str, first: usize| match of_step {
            1 => vec![format!("{file}[{first}]")],
            _ => vec![format!("{file}[{first}..{}]", first + of_step)],
        };
        for (step, [_, _, of_a, scales_of_b]) in origin(name, module, byte).iter().enumerate() {
            assert_eq!(*of_a, range("sfa.bin", place(row, step * of_step)), "{name}: step {step}");
            assert_eq!(*scales_of_b, range("sfb.bin", of_b(step * of_step)), "{name}: step {step}");
        }
    }
}

/// A significand of one or more and below two (or zero), as an integer over 2^`fraction`, and an exponent.
#[derive(Clone, Copy)]
struct Term {
    significand: i64,
    fraction: u32,
    exponent: i32,
}

/// The bits of a fused sum, as docs/numbers.md says it: all terms are cut towards zero to 25 bits below the largest
/// exponent, added, and the sum is cut to single precision.
fn fused(terms: &[Term]) -> f64 {
    let largest = terms.iter().map(|it| if it.significand == 0 { -133 } else { it.exponent }).max().unwrap();
    let sum: i128 = terms
        .iter()
        .map(|it| {
            let by = 25 + it.exponent - largest - it.fraction.cast_signed();
            let magnitude = i128::from(it.significand.unsigned_abs());
            let cut =
                if by >= 0 { magnitude << by } else { magnitude.checked_shr(by.unsigned_abs()).unwrap_or(0) };
            if it.significand < 0 { -cut } else { cut }
        })
        .sum();
    let bits = 128 - sum.unsigned_abs().leading_zeros();
    let dropped = bits.saturating_sub(24);
    let kept = sum.unsigned_abs() >> dropped;
    let value = kept as f64 * 2_f64.powi(dropped.cast_signed() + largest - 25);
    if sum < 0 { -value } else { value }
}

/// Numbers with all bits of their fractions, whose sums are not exact: the bits are those of one fused sum for each
/// multiply, not of sums one after the other.
#[test]
fn the_bits_of_inexact_sums() {
    let (m, n, k, name) = (128, 32, 64, "gemm_bf16_negated_128x32");
    let mut random = Random(4);
    let mut matrix = |rows: usize| -> Vec<f64> {
        (0..rows * k)
            .map(|_| {
                let (fraction, power) = (random.below(128) as f64, random.below(9) as i32 - 6);
                let sign = if random.below(2) == 0 { 1.0 } else { -1.0 };
                sign * (128.0 + fraction) / 128.0 * 2_f64.powi(power)
            })
            .collect()
    };
    let (a, b) = (matrix(m), matrix(n));
    let launch = format!(
        "grid = [1]\ndynamic_smem = 230000\n{}{}[[arg]]\ntype = \"buffer\"\nbytes = {}\nout = \"c.bin\"\n{}",
        map("a.bin", BF16, [k, m], [64, 128], "128B"),
        map("b.bin", BF16, [k, n], [64, n], "128B"),
        m * n * 4,
        numbers(&[m, n, 1])
    );
    let files = [("a.bin", BF16.bytes(&a)), ("b.bin", BF16.bytes(&b))];
    let result = run(name, "gemm_f16_tma_sm100a.ptx", &launch, &files);
    let split = |value: f64, fraction: u32| {
        let exponent = value.abs().log2().floor() as i32;
        (((value / 2_f64.powi(exponent)) * f64::from(1 << fraction)) as i64, exponent)
    };
    let mut differs_from_plain = 0;
    for (at, bytes) in result.chunks(4).enumerate() {
        let (a, b) = (&a[at / n * k..][..k], &b[at % n * k..][..k]);
        let mut d = 0.0;
        for step in 0..k / 16 {
            let mut terms: Vec<Term> = (step * 16..step * 16 + 16)
                .map(|at| {
                    let ((a, a_exponent), (b, b_exponent)) = (split(-a[at], 7), split(b[at], 7));
                    Term { significand: a * b, fraction: 14, exponent: a_exponent + b_exponent }
                })
                .collect();
            let (significand, exponent) = if d == 0.0 { (0, 0) } else { split(d, 23) };
            terms.push(Term { significand, fraction: 23, exponent });
            d = fused(&terms);
        }
        let bits = u32::from_le_bytes(bytes.try_into().unwrap());
        assert_eq!(bits, F32.encode(d), "row {}, column {}", at / n, at % n);
        let plain: f32 = a.iter().zip(b).fold(0.0, |sum, (a, b)| (-*a as f32).mul_add(*b as f32, sum));
        differs_from_plain += u32::from(plain.to_bits() != bits);
    }
    assert!(differs_from_plain > 1_000, "{differs_from_plain}");
}

#[test]
fn multiplies_of_triton() {
    let mut random = Random(5);
    for case in multiplied::triton() {
        computes(&case);
        let (row, column, byte) = some_element(&mut random, case.shape, 2);
        let k = case.shape[2];
        let each = if case.module.contains("fp8") { 32 } else { 16 };
        let of_row = |file: &str, line: usize| -> Vec<Vec<String>> { row_in_pieces(file, line, k, k / each) };
        comes_from(case.name, case.module, byte, &of_row("a.bin", row), &of_row("b.bin", column));
    }
}

#[test]
fn sparse_multiplies() {
    let mut random = Random(6);
    for (case, places) in multiplied::sparse() {
        computes(&case);
        // A place in the file is in bytes, where elements are smaller.
        if case.name.contains("nvfp4") {
            continue;
        }
        let (row, column, byte) = some_element(&mut random, case.shape, case.d.bits as usize / 8);
        let packed = case.shape[2] / 2;
        let origin = origin(case.name, case.module, byte);
        let kept: Vec<Vec<String>> = origin.iter().map(|it| it[0].clone()).collect();
        assert_eq!(kept, row_in_pieces("a.bin", row, packed, 4), "{}: A", case.name);
        // Where A has zeros, B is not multiplied.
        let multiplied: Vec<usize> =
            origin.iter().flat_map(|it| &it[1]).flat_map(|it| along_row(it, column)).collect();
        assert_eq!(multiplied, places[row * packed..(row + 1) * packed], "{}: B", case.name);
    }
}

/// Attention that Triton compiled, one warp role or several, P in Tensor Memory: against plain sums, within what halves
/// and the card's approximation of `ex2` make of it.
#[test]
fn attention_of_triton() {
    let (length, width) = (256, 128);
    let mut random = Random(7);
    let mut matrix =
        || -> Vec<f64> { (0..length * width).map(|_| (random.below(512) as f64 - 256.0) / 128.0).collect() };
    let (q, k, v) = (matrix(), matrix(), matrix());
    let scale = 1.0 / (width as f64).sqrt();
    let wanted = multiplied::attention([&q, &k, &v], width, scale);
    for module in ["triton_attention_sm100a.ptx", "triton_attention_warp_specialized_sm103a.ptx"] {
        let buffer =
            |bytes: usize, rest: &str| format!("[[arg]]\ntype = \"buffer\"\nbytes = {bytes}\n{rest}\n");
        let array = |rest: &str| buffer(length * width * 2, rest);
        let launch = format!(
            "grid = [2]\ndynamic_smem = 232000\n{}{}{}{}[[arg]]\ntype = \"f32\"\nvalue = {}\n{}{}{}",
            array("data = \"q.bin\""),
            array("data = \"k.bin\""),
            array("data = \"v.bin\""),
            array("out = \"c.bin\""),
            scale * std::f64::consts::LOG2_E,
            numbers(&[length]),
            buffer(1 << 20, ""),
            buffer(1 << 20, "")
        );
        let files = [("q.bin", F16.bytes(&q)), ("k.bin", F16.bytes(&k)), ("v.bin", F16.bytes(&v))];
        let result = run("attention", module, &launch, &files);
        let half = |bytes: &[u8]| multiplied::half(u16::from_le_bytes([bytes[0], bytes[1]]));
        let largest =
            result.chunks(2).zip(&wanted).map(|(it, wanted)| (half(it) - wanted).abs()).fold(0.0, f64::max);
        assert!(largest < 1e-3, "{module}: {largest}");
    }
}

#[test]
fn weight_stationary_multiplies() {
    let mut random = Random(8);
    for case in multiplied::weight_stationary() {
        computes(&case);
        // Columns of B that count as zero come from nowhere.
        if case.name.contains("masked") {
            continue;
        }
        let (row, column, byte) = some_element(&mut random, case.shape, 4);
        let pieces = |file: &str, line: usize| row_in_pieces(file, line, case.shape[2], 8);
        comes_from(case.name, case.module, byte, &pieces("a.bin", row), &pieces("b.bin", column));
    }
}

#[test]
fn multiplies_of_one_shape_each() {
    let cases = [
        multiplied::wide_k(),
        multiplied::of_threads(),
        vec![multiplied::multicast(), multiplied::rescaled(), multiplied::sparse_weight_stationary()],
    ];
    cases.iter().flatten().for_each(computes);
}

#[test]
fn multiplies_of_gluon() {
    multiplied::gluon().iter().for_each(computes);
}

#[test]
fn block_scaled_multiplies_of_triton() {
    multiplied::scaled_by_triton().iter().for_each(computes);
}

/// No source says how a pair of CTAs rounds: a launch that assumes nothing leaves its results unknown, and computes those of
/// one CTA.
#[test]
fn a_launch_that_assumes_nothing() {
    let mut random = Random(9);
    for (module, name, n, pair) in [
        ("gemm_f16_tma_sm100a.ptx", "gemm_f16_128x128", 128, 1),
        ("gemm_cta_pair_sm100a.ptx", "gemm_pair_f16_128x256", 256, 2),
    ] {
        let (m, k) = (128, 64);
        let (a, b) = (random.matrix(m, k, F16), random.matrix(n, k, F16));
        let cluster = if pair == 2 { "cluster = [2]\n" } else { "" };
        let launch = format!(
            "assume = false\ngrid = [{pair}]\n{cluster}dynamic_smem = 230000\n{}{}\
             [[arg]]\ntype = \"buffer\"\nbytes = {}\nout = \"c.bin\"\n{}",
            map("a.bin", F16, [k, m], [64, m / pair], "128B"),
            map("b.bin", F16, [k, n], [64, n / pair], "128B"),
            m * n * 2,
            numbers(&[m, n, 1])
        );
        let files = [("a.bin", F16.bytes(&a)), ("b.bin", F16.bytes(&b))];
        let text = launched(&format!("{name}.assumes_nothing"), name, module, &launch, &files).1;
        assert_eq!(text.contains("not known"), pair == 2, "{text}");
        assert!(text.contains("clean"), "{text}");
    }
}
