//! Fast results are those of the reference.

use proptest::prelude::*;
use ptx_numbers::{
    Accumulator, Arithmetic, Format, Instruction, Kind, Matrix, Multiply, OldD, RULES, Rule, Target,
};

use crate::reference::{self, Number, decode, negated, product};

/// M and N: more than one block of columns, the last one not full.
const ROWS: usize = 3;
const COLUMNS: usize = 19;

#[derive(Clone, Debug)]
struct Case {
    multiply: Multiply,
    k: usize,
    blocks: usize,
    a: Vec<u32>,
    b: Vec<u32>,
    d: Vec<u32>,
    scale_a: Vec<u32>,
    scale_b: Vec<u32>,
    /// Of a sparse A, whose K is `k`; that of B is twice it.
    indices: Option<Vec<u16>>,
    old: OldD,
}

/// How numbers are chosen.
#[derive(Clone, Copy, Debug)]
enum Choice {
    /// Any bits.
    Bits,
    /// Exponents around 1.
    Near,
    /// Exponents far apart, and zeros.
    Far,
    /// The smallest exponents.
    Small,
    /// As few numbers as make cancellation likely.
    Few,
    /// Mostly near 1, and now and then any bits: zeros, subnormals, NaNs, infinities.
    Rare,
}

fn number(format: Format, choice: Choice, random: u64) -> u32 {
    let parameters = format.parameters();
    let bits = random as u32;
    if format.is_integer() {
        return bits & ((1 << parameters.bits) - 1);
    }
    let parameters_of_bits = if format == Format::Tf32 { Format::F32.parameters() } else { parameters };
    let (exponent, fraction) = (parameters_of_bits.exponent, parameters_of_bits.fraction);
    let mask = u32::MAX >> (32 - parameters.bits);
    let sign = mask >> (exponent + fraction) << (exponent + fraction);
    let spread = |spread: u64| {
        let field =
            i64::from(parameters.bias) + ((random >> 32) % spread).cast_signed() - (spread / 2).cast_signed();
        let field = field.clamp(0, (1 << exponent) - 2) as u32;
        bits & (sign | ((1 << fraction) - 1)) | field << fraction
    };
    match choice {
        Choice::Bits => bits & mask,
        Choice::Near => spread(5),
        Choice::Far if (random >> 60) == 0 => 0,
        Choice::Far => spread(60),
        Choice::Small => bits & (sign | ((1 << fraction) - 1)) | ((random >> 32) as u32 % 4) << fraction,
        Choice::Few => spread(2) & !(((1 << fraction) - 1) >> 1),
        Choice::Rare if (random >> 56) == 0 => bits & mask,
        Choice::Rare => spread(3),
    }
}

/// A source of numbers: a row of `SplitMix64`.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let x = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ x >> 31
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}

