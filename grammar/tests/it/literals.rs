//! Constants have the values that the assembler gives them.

use ptx_syntax::Source;
use ptx_syntax::ast::{CastType, OperandKind};
use ptx_syntax::literal::{Constant, constant, evaluate, float};
use ptx_syntax::parser::parse;

fn value(expression: &str) -> Option<Constant> {
    let source = Source::new("constant.ptx", format!(".global .b64 x = {expression};")).unwrap();
    let parsed = parse(&source);
    assert_eq!(parsed.errors, [], "{expression}");
    let initializer = parsed.module.declarators[0].initializer.unwrap();
    constant(&source, &parsed.module, &parsed.module.operands[initializer as usize])
}

/// What ptxas 13.5 writes into the object for `.global .b64 x = ...`.
const INTEGERS: &[(&str, u64)] = &[
    ("0x0123456789ABCDEF", 0x0123_4567_89AB_CDEF),
    ("-8 / 2", 0xFFFF_FFFF_FFFF_FFFC),
    ("(-8 & -1) / 2", 0xFFFF_FFFF_FFFF_FFFC),
    ("(-8 | 0) / 2", 0xFFFF_FFFF_FFFF_FFFC),
    ("(-8 ^ 0) / 2", 0xFFFF_FFFF_FFFF_FFFC),
    ("-7 % 3", 0),
    ("7 % -3", 7),
    ("(5 % 3 - 100) / 2", 0x7FFF_FFFF_FFFF_FFCF),
    ("(5 % 3 - 100) >> 1", 0x7FFF_FFFF_FFFF_FFCF),
    ("(5U - 6) < 0", 0),
    ("~0 / 2", 0x7FFF_FFFF_FFFF_FFFF),
    ("~0 >> 1", 0x7FFF_FFFF_FFFF_FFFF),
    ("!0 - 2 >> 1", u64::MAX),
    ("(.u64)-8 / 2", 0x7FFF_FFFF_FFFF_FFFC),
    ("(.s64)(-8 + 0U) / 2", 0xFFFF_FFFF_FFFF_FFFC),
    ("-8 >> 1", 0xFFFF_FFFF_FFFF_FFFC),
    ("-8U >> 1", 0x7FFF_FFFF_FFFF_FFFC),
    ("1 << 63", 1 << 63),
    ("1 << 64", 1),
    ("1 << 65", 2),
    ("-1 >> 200", u64::MAX),
    ("1U >> 64", 1),
    ("1 << -1", 1 << 63),
    ("0x8000000000000000 / -1", 0),
    ("9223372036854775807 + 1 < 0", 1),
    ("1 ? -8 : 0U", 0xFFFF_FFFF_FFFF_FFF8),
    ("(1 ? -8 : 0U) / 2", 0xFFFF_FFFF_FFFF_FFFC),
    ("-1 < 0U", 0),
    ("-1 == 18446744073709551615", 1),
    ("-0x8000000000000000 >> 1", 1 << 62),
    ("1 && 2", 1),
    ("0 || 5", 1),
    ("(1 < 2) - 2 >> 1", u64::MAX),
    ("017", 15),
    ("0B11", 3),
    ("0x1FU", 31),
    ("-1U / 2", 0x7FFF_FFFF_FFFF_FFFF),
    ("WARP_SZ", 32),
    ("1.5 < 2.5", 1),
    (".5 + .5 == 1.0", 1),
];

/// The same for `.f64`.
const DOUBLES: &[(&str, u64)] = &[
    ("1.5", 0x3FF8_0000_0000_0000),
    ("0d3FF0000000000000", 0x3FF0_0000_0000_0000),
    ("-1.5", 0xBFF8_0000_0000_0000),
    ("(1.5)", 0x3FF8_0000_0000_0000),
    (".5", 0x3FE0_0000_0000_0000),
    ("1.", 0x3FF0_0000_0000_0000),
    ("1e5", 0x40F8_6A00_0000_0000),
    ("1.e5", 0x40F8_6A00_0000_0000),
    ("0d7FF8000000000001", 0x7FF8_0000_0000_0001),
    ("-0d7FF8000000000001", 0xFFF8_0000_0000_0001),
    ("0.1+0.2", 0x3FD3_3333_3333_3334),
];

/// The same for `.f32`.
const SINGLES: &[(&str, u32)] = &[
    ("1.5", 0x3FC0_0000),
    ("0d3FF0000000000000", 0x3F80_0000),
    ("0f3F800000", 0x3F80_0000),
    ("0.1", 0x3DCC_CCCD),
    ("1e39", 0x7F80_0000),
    ("0f7FC00001", 0x7FC0_0001),
    ("1e-46", 0),
    ("16777217.0", 0x4B80_0000),
    ("1.00000005960464477540", 0x3F80_0000),
    ("-0.0", 0x8000_0000),
];

#[test]
fn are_those_of_the_assembler() {
    for &(expression, bits) in INTEGERS {
        let value = value(expression).unwrap_or_else(|| panic!("{expression} has no value"));
        assert_eq!((value.bits(), value.integer().is_some()), (bits, true), "{expression}");
    }
    for &(expression, bits) in DOUBLES {
        assert_eq!(
            value(expression).and_then(Constant::double).map(f64::to_bits),
            Some(bits),
            "{expression}"
        );
    }
    for &(expression, bits) in SINGLES {
        assert_eq!(
            value(expression).and_then(Constant::single).map(f32::to_bits),
            Some(bits),
            "{expression}"
        );
    }
}

/// The assembler refuses these.
#[test]
fn do_not_exist_where_the_assembler_sees_none() {
    for expression in [
        "1 / 0",
        "1 % 0",
        "1.0 / 0.0",
        "1.5 < 2",
        "1.5 + 1",
        "!1.5",
        "1e400",
        "name",
        "-0f3F800000",
        "(.b32) 1",
    ] {
        assert_eq!(value(expression), None, "{expression}");
    }
}

#[test]
fn have_the_type_that_the_rules_of_signs_give() {
    assert_eq!(value("42"), Some(Constant::Signed(42)));
    assert_eq!(value("42U"), Some(Constant::Unsigned(42)));
    assert_eq!(value("0xfabc123400000000"), Some(Constant::Unsigned(0xFABC_1234_0000_0000)));
    assert_eq!(value("-(-42)"), Some(Constant::Signed(42)));
    assert_eq!(value("~1"), Some(Constant::Unsigned(!1)));
    assert_eq!(value("1U == 1"), Some(Constant::Signed(1)));
    assert_eq!(float("0f3F800000"), Some(Constant::Single(1.0)));
}

#[test]
fn casts_keep_their_type() {
    let source = Source::new("cast.ptx", ".global .b64 x = (.s64) 0xFFFFFFFFFFFFFFFF;").unwrap();
    let module = parse(&source).module;
    let operand = &module.operands[module.declarators[0].initializer.unwrap() as usize];
    assert!(matches!(operand.kind(), OperandKind::Cast(CastType::S64, _)));
    assert_eq!(evaluate(&source, &module, operand), Some(-1));
}
