//! What multiplies compute: kernels that nvcc compiled, against sums of integers.
//!
//! The elements are small numbers whose sums are exact, so that results are equal or wrong. A swizzle, a stride, a
//! layout of Tensor Memory or a scale that is misread gives other sums.

#![allow(clippy::many_single_char_names, reason = "matrices and their sizes are called so")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// How elements are encoded: bits, bits of the exponent, bits of the fraction; no exponent for integers.
#[derive(Clone, Copy)]
struct Type {
    element: &'static str,
    bits: u32,
    exponent: u32,
    fraction: u32,
}

const F16: Type = Type { element: "f16", bits: 16, exponent: 5, fraction: 10 };
const BF16: Type = Type { element: "bf16", bits: 16, exponent: 8, fraction: 7 };
const F32: Type = Type { element: "f32", bits: 32, exponent: 8, fraction: 23 };
const E4M3: Type = Type { element: "u8", bits: 8, exponent: 4, fraction: 3 };
const E5M2: Type = Type { element: "u8", bits: 8, exponent: 5, fraction: 2 };
const S8: Type = Type { element: "u8", bits: 8, exponent: 0, fraction: 7 };
const E2M1: Type = Type { element: "e2m1", bits: 4, exponent: 2, fraction: 1 };

impl Type {
    /// The bits of a number that the type holds exactly, or rounded to nearest even.
    fn encode(self, value: f64) -> u32 {
        if self.exponent == 0 {
            return value as i32 as u32 & ((1 << self.bits) - 1);
        }
        let sign = u32::from(value.is_sign_negative()) << (self.bits - 1);
        let bias = (1 << (self.exponent - 1)) - 1;
        if value == 0.0 {
            return sign;
        }
        let power = (value.abs().log2().floor() as i32).max(1 - bias);
        let scaled = value.abs() * 2_f64.powi(self.fraction.cast_signed() - power);
        // A carry goes into the exponent by itself; a subnormal number has none.
        let kept = scaled.round_ties_even() as u32;
        sign | if kept >> self.fraction == 0 {
            kept
        } else {
            kept + ((power + bias - 1) as u32).wrapping_shl(self.fraction)
        }
    }

    /// Bytes of elements, one after the other; two of 4 bits in a byte, the first in its lower half.
    fn bytes(self, values: &[f64]) -> Vec<u8> {
        let codes: Vec<u32> = values.iter().map(|value| self.encode(*value)).collect();
        if self.bits == 4 {
            return codes.chunks(2).map(|pair| (pair[0] | pair[1] << 4) as u8).collect();
        }
        codes.iter().flat_map(|code| code.to_le_bytes()[..self.bits as usize / 8].to_vec()).collect()
    }
}

/// Numbers that repeat in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, count: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        (self.0 >> 33) % count
    }

    /// A matrix of whole numbers, or of those that four bits hold.
    fn matrix(&mut self, rows: usize, columns: usize, ty: Type) -> Vec<f64> {
        let of_four = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];
        (0..rows * columns)
            .map(|_| match ty.bits {
                4 => of_four[self.below(8) as usize] * if self.below(2) == 0 { 1.0 } else { -1.0 },
                _ => self.below(7) as f64 - 3.0,
            })
            .collect()
    }
}

/// Rows of A by rows of B.
fn product(a: &[f64], b: &[f64], k: usize) -> Vec<f64> {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    a.chunks(k).flat_map(|a| b.chunks(k).map(move |b| dot(a, b))).collect()
}

fn transposed(matrix: &[f64], columns: usize) -> Vec<f64> {
    (0..columns).flat_map(|column| matrix.iter().skip(column).step_by(columns).copied()).collect()
}

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