fn case(rule: &Rule, choice: Choice, seed: u64) -> Case {
    let mut random = Random(seed);
    let (a, b) = loop {
        let (a, b) = (random.of(rule.factors), random.of(rule.factors));
        if rule.covers(a, b, rule.scales.first().copied()) {
            break (a, b);
        }
    };
    let scale = if rule.scales.is_empty() { None } else { Some(random.of(rule.scales)) };
    let target = random.of(rule.targets);
    let multiply = Multiply {
        instruction: rule.instruction,
        kind: rule.kind,
        target,
        a,
        b,
        scale,
        accumulator: rule.accumulator,
        negate_a: random.below(2) == 1,
        negate_b: random.below(2) == 1,
        saturate: random.below(2) == 1,
    };
    let (k, blocks) = match (rule.kind, rule.arithmetic) {
        (_, Arithmetic::TwoHalves(_)) => (random.of(&[16, 32]), 0),
        (Kind::Tf32, _) => (8, 0),
        (Kind::F16, _) if rule.instruction == Instruction::MmaSyncM8n8k4 => (4, 0),
        (Kind::F16, _) => (16, 0),
        (Kind::F8f6f4 | Kind::I8, _) => (32, 0),
        // The last one is that of sm_107.
        (Kind::Mxf8f6f4, _) => random.of(&[(32, 1), (64, 2)]),
        (Kind::Mxf4, _) => random.of(&[(64, 2), (96, 3)]),
        (Kind::Mxf4nvf4, _) => random.of(&[(64, 2), (64, 4), (96, 6)]),
    };
    let is_sparse = random.below(4) == 0;
    // Of four elements, two; of K = 96 there is no sparse form.
    let indices: Option<Vec<u16>> = is_sparse.then(|| {
        let pairs = (0..ROWS * k / 2).flat_map(|at| {
            let (first, second) = random.of(&[(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]);
            [first, second].map(|it| (at % (k / 2) * 4 + it) as u16)
        });
        pairs.collect()
    });
    let k_of_b = if is_sparse { 2 * k } else { k };
    let mut numbers =
        |format, count, choice| (0..count).map(|_| number(format, choice, random.next())).collect();
    let d = match rule.accumulator {
        Accumulator::F32 => numbers(Format::F32, ROWS * COLUMNS, choice),
        Accumulator::F16 => numbers(Format::F16, ROWS * COLUMNS, choice),
        Accumulator::S32 => numbers(Format::F32, ROWS * COLUMNS, Choice::Bits),
    };
    let scales = |count, numbers: &mut dyn FnMut(Format, usize, Choice) -> Vec<u32>| match scale {
        Some(scale) => {
            numbers(scale, count * blocks, if let Choice::Bits = choice { Choice::Rare } else { choice })
        }
        None => Vec::new(),
    };
    Case {
        multiply,
        k,
        blocks,
        a: numbers(a, ROWS * k, choice),
        b: numbers(b, COLUMNS * k_of_b, choice),
        d,
        scale_a: scales(ROWS, &mut numbers),
        scale_b: scales(COLUMNS, &mut numbers),
        indices,
        old: match (seed % 4, rule.accumulator) {
            (0, _) => OldD::Zero,
            (1, Accumulator::F32 | Accumulator::F16) => OldD::Read { scale: (seed >> 8) as u8 % 16 },
            (_, _) => OldD::Read { scale: 0 },
        },
    }
}

fn fast(case: &Case) -> Vec<u32> {
    let Case { multiply, k, a, b, scale_a, scale_b, indices, .. } = case;
    let matrix = Matrix::new(ROWS, *k, a).scaled(scale_a);
    let matrix = indices.as_ref().map_or(matrix, |indices| matrix.selecting(indices));
    let a = multiply.rows(&matrix).unwrap();
    let b = multiply.columns(&Matrix::new(COLUMNS, b.len() / COLUMNS, b).scaled(scale_b)).unwrap();
    let mut d = case.d.clone();
    multiply.execute(&a, &b, &mut d, case.old).unwrap();
    d
}

/// One element, as the page says.
fn slow(case: &Case, row: usize, column: usize) -> u32 {
    let Case { multiply, k, blocks, .. } = case;
    let k_of_b = case.b.len() / COLUMNS;
    let element_a = |at: usize| case.a[row * k + at];
    let element_b = |at: usize| {
        let at = case.indices.as_ref().map_or(at, |indices| usize::from(indices[row * k + at]));
        case.b[column * k_of_b + at]
    };
    let bits = case.d[row * COLUMNS + column];
    if multiply.kind == Kind::I8 {
        let integer = |format: Format, bits: u32| match format {
            Format::S8 => i64::from(bits as u8 as i8),
            Format::S4 => i64::from((bits << 4) as u8 as i8 >> 4),
            _ => i64::from(bits),
        };
        let products =
            (0..*k).map(|at| integer(multiply.a, element_a(at)) * integer(multiply.b, element_b(at)));
        let old = if case.old == OldD::Zero { 0 } else { i64::from(bits.cast_signed()) };
        let total = products.sum::<i64>() + old;
        let clamped = total.clamp(i64::from(i32::MIN), i64::from(i32::MAX));
        return if multiply.saturate { clamped } else { total } as u32;
    }
    let product_at = |at: usize| {
        let it = product(decode(multiply.a, element_a(at)), decode(multiply.b, element_b(at)));
        if multiply.negate_a == multiply.negate_b { it } else { negated(it) }
    };
    let scale_at = |at: usize| {
        let block = at * blocks / k;
        let scale = |scales: &[u32], of: usize| decode(multiply.scale.unwrap(), scales[of * blocks + block]);
        product(scale(&case.scale_a, row), scale(&case.scale_b, column))
    };
    let half = multiply.accumulator == Accumulator::F16;
    let old = match case.old {
        OldD::Zero => Number::Finite { significand: 0, fraction: 0, exponent: 0 },
        OldD::Read { scale } => match decode(if half { Format::F16 } else { Format::F32 }, bits) {
            Number::Finite { significand, fraction, exponent } => {
                Number::Finite { significand, fraction, exponent: exponent - i32::from(scale) }
            }
            other => other,
        },
    };
    let result = if half { reference::Result::F16 } else { reference::Result::F32 };
    let zero = if half { -21 } else { -133 };
    let ordinary = |terms: &[Number]| reference::sum(terms, 25, zero, result);
    match (multiply.instruction, multiply.kind, multiply.target) {
        (_, Kind::Mxf4 | Kind::Mxf4nvf4, _) => {
            let mut terms: Vec<Number> =
                (0..*k).step_by(16).map(|from| group(from, product_at, scale_at(from))).collect();
            terms.push(old);
            reference::sum(&terms, 35, -139, result)
        }
        (_, Kind::Mxf8f6f4, _) => {
            let terms = (0..*k).map(|at| product(product_at(at), scale_at(at)));
            // An infinite product has no zero scale, as ue8m0 has no zero.
            ordinary(&terms.chain([old]).collect::<Vec<_>>())
        }
        (Instruction::Wmma, Kind::Tf32, _)
        | (Instruction::MmaSync, Kind::Tf32 | Kind::F16, Target::Sm80 | Target::Sm89) => {
            let step = if multiply.kind == Kind::Tf32 { 4 } else { 8 };
            let is_old = matches!(multiply.target, Target::Sm80 | Target::Sm89);
            let (kept, zero) = if is_old { (24, zero + 1) } else { (25, zero) };
            let mut old = old;
            let mut bits = 0;
            for from in (0..*k).step_by(step) {
                let terms: Vec<Number> = (from..from + step).map(product_at).chain([old]).collect();
                bits = reference::sum(&terms, kept, zero, result);
                old = decode(if half { Format::F16 } else { Format::F32 }, bits);
            }
            bits
        }
        (Instruction::MmaSync, Kind::F8f6f4, Target::Sm89) => {
            let mut old = old;
            let mut bits = 0;
            let result = if half { result } else { reference::Result::F32Short };
            for from in (0..*k).step_by(16) {
                let terms: Vec<Number> = (from..from + 16).map(product_at).chain([old]).collect();
                bits = reference::sum(&terms, 13, zero + 1, result);
                old = decode(if half { Format::F16 } else { Format::F32 }, bits);
            }
            bits
        }
        (Instruction::MmaSync, Kind::F8f6f4, target) if target != Target::Sm120 => {
            let product_at = |at: usize| {
                let a = reference::as_half(decode(multiply.a, element_a(at)));
                let it = product(a, reference::as_half(decode(multiply.b, element_b(at))));
                if multiply.negate_a == multiply.negate_b { it } else { negated(it) }
            };
            let of = |remainders: [usize; 2]| {
                (0..*k).filter(move |at| remainders.contains(&(at % 4))).map(product_at)
            };
            let first = ordinary(&of([0, 1]).collect::<Vec<_>>());
            let format = if half { Format::F16 } else { Format::F32 };
            let both = ordinary(&of([2, 3]).chain([decode(format, first)]).collect::<Vec<_>>());
            if half {
                // So many bits that nothing is cut.
                return reference::sum(&[decode(format, both), old], 90, zero, result);
            }
            let old = match case.old {
                OldD::Zero => 0.0,
                OldD::Read { scale } => f32::from_bits(bits) / f32::from(1_u16 << scale),
            };
            let sum = f32::from_bits(both) + old;
            if sum.is_nan() { 0x7FFF_FFFF } else { sum.to_bits() }
        }
        (Instruction::MmaSyncM8n8k4, _, _) => {
            let sign = if multiply.negate_a == multiply.negate_b { 1.0 } else { -1.0 };
            let factors = |at| (multiply.a.decode(element_a(at)) * sign, multiply.b.decode(element_b(at)));
            let term = if half { Format::F16.decode(bits) } else { f32::from_bits(bits) };
            let old = match case.old {
                OldD::Zero => 0.0,
                OldD::Read { scale } => f64::from(term) / f64::from(1_u16 << scale),
            };
            if !half {
                let sum = (0..*k).map(factors).fold(0.0_f32, |sum, (a, b)| a.mul_add(b, sum));
                let sum = (f64::from(sum) + old) as f32;
                return if sum.is_nan() { 0x7FFF_FFFF } else { sum.to_bits() };
            }
            let pairs = (0..*k).step_by(2).map(|at| {
                let ((a, b), (c, d)) = (factors(at), factors(at + 1));
                a.mul_add(b, c * d)
            });
            let sum = pairs.fold(old as f32, |sum, pair| sum + pair);
            // So many bits that nothing is cut.
            reference::sum(&[decode(Format::F32, sum.to_bits())], 90, zero, result)
        }
        (Instruction::Tcgen05Mma | Instruction::MmaSync | Instruction::Wmma, _, _) => {
            ordinary(&(0..*k).map(product_at).chain([old]).collect::<Vec<_>>())
        }
    }
}

/// The term of 16 products of e2m1. It has the exponent of the scales alone.
fn group(from: usize, product_at: impl Fn(usize) -> Number, scale: Number) -> Number {
    let mut sum = 0;
    let mut all_zero = true;
    for at in from..from + 16 {
        let Number::Finite { significand, fraction, exponent } = product_at(at) else {
            panic!("e2m1 is finite")
        };
        all_zero &= significand == 0;
        assert_eq!(fraction, 2);
        sum += significand << exponent;
    }
    let Number::Finite { significand, fraction, exponent } = scale else { return scale };
    // A term that is zero has the exponent of zero, but a sum that cancels has not: a tiny significand stands for it.
    if all_zero || significand == 0 {
        return Number::Finite { significand: 0, fraction: 0, exponent: 0 };
    }
    let significand = if sum == 0 { 1 } else { (sum * significand) << 50 };
    Number::Finite { significand, fraction: fraction + 2 + 50, exponent }
}

fn choice() -> impl Strategy<Value = Choice> {
    prop_oneof![
        Just(Choice::Bits),
        Just(Choice::Near),
        Just(Choice::Far),
        Just(Choice::Small),
        Just(Choice::Few),
        Just(Choice::Rare),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn fast_is_the_reference(row in 0..RULES.len(), choice in choice(), seed: u64) {
        let case = case(&RULES[row], choice, seed);
        let d = fast(&case);
        for row in 0..ROWS {
            for column in 0..COLUMNS {
                let (ours, theirs) = (d[row * COLUMNS + column], slow(&case, row, column));
                prop_assert_eq!(ours, theirs, "{:?} row {} column {}: {:08x} {:08x}", case, row, column, ours, theirs);
            }
        }
    }
}

/// Every row is tested with every choice of numbers, whatever is drawn above.
#[test]
fn every_rule_is_the_reference() {
    let choices = [Choice::Bits, Choice::Near, Choice::Far, Choice::Small, Choice::Few, Choice::Rare];
    let mut finite = 0;
    for (rule, choice) in RULES.iter().flat_map(|rule| choices.map(|choice| (rule, choice))) {
        for seed in 0..8 {
            let case = case(rule, choice, seed << 8 | seed);
            for (at, &bits) in fast(&case).iter().enumerate() {
                assert_eq!(bits, slow(&case, at / COLUMNS, at % COLUMNS), "{case:?} element {at}");
                finite += usize::from(bits & 0x7FFF_FFFF < 0x7F80_0000);
            }
        }
    }
    assert!(finite > 50_000, "{finite} finite elements");
}

/// A D of f16 that is zero has the exponent -21, although the products are smaller: the least of them is cut off, so
/// that the other one is in the middle between two numbers.
#[test]
fn the_exponent_of_a_zero_matters() {
    let multiply = Multiply::tcgen05(Kind::F16, Target::Sm100, Format::F16, Format::F16, Accumulator::F16);
    // 2^-12 * 2^-13 + 2^-24 * 2^-24
    let a = multiply.rows(&Matrix::new(1, 2, &[0x0C00, 0x0001])).unwrap();
    let b = multiply.columns(&Matrix::new(1, 2, &[0x0800, 0x0001])).unwrap();
    let mut d = [0xFFFF];
    multiply.execute(&a, &b, &mut d, OldD::Zero).unwrap();
    assert_eq!(d, [0]);
}

/// docs/numbers.md has two examples and a bound.
#[test]
fn the_page_is_right() {
    let multiply = Multiply::tcgen05(Kind::F16, Target::Sm100, Format::F16, Format::F16, Accumulator::F32);
    let compute = |a: &[u32], b: &[u32], d: &mut [u32], old| {
        let a = multiply.rows(&Matrix::new(1, a.len(), a)).unwrap();
        let b = multiply.columns(&Matrix::new(1, b.len(), b)).unwrap();
        multiply.execute(&a, &b, d, old).unwrap();
        f32::from_bits(d[0])
    };
    // 2^24 and 15 ones: 2^12 is 0x6C00.
    let mut codes = [0x3C00; 16];
    codes[0] = 0x6C00;
    assert_eq!(compute(&codes, &codes, &mut [0], OldD::Zero), 16_777_230.0);
    codes[1..].fill(0);
    (codes[1], codes[2]) = (0x3C00, 0x3800);
    assert_eq!(compute(&codes, &codes, &mut [0], OldD::Zero), 16_777_216.0);

    let mut random = Random(7);
    let mut largest = 0.0_f64;
    for choice in [Choice::Near, Choice::Far] {
        for _ in 0..50 {
            let (mut d, mut exact, mut total) = ([0], 0.0, 0.0);
            let steps = 40;
            for _ in 0..steps {
                let [a, b] = [0; 2].map(|_| [0; 16].map(|_: u32| number(Format::F16, choice, random.next())));
                compute(&a, &b, &mut d, OldD::Read { scale: 0 });
                for (a, b) in a.into_iter().zip(b) {
                    let product = f64::from(Format::F16.decode(a)) * f64::from(Format::F16.decode(b));
                    exact += product;
                    total += product.abs();
                }
            }
            let bound = f64::from(steps) * (17.0 / 4.0 + 1.0) * 2_f64.powi(-23) * total;
            let error = (f64::from(f32::from_bits(d[0])) - exact).abs();
            assert!(error <= bound, "{error} is above {bound}");
            largest = largest.max(error / bound);
        }
    }
    assert!(largest > 1e-3, "the bound is far too large: errors are at most {largest} of it");
}
