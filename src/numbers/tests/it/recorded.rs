//! What GPUs computed.
//!
//! `fixtures/hardware/mma_sync.bin` has results of `mma.sync` on an H200. A form is a line of text, `name tiles K
//! bytes-of-a-factor bytes-of-d`, and then, little-endian, of all tiles the 16 rows of A, the 8 columns of B, the old D
//! and the new D, both of 16 rows.

use std::fs;
use std::path::Path;

use ptx_numbers::{Accumulator, Format, Kind, Matrix, Multiply, OldD, Target};

struct Form {
    name: String,
    tiles: usize,
    k: usize,
    a: Vec<u32>,
    b: Vec<u32>,
    c: Vec<u32>,
    d: Vec<u32>,
}

fn read(mut bytes: &[u8]) -> Vec<Form> {
    let mut forms = Vec::new();
    while let Some(end) = bytes.iter().position(|&byte| byte == b'\n') {
        let line = std::str::from_utf8(&bytes[..end]).unwrap();
        bytes = &bytes[end + 1..];
        let [name, tiles, k, factor, result] = line.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let number = |text: &str| text.parse::<usize>().unwrap();
        let (tiles, k) = (number(tiles), number(k));
        let mut take = |count: usize, width: usize| -> Vec<u32> {
            let (words, rest) = bytes.split_at(count * width);
            bytes = rest;
            let word = |word: &[u8]| word.iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte));
            words.chunks_exact(width).map(word).collect()
        };
        let (a, b) = (take(tiles * 16 * k, number(factor)), take(tiles * 8 * k, number(factor)));
        let (c, d) = (take(tiles * 128, number(result)), take(tiles * 128, number(result)));
        forms.push(Form { name: name.to_owned(), tiles, k, a, b, c, d });
    }
    forms
}

fn multiply(name: &str, target: Target) -> Multiply {
    let (kind, format, accumulator) = match name {
        "f16_f32" | "f16k8_f32" => (Kind::F16, Format::F16, Accumulator::F32),
        "f16_f16" => (Kind::F16, Format::F16, Accumulator::F16),
        "bf16_f32" => (Kind::F16, Format::Bf16, Accumulator::F32),
        "tf32_f32" => (Kind::Tf32, Format::Tf32, Accumulator::F32),
        "e4m3_f32" => (Kind::F8f6f4, Format::E4m3, Accumulator::F32),
        "e5m2_f32" => (Kind::F8f6f4, Format::E5m2, Accumulator::F32),
        "s8_s32" => (Kind::I8, Format::S8, Accumulator::S32),
        name => panic!("{name}"),
    };
    Multiply::mma_sync(kind, target, format, format, accumulator)
}

/// How many elements there are, all of which are equal.
fn compare(bytes: &[u8]) -> usize {
    let mut elements = 0;
    for form in read(bytes) {
        let multiply = multiply(&form.name, Target::Sm90);
        for tile in 0..form.tiles {
            let a = multiply
                .rows(&Matrix::new(16, form.k, &form.a[tile * 16 * form.k..][..16 * form.k]))
                .unwrap();
            let b = multiply
                .columns(&Matrix::new(8, form.k, &form.b[tile * 8 * form.k..][..8 * form.k]))
                .unwrap();
            let mut d = form.c[tile * 128..][..128].to_vec();
            multiply.execute(&a, &b, &mut d, OldD::Read { scale: 0 }).unwrap();
            for (at, (&ours, &theirs)) in d.iter().zip(&form.d[tile * 128..][..128]).enumerate() {
                // Which NaN an addition gives is not known.
                let nan = |bits| f32::from_bits(bits).is_nan() && multiply.kind == Kind::F8f6f4;
                let equal = ours == theirs || nan(ours) && nan(theirs);
                assert!(equal, "{} tile {tile} element {at}: {ours:08x}, recorded {theirs:08x}", form.name);
                elements += 1;
            }
        }
    }
    elements
}

#[test]
fn an_h200() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/hardware/mma_sync.bin");
    assert_eq!(compare(&fs::read(path).unwrap()), 8 * 72 * 128);
}

/// `PTX_NUMBERS_RECORDED=FOLDER cargo test -p ptx-tc-numbers -- --ignored --nocapture a_folder`: compares records that
/// are not part of this repository. `*.bin` is as above. `f16.tsv`, `bf16.tsv` and `tf32.tsv` have a dot product with an
/// addend in each row, `a`, `b`, `c` and `d`, in hexadecimal, after one row of headings: results of `wmma` on a B200.
#[test]
#[ignore = "reads the folder of the environment variable PTX_NUMBERS_RECORDED"]
fn a_folder() {
    let folder = std::env::var("PTX_NUMBERS_RECORDED").expect("PTX_NUMBERS_RECORDED is a folder");
    let mut files = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let (stem, extension) = (path.file_stem().unwrap(), path.extension().unwrap_or_default());
        let elements = match extension.to_str() {
            Some("bin") => compare(&fs::read(&path).unwrap()),
            Some("tsv") => rows(&fs::read_to_string(&path).unwrap(), stem.to_str().unwrap()),
            _ => continue,
        };
        println!("{}: {elements} elements, 0 differences", path.display());
        files += 1;
    }
    assert!(files > 0, "no records in {folder}");
}

fn rows(text: &str, format: &str) -> usize {
    let multiply = multiply(&format!("{format}_f32"), Target::Sm100);
    let mut elements = 0;
    for line in text.lines().skip(1) {
        let words = |text: &str| -> Vec<u32> {
            text.split_whitespace().map(|word| u32::from_str_radix(word, 16).unwrap()).collect()
        };
        let [a, b, c, d] = &line.split('\t').map(words).collect::<Vec<_>>()[..] else { panic!("{line}") };
        let a = multiply.rows(&Matrix::new(1, a.len(), a)).unwrap();
        let b = multiply.columns(&Matrix::new(1, b.len(), b)).unwrap();
        let mut ours = c.clone();
        multiply.execute(&a, &b, &mut ours, OldD::Read { scale: 0 }).unwrap();
        assert_eq!(&ours, d, "{line}");
        elements += 1;
    }
    elements
}