/// A tensor map.
fn map(
    file: &str,
    ty: Type,
    [columns, rows]: [usize; 2],
    [width, height]: [usize; 2],
    swizzle: &str,
) -> String {
    format!(
        "[[arg]]\ntype = \"tensor_map\"\nelement = \"{}\"\ndims = [{columns}, {rows}]\nbox = [{width}, {height}]\n\
         swizzle = \"{swizzle}\"\ndata = \"{file}\"\n",
        ty.element
    )
}

fn numbers(all: &[usize]) -> String {
    all.iter().map(|it| format!("[[arg]]\ntype = \"u32\"\nvalue = {it}\n")).collect()
}

/// Compares what a kernel leaves with what its multiplies should give.
fn compare(name: &str, result: &[u8], wanted: &[f64], d: Type) {
    let size = result.len() / wanted.len();
    let mut wrong = 0;
    for (at, wanted) in wanted.iter().enumerate() {
        let mut code = [0; 4];
        code[..size].copy_from_slice(&result[at * size..][..size]);
        let wanted = if d.exponent == 0 { *wanted as i32 as u32 } else { d.encode(*wanted) };
        // -0 is not what sums give.
        let is_zero = wanted << (33 - d.bits.max(1)) == 0 && d.exponent > 0;
        wrong += u32::from(u32::from_le_bytes(code) != if is_zero { 0 } else { wanted });
    }
    assert_eq!(wrong, 0, "{name}: of {} elements", wanted.len());
}

/// Tiles by TMA, K-major, 128 bytes of K in a block.
#[test]
fn dense_multiplies() {
    let mut random = Random(1);
    // The module, the kernel, A, B, D as it is stored, N, CTAs of a pair, and what the kernel does to the sign.
    let cases = [
        ("gemm_f16_tma_sm100a.ptx", "gemm_f16_128x128", F16, F16, F16, 128, 1, 1.0),
        ("gemm_f16_tma_sm100a.ptx", "gemm_bf16_128x64", BF16, BF16, BF16, 64, 1, 1.0),
        ("gemm_f16_tma_sm100a.ptx", "gemm_bf16_negated_128x32", BF16, BF16, F32, 32, 1, -1.0),
        ("gemm_fp8_tma_sm100f.ptx", "gemm_e4m3_e4m3_128x128", E4M3, E4M3, BF16, 128, 1, 1.0),
        ("gemm_fp8_tma_sm100f.ptx", "gemm_e5m2_e4m3_128x192", E5M2, E4M3, BF16, 192, 1, 1.0),
        ("gemm_i8_tma_sm100a.ptx", "gemm_s8_128x128", S8, S8, Type { bits: 32, ..S8 }, 128, 1, 1.0),
        ("gemm_tf32_tma_sm103a.ptx", "gemm_tf32_128x128", F32, F32, F32, 128, 1, 1.0),
        ("gemm_cta_pair_sm100a.ptx", "gemm_pair_f16_128x256", F16, F16, F16, 256, 2, 1.0),
        ("gemm_cta_pair_sm100a.ptx", "gemm_pair_tf32_256x64", F32, F32, F32, 64, 2, 1.0),
    ];
    for (module, name, a_type, b_type, d, n, pair, sign) in cases {
        let m = if name.contains("pair_f16_128") { 128 } else { 128 * pair };
        let block = 1024 / a_type.bits as usize;
        let (blocks, k) = (2, 2 * block);
        let (a, b) = (random.matrix(m, k, a_type), random.matrix(n, k, b_type));
        let cluster = if pair == 2 { "cluster = [2]\n" } else { "" };
        let launch = format!(
            "grid = [{pair}]\n{cluster}dynamic_smem = 230000\n{}{}\
             [[arg]]\ntype = \"buffer\"\nbytes = {}\nout = \"c.bin\"\n{}",
            map("a.bin", a_type, [k, m], [block, m / pair], "128B"),
            map("b.bin", b_type, [k, n], [block, n / pair], "128B"),
            m * n * d.bits as usize / 8,
            numbers(&[m, n, blocks])
        );
        let files = [("a.bin", a_type.bytes(&a)), ("b.bin", b_type.bytes(&b))];
        let result = run(name, module, &launch, &files);
        let wanted: Vec<f64> = product(&a, &b, k).iter().map(|it| it * sign).collect();
        compare(name, &result, &wanted, d);
        let (row, column) = (random.below(m as u64) as usize, random.below(n as u64) as usize);
        let byte = (row * n + column) * d.bits as usize / 8;
        // A multiply takes 32 bytes of K.
        let pieces = |file: &str, line: usize| row_in_pieces(file, line, k, 8);
        comes_from(name, module, byte, &pieces("a.bin", row), &pieces("b.bin", column));
    }
}

