//! What is not computed, and why.

use ptx_numbers::{Accumulator, Error, Evidence, Form, Format, Kind, Matrix, Multiply, OldD, RULES, Target};

const F16: Multiply = Multiply::tcgen05(Kind::F16, Target::Sm100, Format::F16, Format::F16, Accumulator::F32);

#[test]
fn no_two_rules_apply() {
    for (at, rule) in RULES.iter().enumerate() {
        for other in &RULES[at + 1..] {
            let same = rule.instruction == other.instruction
                && rule.kind == other.kind
                && rule.accumulator == other.accumulator
                && rule.targets.iter().any(|target| other.targets.contains(target))
                && rule.factors.iter().any(|format| other.factors.contains(format));
            assert!(!same, "{rule:?}\n{other:?}");
        }
    }
}

#[test]
fn what_no_source_covers() {
    let unknown = [
        Multiply::tcgen05(Kind::F16, Target::Sm90, Format::F16, Format::F16, Accumulator::F32),
        Multiply::mma_sync(Kind::F16, Target::Sm100, Format::F16, Format::Bf16, Accumulator::F32),
        Multiply::tcgen05(Kind::F16, Target::Sm100, Format::F16, Format::Bf16, Accumulator::F16),
        Multiply::tcgen05(Kind::F16, Target::Sm100, Format::Bf16, Format::Bf16, Accumulator::F16),
        Multiply::mma_sync(Kind::F8f6f4, Target::Sm90, Format::E2m1, Format::E4m3, Accumulator::F16),
        Multiply::mma_sync(Kind::I8, Target::Sm90, Format::S8, Format::S4, Accumulator::S32),
        Multiply {
            scale: None,
            ..Multiply::tcgen05(Kind::Mxf4, Target::Sm100, Format::E2m1, Format::E2m1, Accumulator::F32)
        },
        Multiply { scale: Some(Format::Ue8m0), ..F16 },
    ];
    for multiply in unknown {
        assert_eq!(multiply.rule().err(), Some(Error::Unknown), "{multiply:?}");
        assert_eq!(multiply.rows(&Matrix::new(0, 0, &[])).err(), Some(Error::Unknown));
    }
}

#[test]
fn shapes_that_do_not_fit() {
    let codes = [0; 4096];
    let rows = |multiply: Multiply, count, k, length: usize, scales: usize| {
        multiply.rows(&Matrix::new(count, k, &codes[..length]).scaled(&codes[..scales])).err()
    };
    assert_eq!(rows(F16, 2, 16, 32, 0), None);
    assert_eq!(rows(F16, 2, 16, 31, 0), Some(Error::Length));
    assert_eq!(rows(F16, 2, 16, 32, 2), Some(Error::Length));
    assert_eq!(rows(F16, usize::MAX, 16, 32, 0), Some(Error::Length));
    assert_eq!(rows(F16, 1, 512, 512, 0), Some(Error::K));
    let mxf4 = Multiply::tcgen05(Kind::Mxf4, Target::Sm100, Format::E2m1, Format::E2m1, Accumulator::F32);
    assert_eq!(rows(mxf4, 2, 64, 128, 4), None);
    assert_eq!(rows(mxf4, 2, 64, 128, 0), Some(Error::Length));
    assert_eq!(rows(mxf4, 2, 64, 128, 3), Some(Error::Length));
    assert_eq!(rows(mxf4, 2, 65, 130, 2), Some(Error::K));
    let fp8 = Multiply::mma_sync(Kind::F8f6f4, Target::Sm90, Format::E4m3, Format::E4m3, Accumulator::F32);
    assert_eq!(rows(fp8, 2, 16, 32, 0), None);
    assert_eq!(rows(fp8, 2, 18, 36, 0), Some(Error::K));
    assert_eq!(rows(fp8, 2, 64, 128, 0), Some(Error::K));
    assert_eq!(F16.columns(&Matrix::new(1, 2, &[0; 2]).selecting(&[0; 2])).err(), Some(Error::Index));
}

#[test]
fn operands_of_another_multiply() {
    let codes = [0; 64];
    let a = F16.rows(&Matrix::new(2, 16, &codes[..32])).unwrap();
    let b = F16.columns(&Matrix::new(3, 16, &codes[..48])).unwrap();
    let execute = |multiply: Multiply, a, b, d: &mut [u32], old| multiply.execute(a, b, d, old).err();
    let mut d = [7; 6];
    assert_eq!(execute(F16, &a, &b, &mut [0; 5], OldD::Zero), Some(Error::Length));
    assert_eq!(execute(F16, &a, &b, &mut d, OldD::Read { scale: 16 }), Some(Error::Scale));
    let bf16 = Multiply { a: Format::Bf16, b: Format::Bf16, ..F16 };
    assert_eq!(execute(bf16, &a, &b, &mut d, OldD::Zero), Some(Error::Operands));
    let short = F16.columns(&Matrix::new(3, 8, &codes[..24])).unwrap();
    assert_eq!(execute(F16, &a, &short, &mut d, OldD::Zero), Some(Error::Operands));
    let sparse = F16.rows(&Matrix::new(2, 2, &codes[..4]).selecting(&[0, 1, 2, 16])).unwrap();
    assert_eq!(execute(F16, &sparse, &b, &mut d, OldD::Zero), Some(Error::Index));
    assert_eq!(d, [7; 6], "unchanged");
    assert_eq!(execute(F16, &a, &b, &mut d, OldD::Zero), None);
    assert_eq!(d, [0; 6]);
}

/// Nothing has no elements, and K = 0 leaves D.
#[test]
fn empty_operands() {
    let nothing = F16.rows(&Matrix::new(0, 16, &[])).unwrap();
    let columns = F16.columns(&Matrix::new(0, 16, &[])).unwrap();
    assert_eq!(F16.execute(&nothing, &columns, &mut [], OldD::Zero), Ok(()));
    let a = F16.rows(&Matrix::new(1, 0, &[])).unwrap();
    let b = F16.columns(&Matrix::new(1, 0, &[])).unwrap();
    let mut d = [0x4000_0001];
    F16.execute(&a, &b, &mut d, OldD::Read { scale: 0 }).unwrap();
    assert_eq!(d, [0x4000_0001]);
}

#[test]
fn only_the_plain_form_has_a_source() {
    assert!(matches!(F16.evidence(Form::Plain), Ok(Evidence::Modelled { .. })));
    for form in [Form::Sparse, Form::WeightStationary, Form::CtaPair, Form::OtherK] {
        assert!(matches!(F16.evidence(form), Ok(Evidence::Assumed { .. })), "{form:?}");
    }
    let mma = Multiply::mma_sync(Kind::F16, Target::Sm90, Format::F16, Format::F16, Accumulator::F32);
    assert!(matches!(mma.evidence(Form::Plain), Ok(Evidence::Measured { .. })));
}
