//! Formats: what bits mean, and what numbers become.

use std::fs;
use std::path::Path;

use ptx_numbers::{Format, Overflow, Rounding};

use crate::reference::{Number, decode};

/// The formats of few bits that are not integers, and their numbers of patterns.
fn small() -> impl Iterator<Item = (Format, u32)> {
    let formats = Format::ALL.into_iter().filter(|format| !format.is_integer());
    let sizes = formats.map(|format| (format, format.parameters().bits));
    sizes.filter(|(_, bits)| *bits <= 16).map(|(format, bits)| (format, 1 << bits))
}

fn value(number: Number) -> f64 {
    match number {
        Number::Nan => f64::NAN,
        Number::Infinite { negative } => {
            if negative {
                f64::NEG_INFINITY
            } else {
                f64::INFINITY
            }
        }
        Number::Finite { significand, fraction, exponent } => {
            significand as f64 * 2_f64.powi(exponent - fraction)
        }
    }
}

#[test]
fn all_patterns_are_decoded() {
    let mut patterns = 0;
    for (format, count) in small() {
        for bits in 0..count {
            let (ours, theirs) = (f64::from(format.decode(bits)), value(decode(format, bits)));
            assert!(
                ours == theirs || ours.is_nan() && theirs.is_nan(),
                "{format:?} {bits:x}: {ours} {theirs}"
            );
            patterns += 1;
        }
    }
    assert_eq!(patterns, 2 * 65_536 + 5 * 256 + 2 * 64 + 16);
}

#[test]
fn the_numbers_of_the_isa() {
    let largest = [
        (Format::F16, 0x7BFF, 65504.0),
        (Format::E4m3, 0x7E, 448.0),
        (Format::E5m2, 0x7B, 57344.0),
        (Format::E3m2, 0x1F, 28.0),
        (Format::E2m3, 0x1F, 7.5),
        (Format::E2m1, 0x7, 6.0),
        (Format::Ue4m3, 0x7E, 448.0),
        (Format::Ue5m3, 0xFE, 114_688.0),
    ];
    for (format, bits, value) in largest {
        assert_eq!(f64::from(format.decode(bits)), value, "{format:?}");
        assert_eq!(format.encode(1e30, Rounding::NearestEven, Overflow::Saturate), bits, "{format:?}");
    }
    // The lower 13 bits of tf32 are ignored, also where they alone make a NaN.
    assert_eq!(Format::Tf32.decode(0x3F80_1FFF), 1.0);
    assert_eq!(Format::Tf32.decode(0x7F80_1FFF), f32::INFINITY);
    let integers = [
        (Format::S8, 0x80, -128.0),
        (Format::U8, 0x80, 128.0),
        (Format::S4, 0xF, -1.0),
        (Format::U4, 0xF, 15.0),
    ];
    for (format, bits, value) in integers {
        assert_eq!(f64::from(format.decode(bits)), value, "{format:?}");
        assert_eq!(format.encode(value, Rounding::NearestEven, Overflow::Saturate), bits, "{format:?}");
    }
}

#[test]
fn a_number_of_the_format_stays() {
    for (format, count) in small() {
        for bits in 0..count {
            let value = f64::from(format.decode(bits));
            // The sign bit of ue4m3 is ignored, and all NaNs become one.
            let expected = match format {
                Format::Ue4m3 => bits & 0x7F,
                _ if value.is_nan() => continue,
                _ => bits,
            };
            for rounding in [Rounding::NearestEven, Rounding::TowardsZero, Rounding::TowardsPositive] {
                assert_eq!(
                    format.encode(value, rounding, Overflow::Infinity),
                    expected,
                    "{format:?} {bits:x}"
                );
            }
        }
    }
}

/// Between two neighbours: below the middle, the middle, and above it.
#[test]
fn what_lies_between_is_rounded() {
    for (format, count) in small().filter(|(format, _)| *format != Format::Ue8m0) {
        let half = count >> u32::from(format.parameters().signed || format == Format::Ue4m3);
        for bits in 0..half - 1 {
            let (low, high) = (f64::from(format.decode(bits)), f64::from(format.decode(bits + 1)));
            if !high.is_finite() || !low.is_finite() {
                break;
            }
            let middle = f64::midpoint(low, high);
            let even = bits + (bits & 1);
            let nearest = |value| format.encode(value, Rounding::NearestEven, Overflow::Saturate);
            assert_eq!(nearest(middle), even, "{format:?} {middle}");
            assert_eq!(nearest(middle.next_down()), bits, "{format:?} {middle}");
            assert_eq!(nearest(middle.next_up()), bits + 1, "{format:?} {middle}");
            assert_eq!(format.encode(middle, Rounding::TowardsZero, Overflow::Saturate), bits);
            assert_eq!(format.encode(middle, Rounding::TowardsPositive, Overflow::Saturate), bits + 1);
            if format.parameters().signed {
                let sign = half;
                assert_eq!(nearest(-middle), even | sign, "{format:?} {middle}");
                assert_eq!(
                    format.encode(-middle, Rounding::TowardsPositive, Overflow::Saturate),
                    bits | sign
                );
            }
        }
    }
}