/// One tile in every layout of shared memory: widths of swizzling, both majornesses, accumulators of half precision.
#[test]
fn layouts_of_operands() {
    let mut random = Random(2);
    // The kernel, the type, N, how wide boxes of A and B are in bytes, and whether they are MN-major.
    let cases = [
        ("gemm_f16_k32_k32", F16, 64, [(32, false), (32, false)], F32),
        ("gemm_f16_k64_k64_half", F16, 128, [(64, false), (64, false)], F16),
        ("gemm_f16_m128_k128", F16, 128, [(128, true), (128, false)], F32),
        ("gemm_bf16_k128_n128", BF16, 128, [(128, false), (128, true)], F32),
        ("gemm_tf32_m128_n128", F32, 128, [(128, true), (128, true)], F32),
        ("gemm_e4m3_k128_n128_half", E4M3, 128, [(128, false), (128, true)], F16),
    ];
    for (name, ty, n, [a_box, b_box], d) in cases {
        let (m, bytes) = (128, ty.bits as usize / 8);
        let k = 128 / bytes;
        let (a, b) = (random.matrix(m, k, ty), random.matrix(n, k, ty));
        let operand = |file: &str, matrix: &[f64], rows: usize, (width, is_mn_major): (usize, bool)| {
            let mode = match (width, bytes) {
                (128, 4) if is_mn_major => "128B_ATOM_32B",
                (32, _) => "32B",
                (64, _) => "64B",
                _ => "128B",
            };
            let width = width / bytes;
            if is_mn_major {
                (map(file, ty, [rows, k], [width, 128 / bytes], mode), ty.bytes(&transposed(matrix, k)))
            } else {
                (map(file, ty, [k, rows], [width, rows], mode), ty.bytes(matrix))
            }
        };
        let (a_map, a_bytes) = operand("a.bin", &a, m, a_box);
        let (b_map, b_bytes) = operand("b.bin", &b, n, b_box);
        let launch = format!(
            "grid = [1]\ndynamic_smem = 200000\n{a_map}{b_map}[[arg]]\ntype = \"buffer\"\nbytes = {}\n\
             out = \"c.bin\"\n{}",
            m * n * 4,
            numbers(&[n, k])
        );
        let files = [("a.bin", a_bytes), ("b.bin", b_bytes)];
        let mut result = run(name, "gemm_layouts_sm103a.ptx", &launch, &files);
        if d.bits == 16 {
            // A half takes the lower half of a cell.
            result = result.chunks(4).flat_map(|cell| cell[..2].to_vec()).collect();
        }
        compare(name, &result, &product(&a, &b, k), d);
        let (row, column) = (random.below(m as u64) as usize, random.below(n as u64) as usize);
        let pieces = |file: &str, line: usize, (_, is_mn_major): (usize, bool)| -> Vec<Vec<String>> {
            let each = 32 / bytes;
            let piece = |from: usize| {
                let along = format!("{from}..{}", from + each);
                vec![if is_mn_major {
                    format!("{file}[{along}, {line}]")
                } else {
                    format!("{file}[{line}, {along}]")
                }]
            };
            (0..k).step_by(each).map(piece).collect()
        };
        let (a, b) = (pieces("a.bin", row, a_box), pieces("b.bin", column, b_box));
        comes_from(name, "gemm_layouts_sm103a.ptx", (row * n + column) * 4, &a, &b);
    }
}

