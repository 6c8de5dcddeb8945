//! What is found out once, or only as far as somebody asks, is what a look at everything finds.

use std::fs;

use ptx_check::analysis::registers::{self, Access};
use ptx_check::resolve::symbols::{Resolution, SymbolKind};
use ptx_tc::instruction::decode::{Decoded, Decoder};
use ptx_tc::isa::generic::Control;
use ptx_tc::syntax::ast::StatementKind;
use ptx_tc::{Source, Unit};

use crate::common::{fixtures, root};

/// The kernels, and the modules that are made to be bad for a rule.
fn units() -> impl Iterator<Item = (String, Unit)> {
    let kernels = fs::read_dir(root().join("fixtures/kernels")).unwrap().map(|entry| entry.unwrap().path());
    let paths = kernels.chain(fixtures().into_iter().map(|(_, path)| path));
    paths.filter(|path| path.extension().is_some_and(|it| it == "ptx")).map(|path| {
        let name = path.display().to_string();
        let source = Source::from_bytes(name.as_str(), fs::read(path).unwrap()).unwrap();
        (name, Unit::new(&source))
    })
}

#[test]
fn decoding_for_checks_forgets_nothing_that_is_asked_for() {
    let (mut kept, mut forgotten) = (0, 0);
    for (name, unit) in units() {
        let functions: Vec<u32> = unit.module.bodies().map(|(function, _)| function).collect();
        let all = Decoder::new(&unit).decode(&functions);
        let for_checks = Decoder::for_checks(&unit).decode(&functions);
        assert_eq!(all.len(), for_checks.len(), "{name}");
        for (one, other) in all.iter().zip(&for_checks) {
            let without = |it: &Decoded<'_>| {
                let mut it = it.clone();
                it.operands.clear();
                format!("{it:?}")
            };
            assert_eq!(without(one), without(other), "{name}");
            if !other.operands.is_empty() {
                kept += 1;
                assert_eq!(format!("{:?}", one.operands), format!("{:?}", other.operands), "{name}");
                continue;
            }
            // What is wrong with an operand, or odd about it, is told with the operand.
            let is_sound =
                one.problems.is_empty() && one.operands.iter().all(|bound| bound.fits && bound.is_typed);
            assert!(is_sound || one.operands.is_empty(), "{name}: {one:?}");
            forgotten += usize::from(!one.operands.is_empty());
        }
    }
    assert!(kept > 100 && forgotten > 1000, "{kept} {forgotten}");
}

#[test]
fn instructions_that_do_more_than_compute() {
    for (name, unit) in units() {
        let count = unit.module.instructions.len() as u32;
        for range in [0..count, 0..count / 2, count / 3..count, count..count] {
            let others: Vec<u32> = range
                .clone()
                .filter(|instruction| !unit.operations.of(*instruction).only_computes())
                .collect();
            assert_eq!(unit.operations.others_within(range), others, "{name}");
        }
        let leads_on = |instruction: &u32| unit.operations.of(*instruction).control() == Control::Next;
        let computes = (0..count).filter(|instruction| unit.operations.of(*instruction).only_computes());
        assert!(computes.into_iter().all(|instruction| leads_on(&instruction)), "{name}");
    }
}

#[test]
fn registers_that_are_written() {
    for (name, unit) in units() {
        for instruction in 0..unit.module.instructions.len() as u32 {
            let (mut expected, mut found) = (Vec::new(), Vec::new());
            registers::accesses(&unit, instruction, &mut |register, operand, access| {
                if access == Access::Write {
                    expected.push((register, operand));
                }
            });
            registers::writes(&unit, instruction, &mut |register, operand| found.push((register, operand)));
            assert_eq!(found, expected, "{name}: {instruction}");
        }
    }
}

#[test]
fn labels_that_something_names() {
    let mut not_named = 0;
    for (name, unit) in units() {
        let operands = 0..unit.module.operands.len() as u32;
        let label = |operand| match unit.symbols.operand(operand) {
            Resolution::Symbol(id) => match unit.symbols.symbol(id).kind {
                SymbolKind::Label { statement } => Some(statement),
                _ => None,
            },
            _ => None,
        };
        let named: Vec<u32> = operands.filter_map(label).collect();
        for (statement, it) in (0..).zip(&unit.module.statements) {
            if it.kind() == StatementKind::Label {
                assert_eq!(
                    unit.symbols.is_named(statement),
                    named.contains(&statement),
                    "{name}: {statement}"
                );
                not_named += usize::from(!named.contains(&statement));
            }
        }
    }
    assert!(not_named > 10, "{not_named}");
}
