//! The table of every instruction outside tcgen05: that it is sound, and that it knows what is
//! really written.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use ptx_tc::Source;
use ptx_tc::isa::generic::{self, Form, Modifier, Operation, Presence, Role};
use ptx_tc::resolve::operations::Opcode;
use ptx_tc::resolve::unit::Unit;
use ptx_tc::syntax::ast::OperandKind;
use strum::IntoEnumIterator;

use crate::common::root;

#[test]
fn one_row_for_each_operation() {
    let mut found: Vec<Operation> = generic::rows().map(|row| row.operation).collect();
    assert!(found.iter().eq(&Operation::iter().collect::<Vec<_>>()), "the rows stand in the enum's order");
    found.dedup();
    assert_eq!(found.len(), Operation::iter().count());
}

#[test]
fn the_rows_are_sound() {
    for row in generic::rows() {
        let name = row.name();
        let words: BTreeSet<&str> = row.names.iter().copied().collect();
        assert!(!name.is_empty() && words.len() == row.names.len(), "{name}: names");
        assert!(row.modifiers.len() <= 64, "{name}: more groups than Match has bits for");
        let mut met: BTreeMap<String, Vec<(usize, Modifier)>> = BTreeMap::new();
        for (index, group) in row.modifiers.iter().enumerate() {
            assert!(!group.words.is_empty(), "{name}: an empty group");
            for (at, word) in group.words.iter().enumerate() {
                assert!(!group.words[..at].contains(word), "{name}: .{} stands twice", word.spelling());
                met.entry(word.spelling()).or_default().push((index, *word));
            }
        }
        // The same word in several groups has one meaning: its place decides, not its sense.
        for (spelling, meanings) in met {
            let first = meanings[0].1;
            assert!(
                meanings.iter().all(|(_, meaning)| *meaning == first),
                "{name}: .{spelling} is ambiguous"
            );
        }
        for slot in row.operands {
            let conditions = match slot.presence {
                Presence::Always | Presence::Optional => &[][..],
                Presence::When(words) | Presence::OptionalWhen(words) | Presence::Unless(words) => words,
            };
            for word in conditions {
                let has = row.modifiers.iter().any(|group| group.words.contains(word));
                assert!(has, "{name}: {} depends on .{}", slot.name, word.spelling());
            }
            if let Role::Address(..) = slot.role {
                assert_eq!(slot.form, Form::Address, "{name}: {}", slot.name);
            }
        }
    }
}

/// Rows of one name are told apart by their words alone.
#[test]
fn every_row_is_found() {
    for row in generic::rows() {
        for name in row.names {
            let mut opcode = (*name).to_owned();
            for group in row.modifiers.iter().filter(|group| group.required) {
                opcode += &format!(".{}", group.words[0].spelling());
            }
            let found = Opcode::new(&opcode);
            assert_eq!(found.operation(), Some(row.operation), "{opcode}");
        }
    }
}

fn opcodes_of(directory: &str, at_least: usize) {
    let mut instructions = 0;
    let mut paths: Vec<_> =
        fs::read_dir(root().join(directory)).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "ptx"));
    // What the ISA itself writes wrong is not known.
    paths.retain(|path| !path.ends_with("isa_examples_wrong.ptx"));
    paths.sort();
    let mut strange = BTreeSet::new();
    for path in paths {
        let source = Source::from_bytes(path.display().to_string(), fs::read(&path).unwrap()).unwrap();
        let unit = Unit::new(&source);
        for (index, instruction) in unit.module.instructions.iter().enumerate() {
            instructions += 1;
            let opcode = unit.operations.of(index as u32);
            let text = source.slice(instruction.opcode);
            if !opcode.is_known() {
                strange.insert(format!("{text} is unknown"));
            } else if opcode.operation() != Some(Operation::Tensor)
                && let Err(misfit) = opcode.assign(&unit.module, instruction.operands)
            {
                let operands = unit.module.operands(instruction.operands);
                let kinds: Vec<OperandKind> = operands.iter().map(|operand| operand.kind()).collect();
                strange.insert(format!("{text}: {misfit:?} of {kinds:?}"));
            }
        }
    }
    assert!(instructions >= at_least, "{instructions} instructions");
    assert!(strange.is_empty(), "{strange:#?}");
}

#[test]
fn the_opcodes_of_the_kernels_are_known() {
    opcodes_of("fixtures/kernels", 80_000);
}

#[test]
fn the_opcodes_of_the_syntax_fixtures_are_known() {
    opcodes_of("fixtures/syntax", 80);
}

#[test]
fn what_is_unknown_is_counted() {
    let text = ".version 9.0\n.target sm_100a\n.entry k() {\n foo.bar;\n foo.bar;\n ret.maybe;\n exit; }";
    let unit = Unit::new(&Source::new("t", text).unwrap());
    let unknown: Vec<(&str, usize)> = unit
        .operations
        .unknown()
        .into_iter()
        .map(|(first, count)| (unit.source.slice(unit.module.instructions[first as usize].opcode), count))
        .collect();
    assert_eq!(unknown, [("foo.bar", 2), ("ret.maybe", 1)]);
}

#[test]
fn words_may_be_spaced_out() {
    let opcode = Opcode::new("mbarrier.try_wait /* or .test_wait */ .parity\n  .shared::cta .b64");
    assert_eq!(opcode.operation(), Some(Operation::MbarrierTryWait));
    assert!(opcode.is_known());
    let opcode = Opcode::new("add.s32.s32");
    assert_eq!((opcode.operation(), opcode.unknown.len()), (Some(Operation::Add), 1));
    assert_eq!(Opcode::new("mul.wide").operation(), Some(Operation::Mul));
    assert_eq!(Opcode::new("").operation(), None);
}
