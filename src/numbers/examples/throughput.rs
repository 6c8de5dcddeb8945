//! How fast tiles are computed: `cargo run --profile dist -p ptx-tc-numbers --example throughput -- KIND [TILES]`.
//!
//! Prints GFLOP/s of one core (two operations a product) for tiles of 128 x 128, one instruction each.

use std::time::Instant;

use ptx_numbers::{Accumulator, Format, Kind, Matrix, Multiply, OldD, Overflow, Rounding, Target};

/// M and N.
const SIZE: usize = 128;

struct Case {
    name: &'static str,
    kind: Kind,
    format: Format,
    accumulator: Accumulator,
    scale: Option<(Format, usize)>,
    k: usize,
}

#[rustfmt::skip]
const CASES: [Case; 9] = [
    Case { name: "f16", kind: Kind::F16, format: Format::F16, accumulator: Accumulator::F32, scale: None, k: 16 },
    Case { name: "f16-f16", kind: Kind::F16, format: Format::F16, accumulator: Accumulator::F16, scale: None, k: 16 },
    Case { name: "bf16", kind: Kind::F16, format: Format::Bf16, accumulator: Accumulator::F32, scale: None, k: 16 },
    Case { name: "tf32", kind: Kind::Tf32, format: Format::Tf32, accumulator: Accumulator::F32, scale: None, k: 8 },
    Case { name: "e4m3", kind: Kind::F8f6f4, format: Format::E4m3, accumulator: Accumulator::F32, scale: None, k: 32 },
    Case { name: "i8", kind: Kind::I8, format: Format::S8, accumulator: Accumulator::S32, scale: None, k: 32 },
    Case { name: "mxf8", kind: Kind::Mxf8f6f4, format: Format::E4m3, accumulator: Accumulator::F32,
           scale: Some((Format::Ue8m0, 1)), k: 32 },
    Case { name: "mxf4", kind: Kind::Mxf4, format: Format::E2m1, accumulator: Accumulator::F32,
           scale: Some((Format::Ue8m0, 2)), k: 64 },
    Case { name: "nvf4", kind: Kind::Mxf4nvf4, format: Format::E2m1, accumulator: Accumulator::F32,
           scale: Some((Format::Ue4m3, 4)), k: 64 },
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let only = arguments.first().filter(|name| *name != "all");
    let tiles = arguments.get(1).and_then(|count| count.parse().ok()).unwrap_or(400);
    for case in CASES.iter().filter(|case| only.is_none_or(|name| name == case.name)) {
        run(case, tiles);
    }
}

fn run(case: &Case, tiles: u32) {
    let Case { name, kind, format, accumulator, scale, k } = *case;
    let mut state = 88_172_645_463_325_252_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let mut multiply = Multiply::tcgen05(kind, Target::Sm100, format, format, accumulator);
    multiply.scale = scale.map(|(format, _)| format);
    let range = if format.is_integer() { 200.0 } else { 4.0 };
    let mut codes = |format: Format, count: usize, offset: f64| -> Vec<u32> {
        let number = |_| (random() - offset) * range;
        let numbers = (0..count).map(number);
        numbers.map(|it| format.encode(it, Rounding::NearestEven, Overflow::Saturate)).collect()
    };
    let (a, b) = (codes(format, SIZE * k, 0.5), codes(format, SIZE * k, 0.5));
    let scales = scale.map_or_else(Vec::new, |(format, blocks)| codes(format, SIZE * blocks, -0.1));
    let decode = || {
        let a = multiply.rows(&Matrix::new(SIZE, k, &a).scaled(&scales)).expect("A");
        (a, multiply.columns(&Matrix::new(SIZE, k, &b).scaled(&scales)).expect("B"))
    };
    let start = Instant::now();
    for _ in 0..20 {
        std::hint::black_box(decode());
    }
    let decoding = start.elapsed().as_secs_f64() / 20.0;
    let (a, b) = decode();
    let mut d = vec![0; SIZE * SIZE];
    let start = Instant::now();
    for _ in 0..tiles {
        multiply.execute(&a, &b, &mut d, OldD::Read { scale: 0 }).expect("D");
    }
    let seconds = start.elapsed().as_secs_f64() / f64::from(tiles);
    let operations = (2 * SIZE * SIZE * k) as f64;
    println!(
        "{name:8} {:6.2} GFLOP/s, {:6.1} us a tile, {:5.1} us to decode its operands, {:08x}",
        operations / seconds / 1e9,
        seconds * 1e6,
        decoding * 1e6,
        d[3 * SIZE + 5]
    );
}