/// Scale factors in blocks of 512 bytes, 128 rows by four, as `tcgen05.cp.32x128b.warpx4` takes them.
fn blocks(scales: &[u8], rows: usize, each: usize) -> Vec<u8> {
    let mut all = Vec::new();
    for (from, group) in (0..each).step_by(4).flat_map(|from| (0..rows / 128).map(move |group| (from, group)))
    {
        for (lane, column) in (0..32).flat_map(|lane| (0..4).map(move |column| (lane, column))) {
            let row = group * 128 + column * 32 + lane;
            all.extend_from_slice(&scales[row * each + from..][..4]);
        }
    }
    all
}

#[test]
fn block_scaled_multiplies() {
    let mut random = Random(3);
    // The module, the kernel, the types, elements of a scale, N, CTAs.
    let cases = [
        ("gemm_mxfp8_sm100f.ptx", "gemm_mxf8_e4m3_128x128", E4M3, E4M3, 32, 128, 1),
        ("gemm_mxfp8_sm100f.ptx", "gemm_mxf8_e5m2_e4m3_128x256", E5M2, E4M3, 32, 256, 1),
        ("gemm_mxf4_sm100a.ptx", "gemm_mxf4_128x128", E2M1, E2M1, 32, 128, 1),
        ("gemm_nvfp4_sm100a.ptx", "gemm_nvfp4_128x128", E2M1, E2M1, 16, 128, 1),
        ("gemm_nvfp4_sm100a.ptx", "gemm_nvfp4_4x_128x256", E2M1, E2M1, 16, 256, 1),
        ("gemm_nvfp4_sm100a.ptx", "gemm_mxf4nvf4_ue8m0_2x_128x128", E2M1, E2M1, 32, 128, 1),
        ("gemm_scaled_pair_sm100f.ptx", "gemm_pair_mxf8_256x256", E4M3, E4M3, 32, 256, 2),
        ("gemm_scaled_pair_sm100f.ptx", "gemm_pair_nvfp4_256x128", E2M1, E2M1, 16, 128, 2),
    ];
    for (module, name, a_type, b_type, of_scale, n, pair) in cases {
        let m = 128 * pair;
        // One block of K: 128 bytes.
        let k = 1024 / a_type.bits as usize;
        let each = k / of_scale;
        let (a, b) = (random.matrix(m, k, a_type), random.matrix(n, k, b_type));
        let mut scales = |rows: usize| -> (Vec<f64>, Vec<u8>) {
            let all = (0..rows * each).map(|_| match of_scale {
                // ue4m3: 0.5, 1, 1.5, 2.
                16 => [(0.5, 0x30), (1.0, 0x38), (1.5, 0x3C), (2.0, 0x40)][random.below(4) as usize],
                _ => [(0.5, 126), (1.0, 127), (2.0, 128), (4.0, 129)][random.below(4) as usize],
            });
            all.unzip()
        };
        let ((a_scales, a_codes), (b_scales, b_codes)) = (scales(m), scales(n));
        let scaled = |matrix: &[f64], scales: &[f64]| -> Vec<f64> {
            matrix.iter().enumerate().map(|(at, value)| value * scales[at / of_scale]).collect()
        };
        let wanted = product(&scaled(&a, &a_scales), &scaled(&b, &b_scales), k);
        let field = |rest: &str| format!("[[arg.fields]]\n{rest}\n");
        let buffer = |bytes: usize, rest: &str| field(&format!("type = \"buffer\"\nbytes = {bytes}\n{rest}"));
        let number = |value: usize| field(&format!("type = \"i32\"\nvalue = {value}"));
        let launch = format!(
            "grid = [{pair}]\ndynamic_smem = 232000\n{}{}[[arg]]\ntype = \"struct\"\n{}{}{}{}{}{}",
            map("a.bin", a_type, [k, m], [k, 128], "128B"),
            map("b.bin", b_type, [k, n], [k, n / pair], "128B"),
            buffer(m * each, "data = \"sfa.bin\""),
            buffer(n * each, "data = \"sfb.bin\""),
            buffer(m * n * 2, "out = \"c.bin\""),
            number(m),
            number(n),
            number(1)
        );
        let sfa = a_codes.chunks(128 * each).flat_map(|tile| blocks(tile, 128, each)).collect();
        let files = [
            ("a.bin", a_type.bytes(&a)),
            ("b.bin", b_type.bytes(&b)),
            ("sfa.bin", sfa),
            ("sfb.bin", blocks(&b_codes, n, each)),
        ];
        compare(name, &run(name, module, &launch, &files), &wanted, BF16);
        let (row, column) = (random.below(m as u64) as usize, random.below(n as u64) as usize);
        let bytes = k * a_type.bits as usize / 8;
        let pieces = |file: &str, line: usize| row_in_pieces(file, line, bytes, 4);
        comes_from(name, module, (row * n + column) * 2, &pieces("a.bin", row), &pieces("b.bin", column));
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
        for (step, [_, _, of_a, scales_of_b]) in
            origin(name, module, (row * n + column) * 2).iter().enumerate()
        {
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

/// What Triton makes of a matrix multiply: pointers, tensor maps made on the device, roles of warps, a cluster of two.
#[test]
fn multiplies_of_triton() {
    let mut random = Random(5);
    let cases = [
        ("triton_matmul_fp16_sm100a.ptx", "matmul", F16, [256, 128, 192], 2, 1),
        ("triton_matmul_persistent_sm100a.ptx", "matmul_descriptors", F16, [256, 256, 128], 2, 1),
        ("triton_matmul_warp_specialized_sm100a.ptx", "matmul_descriptors", BF16, [256, 256, 128], 2, 1),
        ("triton_matmul_cluster_sm103a.ptx", "matmul_descriptors", F16, [256, 128, 128], 2, 2),
    ];
    for (module, name, ty, [m, n, k], grid, cluster) in cases {
        let (a, b) = (random.matrix(m, k, ty), random.matrix(n, k, ty));
        let buffer =
            |bytes: usize, rest: &str| format!("[[arg]]\ntype = \"buffer\"\nbytes = {bytes}\n{rest}\n");
        let strides = if name == "matmul" { numbers(&[k, k, n]) } else { String::new() };
        let launch = format!(
            "grid = [{grid}]\ncluster = [{cluster}]\ndynamic_smem = 230000\n{}{}{}{}{strides}{}{}",
            buffer(m * k * 2, &format!("data = \"a.bin\"\ndtype = \"f16\"\nshape = [{m}, {k}]")),
            buffer(n * k * 2, &format!("data = \"b.bin\"\ndtype = \"f16\"\nshape = [{n}, {k}]")),
            buffer(m * n * 2, "out = \"c.bin\""),
            numbers(&[m, n, k]),
            buffer(1 << 20, ""),
            buffer(1 << 20, "")
        );
        let files = [("a.bin", ty.bytes(&a)), ("b.bin", ty.bytes(&b))];
        compare(module, &run(name, module, &launch, &files), &product(&a, &b, k), ty);
        let (row, column) = (random.below(m as u64) as usize, random.below(n as u64) as usize);
        let of_row = |file: &str, line: usize| -> Vec<Vec<String>> { row_in_pieces(file, line, k, k / 16) };
        comes_from(name, module, (row * n + column) * 2, &of_row("a.bin", row), &of_row("b.bin", column));
    }
}

/// A sparse A: of four numbers two, of two one, of eight two pairs, as the metadata says.
#[test]
fn sparse_multiplies() {
    let mut random = Random(6);
    // The kernel, the type, D, N, how many numbers a choice is among, and the bits of metadata of a row.
    let cases = [
        ("gemm_sparse_f16_128x128", F16, F16, 128, 4, 32),
        ("gemm_sparse_tf32_128x64", F32, F32, 64, 2, 32),
        ("gemm_sparse_e4m3_128x128", E4M3, BF16, 128, 4, 64),
        ("gemm_sparse_s8_128x128", S8, Type { bits: 32, ..S8 }, 128, 4, 64),
    ];
    for (name, ty, d, n, among, of_row) in cases {
        let (m, steps) = (128, 4);
        let packed = 1024 / ty.bits as usize;
        let k = 2 * packed;
        let (chosen, b) = (random.matrix(m, packed, ty), random.matrix(n, k, ty));
        let mut a = vec![0.0; m * k];
        // By lane and column: 32 bits.
        let columns = steps * of_row / 32;
        let mut cells = vec![0_u32; 128 * columns];
        // By element of the packed A: where it is along K.
        let mut places = Vec::new();
        let chunks = k / among;
        for (row, chunk) in (0..m).flat_map(|row| (0..chunks).map(move |chunk| (row, chunk))) {
            let pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)];
            let (first, second) = if among == 2 {
                [(0, 1), (2, 3)][random.below(2) as usize]
            } else {
                pairs[random.below(6) as usize]
            };
            let kept = &chosen[row * packed + chunk * among / 2..];
            let at = row * k + chunk * among;
            match among {
                2 => places.push(chunk * 2 + first / 2),
                _ => places.extend([chunk * 4 + first, chunk * 4 + second]),
            }
            if among == 2 {
                a[at + first / 2] = kept[0];
            } else {
                (a[at + first], a[at + second]) = (kept[0], kept[1]);
            }
            let (step, bit) = (chunk * 4 / of_row, chunk * 4 % of_row);
            let (lane, column, bit) = if of_row == 64 {
                (row, step * 2 + bit / 32, bit % 32)
            } else {
                (row / 16 * 16 + row % 8 + bit / 16 * 8, step, bit % 16 + row / 8 % 2 * 16)
            };
            cells[lane * columns + column] |= ((first | second << 2) as u32) << bit;
        }
        // Sixteen bytes of each row, then the next sixteen.
        let metadata: Vec<u8> = (0..columns)
            .step_by(4)
            .flat_map(|from| (0..128).map(move |lane| lane * columns + from))
            .flat_map(|at| cells[at..at + 4].iter().flat_map(|cell| cell.to_le_bytes()).collect::<Vec<u8>>())
            .collect();
        let field = |rest: &str| format!("[[arg.fields]]\n{rest}\n");
        let buffer = |bytes: usize, rest: &str| field(&format!("type = \"buffer\"\nbytes = {bytes}\n{rest}"));
        let number = |value: usize| field(&format!("type = \"i32\"\nvalue = {value}"));
        let launch = format!(
            "grid = [1]\ndynamic_smem = 232000\n{}{}[[arg]]\ntype = \"struct\"\n{}{}{}{}{}{}{}",
            map("a.bin", ty, [packed, m], [packed, m], "128B"),
            map("b.bin", ty, [k, n], [packed, n], "128B"),
            buffer(metadata.len(), "data = \"metadata.bin\""),
            buffer(16, ""),
            buffer(16, ""),
            buffer(m * n * d.bits as usize / 8, "out = \"c.bin\""),
            number(m),
            number(n),
            number(1)
        );
        let files = [("a.bin", ty.bytes(&chosen)), ("b.bin", ty.bytes(&b)), ("metadata.bin", metadata)];
        let module = "gemm_sparse_sm100a.ptx";
        compare(name, &run(name, module, &launch, &files), &product(&a, &b, k), d);
        let (row, column) = (random.below(m as u64) as usize, random.below(n as u64) as usize);
        let origin = origin(name, module, (row * n + column) * d.bits as usize / 8);
        let kept: Vec<Vec<String>> = origin.iter().map(|it| it[0].clone()).collect();
        assert_eq!(kept, row_in_pieces("a.bin", row, packed, 4), "{name}: A");
        // Where A has zeros, B is not multiplied.
        let multiplied: Vec<usize> =
            origin.iter().flat_map(|it| &it[1]).flat_map(|it| along_row(it, column)).collect();
        assert_eq!(multiplied, places[row * packed..(row + 1) * packed], "{name}: B");
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
    let wanted: Vec<f64> = q
        .chunks(width)
        .flat_map(|q| {
            let dots: Vec<f64> =
                k.chunks(width).map(|k| q.iter().zip(k).map(|(q, k)| q * k).sum::<f64>() * scale).collect();
            let largest = dots.iter().copied().fold(f64::MIN, f64::max);
            let weights: Vec<f64> = dots.iter().map(|dot| (dot - largest).exp()).collect();
            let total: f64 = weights.iter().sum();
            let column = |at: usize| weights.iter().zip(v.iter().skip(at).step_by(width));
            (0..width).map(|at| column(at).map(|(p, v)| p * v).sum::<f64>() / total).collect::<Vec<_>>()
        })
        .collect();
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
        let half = |bytes: &[u8]| {
            let bits = u16::from_le_bytes([bytes[0], bytes[1]]);
            let (exponent, fraction) = (i32::from(bits >> 10 & 0x1F), f64::from(bits & 0x3FF));
            let hidden = if exponent == 0 { 0.0 } else { 1024.0 };
            let value = (hidden + fraction) * 2_f64.powi(exponent.max(1) - 25);
            if bits >> 15 == 0 { value } else { -value }
        };
        let largest =
            result.chunks(2).zip(&wanted).map(|(it, wanted)| (half(it) - wanted).abs()).fold(0.0, f64::max);
        assert!(largest < 1e-3, "{module}: {largest}");
    }
}

/// `.ws`: the accumulator in the layouts of 32, 64 and 128 rows, B kept in the collector's buffers for three tiles of A.
#[test]
fn weight_stationary_multiplies() {
    let mut random = Random(8);
    let cases = [
        ("conv_ws_f16_32x64", F16, F32, 32, 64),
        ("conv_ws_bf16_64x128", BF16, F32, 64, 128),
        ("conv_ws_tf32_128x128", F32, F32, 128, 128),
        ("conv_ws_e4m3_64x256", E4M3, F32, 64, 256),
        ("conv_ws_s8_32x128", S8, Type { bits: 32, ..S8 }, 32, 128),
    ];
    for (name, ty, d, tile, n) in cases {
        let (m, block) = (3 * tile, 1024 / ty.bits as usize);
        let k = 2 * block;
        let (a, b) = (random.matrix(m, k, ty), random.matrix(n, k, ty));
        let launch = format!(
            "grid = [1]\ndynamic_smem = 200000\n{}{}[[arg]]\ntype = \"buffer\"\nbytes = {}\nout = \"c.bin\"\n{}\
             [[arg]]\ntype = \"u64\"\nvalue = 0\n",
            map("a.bin", ty, [k, m], [block, tile], "128B"),
            map("b.bin", ty, [k, n], [block, n], "128B"),
            m * n * 4,
            numbers(&[n, 2])
        );
        let files = [("a.bin", ty.bytes(&a)), ("b.bin", ty.bytes(&b))];
        let module = "conv_weight_stationary_sm100a.ptx";
        let result = run(name, module, &launch, &files);
        compare(name, &result, &product(&a, &b, k), d);
        let (row, column) = (random.below(m as u64) as usize, random.below(n as u64) as usize);
        let pieces = |file: &str, line: usize| row_in_pieces(file, line, k, 8);
        comes_from(name, module, (row * n + column) * 4, &pieces("a.bin", row), &pieces("b.bin", column));
    }
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