#[test]
fn what_is_no_number_of_the_format() {
    let saturated = |format: Format, value| format.encode(value, Rounding::NearestEven, Overflow::Saturate);
    let unbounded = |format: Format, value| format.encode(value, Rounding::NearestEven, Overflow::Infinity);
    assert_eq!(saturated(Format::E4m3, f64::NAN), 0x7F);
    assert_eq!(saturated(Format::E5m2, f64::NAN), 0x7F);
    assert_eq!(saturated(Format::E3m2, f64::NAN), 0x1F);
    assert_eq!(saturated(Format::E2m3, f64::NAN), 0x1F);
    assert_eq!(saturated(Format::E2m1, f64::NAN), 0x7);
    assert_eq!(saturated(Format::Ue8m0, f64::NAN), 0xFF);
    assert_eq!(unbounded(Format::F16, f64::NAN), 0x7FFF);
    assert_eq!(unbounded(Format::F32, f64::NAN), 0x7FFF_FFFF);
    assert_eq!(unbounded(Format::Tf32, f64::NAN), 0x7FFF_E000);
    assert_eq!(saturated(Format::E5m2, f64::NEG_INFINITY), 0xFB);
    assert_eq!(unbounded(Format::E5m2, f64::NEG_INFINITY), 0xFC);
    assert_eq!(unbounded(Format::E4m3, f64::INFINITY), 0x7F);
    assert_eq!(saturated(Format::E4m3, f64::NEG_INFINITY), 0xFE);
    assert_eq!(unbounded(Format::F16, 65520.0), 0x7C00);
    assert_eq!(Format::F16.encode(65520.0, Rounding::TowardsZero, Overflow::Infinity), 0x7BFF);
    assert_eq!(saturated(Format::S8, 1e9), 0x7F);
    assert_eq!(saturated(Format::U8, -3.0), 0);
}

#[test]
fn powers_of_two() {
    let cases = [
        // Value, towards zero, towards positive infinity.
        (1.0, 127, 127),
        (1.5, 127, 128),
        (3.0, 128, 129),
        (-3.0, 128, 129),
        (0.0, 0, 0),
        (1e-300, 0, 0),
        (2_f64.powi(-127) * 1.25, 0, 1),
        (2_f64.powi(127) * 1.5, 254, 254),
        (f64::INFINITY, 254, 254),
    ];
    for (value, down, up) in cases {
        assert_eq!(Format::Ue8m0.encode(value, Rounding::TowardsZero, Overflow::Saturate), down, "{value}");
        assert_eq!(Format::Ue8m0.encode(value, Rounding::TowardsPositive, Overflow::Saturate), up, "{value}");
    }
}

/// What conversions an H100 computes, as fixtures/hardware/arithmetic.txt has recorded them.
#[test]
fn conversions_of_an_h100() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/hardware/arithmetic.txt");
    let text = fs::read_to_string(path).unwrap();
    // Opcode, format, rounding, overflow, and whether the lower half comes from a second source.
    let forms = [
        ("cvt.rn.f16.f32", Format::F16, Rounding::NearestEven, Overflow::Infinity, false),
        ("cvt.rz.f16.f32", Format::F16, Rounding::TowardsZero, Overflow::Infinity, false),
        ("cvt.rp.f16.f32", Format::F16, Rounding::TowardsPositive, Overflow::Infinity, false),
        ("cvt.rn.bf16.f32", Format::Bf16, Rounding::NearestEven, Overflow::Infinity, false),
        ("cvt.rz.bf16.f32", Format::Bf16, Rounding::TowardsZero, Overflow::Infinity, false),
        ("cvt.rp.bf16.f32", Format::Bf16, Rounding::TowardsPositive, Overflow::Infinity, false),
        ("cvt.rn.tf32.f32", Format::Tf32, Rounding::NearestEven, Overflow::Infinity, false),
        ("cvt.rz.tf32.f32", Format::Tf32, Rounding::TowardsZero, Overflow::Infinity, false),
        ("cvt.rn.satfinite.e4m3x2.f32", Format::E4m3, Rounding::NearestEven, Overflow::Saturate, true),
        ("cvt.rn.satfinite.e5m2x2.f32", Format::E5m2, Rounding::NearestEven, Overflow::Saturate, true),
    ];
    for (opcode, format, rounding, overflow, is_pair) in forms {
        let mut seen = 0;
        let lines = text.lines().skip_while(|line| !line.starts_with(&format!("> {opcode} | ")));
        for line in lines.skip(1).take_while(|line| !line.starts_with('>')) {
            let words: Vec<u32> =
                line.split(' ').map(|word| u32::from_str_radix(word, 16).unwrap()).collect();
            let convert = |bits| format.encode(f64::from(f32::from_bits(bits)), rounding, overflow);
            let (ours, theirs) = match words[..] {
                [first, second, theirs] if is_pair => (convert(first) << 8 | convert(second), theirs),
                [source, theirs] if !is_pair => (convert(source), theirs),
                _ => panic!("{line}"),
            };
            assert_eq!(ours, theirs, "{opcode}: {line}");
            seen += 1;
        }
        assert!(seen >= 32, "{opcode} has {seen} lines");
    }
}
