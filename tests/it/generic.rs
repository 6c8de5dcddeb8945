//! The table of every instruction outside tcgen05: that it is sound, and that it knows what is
//! really written.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use ptx_check::resolve::operations::Opcode;
use ptx_check::resolve::unit::Unit;
use ptx_tc::diagnostic::{Ptxas, Severity};
use ptx_tc::isa::generic::{
    self, Computation, Demand, Form, Modifier, Operation, Presence, Role, Targets, Term, TypeRule,
};
use ptx_tc::isa::targets::Target;
use ptx_tc::syntax::ast::{Operand, OperandKind};
use ptx_tc::{Options, Source, check};
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
        for constraint in row.constraints {
            let then: Vec<&Term> = match &constraint.then {
                Demand::Needs(term) | Demand::Excludes(term) | Demand::Leads(term) => vec![term],
                Demand::OneOf(lists) => lists.iter().copied().flatten().collect(),
                Demand::Since(since) => {
                    assert!(since.exists(), "{name}: since {since}");
                    Vec::new()
                }
                Demand::On(Targets::From(sm)) | Demand::Gone(_, sm) => {
                    assert!(Target::plain(*sm).since().is_some(), "{name}: from {sm}");
                    Vec::new()
                }
                Demand::On(Targets::These(targets)) => {
                    assert!(targets.iter().all(|target| target.since().is_some()), "{name}: {targets:?}");
                    Vec::new()
                }
            };
            for word in constraint.when.iter().chain(then).flat_map(|term| term.words) {
                let has = row.modifiers.iter().any(|group| group.words.contains(word));
                assert!(has, "{name}: a constraint is about .{}", word.spelling());
            }
        }
        for slot in row.operands {
            let conditions = match slot.presence {
                Presence::Always | Presence::Optional => &[][..],
                Presence::When(words) | Presence::OptionalUnless(words) | Presence::Unless(words) => words,
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
                let kinds: Vec<OperandKind> = operands.iter().map(Operand::kind).collect();
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
    // The assembler takes `.sp` anywhere.
    let opcode =
        Opcode::new("mma.sync.aligned.kind::f8f6f4.sp::ordered_metadata.m16n8k64.row.col.f32.e2m1.e4m3.f32");
    assert_eq!((opcode.operation(), opcode.is_known()), (Some(Operation::MmaSp), true));
    assert_eq!(Opcode::new("mma.sync.aligned.sp.nothing").operation(), Some(Operation::Mma));
    assert_eq!(Opcode::new("").operation(), None);
}

/// How many recorded statements the assembler takes, how many it refuses, and in how many of those nothing is found.
/// In what it takes, nothing is.
fn judged(verdicts: &str) -> [usize; 3] {
    let [mut accepted, mut refused, mut missed] = [0, 0, 0];
    for line in verdicts.lines().filter(|line| !line.starts_with('#')) {
        let [_, _, verdict, agreement, statement] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("malformed line: {line}");
        };
        let text = format!(".version 9.5\n.target sm_100a\n.entry k() {{ {statement} }}");
        let report = check(&Source::new("statement.ptx", text).unwrap(), &Options::default());
        let is_fine = !report.diagnostics.iter().any(|finding| finding.code.as_str().starts_with("TC12"));
        let accepts = verdict == "accepts";
        assert!(!accepts || is_fine, "{line}");
        // A recorded difference must stay one, or be recorded anew.
        assert_eq!(is_fine == accepts, agreement == "agrees", "{line}");
        *(if accepts { &mut accepted } else { &mut refused }) += 1;
        missed += usize::from(!accepts && is_fine);
    }
    assert!(accepted > 1_000 && refused > 1_000, "{accepted} accepted, {refused} refused");
    [accepted, refused, missed]
}

/// What the assembler refuses with a word of another instruction has a finding, but for words that it takes in
/// other places.
#[test]
fn verdicts_agree() {
    let [_, refused, missed] = judged(include_str!("../../fixtures/ptxas/generic.tsv"));
    assert!(missed * 10 < refused, "{missed} of {refused} words are not missed");
}

/// The table itself: what the assembler takes, it has, and what that refuses with a word of another instruction, it
/// has not. One statement is refused for another reason.
#[test]
fn the_table_agrees() {
    let mut differing = Vec::new();
    let verdicts = include_str!("../../fixtures/ptxas/generic.tsv");
    for line in verdicts.lines().filter(|line| !line.starts_with('#')) {
        let [_, _, verdict, _, statement] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("malformed line: {line}");
        };
        let text = format!(".version 9.5\n.target sm_100a\n.entry k() {{ {statement} }}");
        let unit = Unit::new(&Source::new("statement.ptx", text).unwrap());
        let opcode = unit.operations.of(0);
        let is_known = opcode.is_known()
            && opcode.violated().next().is_none()
            && opcode.assign(&unit.module, unit.module.instructions[0].operands).is_ok();
        if is_known != (verdict == "accepts") {
            differing.push(line);
        }
    }
    assert!(differing.len() <= 1, "{differing:#?}");
    assert!(differing.iter().all(|line| line.contains("\trejects\t")), "{differing:#?}");
}

/// What the rules say where a word or an operand is left out, or an operand is there twice or looks otherwise.
#[test]
fn misfits_agree() {
    let [_, refused, missed] = judged(include_str!("../../fixtures/ptxas/misfits.tsv"));
    assert!(missed * 3 < refused, "{missed} of {refused} misfits are not found");
}

/// A statement in the module that mistakes are made in.
fn module_of(statement: &str, target: &str, version: &str) -> String {
    let template = include_str!("../../fixtures/ptxas/mistakes.ptx");
    let number: Vec<u32> = version.split('.').map(|it| it.parse().unwrap()).collect();
    // Older versions do not have the widest registers.
    let is_old = number[..] < [8, 3][..];
    let lines = template.lines().filter(|line| !(is_old && line.contains(".b128")));
    let text: String = lines.map(|line| format!("{line}\n")).collect();
    let text = text.replace("{version}", version).replace("{target}", target);
    text.replace("{number}", "0").replace("{statement}", statement)
}

/// Mistakes in statements of real modules: what the assembler takes has no finding, and of what it refuses not less
/// is found than was.
#[test]
fn mistakes_are_found() {
    let mut kinds: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
    let mut false_alarms = Vec::new();
    for line in include_str!("../../fixtures/ptxas/mistakes.tsv").lines().filter(|it| !it.starts_with('#')) {
        let [kind, target, version, verdict, found, statement] = line.split('\t').collect::<Vec<_>>()[..]
        else {
            panic!("malformed line: {line}");
        };
        let text = module_of(statement, target, version);
        let report = check(&Source::new("statement.ptx", text).unwrap(), &Options::default());
        let is_found = report
            .diagnostics
            .iter()
            .any(|finding| finding.severity == Severity::Error && finding.ptxas == Ptxas::Rejects);
        if verdict == "accepts" && is_found {
            false_alarms.push(line);
        } else if verdict == "rejects" {
            let [refused, once, now] = kinds.entry(kind).or_default();
            *refused += 1;
            *once += usize::from(found == "found");
            *now += usize::from(is_found);
        }
    }
    assert!(false_alarms.is_empty(), "{false_alarms:#?}");
    assert!(kinds.len() >= 10, "{kinds:?}");
    for (kind, [refused, once, now]) in kinds {
        assert!(now >= once, "{kind}: {now} of {refused} are found, {once} were");
    }
}

/// Programs for ray tracing call functions that nobody declares.
#[test]
fn functions_of_optix_need_no_declaration() {
    let text = ".version 8.0\n.target sm_90\n.entry k() { .reg .b32 r;\n\
        call (r), _optix_get_launch_index_x, ();\ncall (r), others, ();\nret; }";
    let report = check(&Source::new("program.ptx", text).unwrap(), &Options::default());
    let messages: Vec<&str> = report.diagnostics.iter().map(|finding| finding.message.as_str()).collect();
    assert_eq!(messages, ["undeclared name `others`"]);
}

/// What may have been meant takes long to find, and is found for so many opcodes alone, however many are misspelt;
/// again and again for the same.
#[test]
fn what_was_meant_is_looked_for_within_limits() {
    let distinct = (0..2_000).map(|at| format!("fence.proxy.asin{at};\n"));
    let same = (0..1_000).map(|_| "fence.proxy.asinc;\n".to_owned());
    let text: String = same.chain(distinct).collect();
    let text = format!(".version 9.0\n.target sm_100a\n.entry k() {{ {text} }}");
    let options = Options { max_findings: None, ..Options::default() };
    let report = check(&Source::new("misspelt.ptx", text).unwrap(), &options);
    let helped = report.diagnostics.iter().filter(|finding| finding.help.is_some()).count();
    assert_eq!(report.diagnostics.len(), 3_000);
    assert!((1_000..1_500).contains(&helped), "{helped}");
}

/// What analyses ask of an instruction, they ask the table; none reads an opcode for itself.
#[test]
fn nothing_else_reads_opcodes() {
    fn sources(directory: &std::path::Path, found: &mut Vec<std::path::PathBuf>) {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { sources(&path, found) } else { found.push(path) }
        }
    }
    let mut paths = Vec::new();
    for directory in ["src/analysis/src", "src/checker/src/rules"] {
        sources(&root().join(directory), &mut paths);
    }
    let mut readers = Vec::new();
    for path in &paths {
        let text = fs::read_to_string(path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        let reads = [
            "slice(raw.opcode",
            "slice(instruction.opcode",
            "[raw.opcode.range()]",
            "mnemonic",
            "words_of",
            ".opcode).split",
            "starts_with(b\"tcgen05",
            "starts_with(\"tcgen05",
        ];
        if reads.iter().any(|reading| code.contains(reading)) {
            readers.push(path.strip_prefix(root()).unwrap().display().to_string());
        }
    }
    assert!(paths.len() > 100);
    assert!(readers.is_empty(), "{readers:#?}");
}

/// Every operation whose value is computed, with every type, and in each position what does not
/// belong there: vectors, addresses, numbers that are too large, nothing.
#[test]
fn strange_operands_are_harmless() {
    const STRANGE: &[&str] = &[
        "{r1, r2}",
        "{d1, d2}",
        "{h1, h2, h3, h4}",
        "{r1}",
        "{}",
        "{1, 2, 3}",
        "[d1]",
        "[r1+4]",
        "-1",
        "64",
        "0xFFFFFFFFFFFFFFFF",
        "0f3F800000",
        "!p1",
        "p1",
        "_",
        "h1",
        "d1",
        "(r1)",
        "r1|p1",
        "r1+4",
        "nope",
    ];
    let mut bodies = Vec::new();
    for row in generic::rows().filter(|row| row.computes != Computation::Other) {
        for opcode in opcodes_with_all_types(row) {
            let known = Opcode::new(&opcode);
            let usual: Vec<&str> = known.slots.iter().map(|slot| usual(&known, slot)).collect();
            for destination in ["r5", "d0", "{r5, r6}"] {
                for position in 1..=usual.len() {
                    for strange in STRANGE {
                        let mut operands = usual.clone();
                        operands[0] = destination;
                        // Behind the last one, one more.
                        match operands.get_mut(position) {
                            Some(operand) => *operand = strange,
                            None => operands.push(strange),
                        }
                        bodies.push(format!("{opcode} {};", operands.join(", ")));
                    }
                }
            }
            bodies.push(format!("{opcode};"));
            bodies.push(format!("{opcode} r5;"));
        }
    }
    assert!(bodies.len() > 10_000, "{} statements", bodies.len());
    assert!(bodies.iter().any(|body| body == "mad.wide.u64 d0, d1, d1, {r1, r2};"));
    for chunk in bodies.chunks(2_000) {
        let mut text = String::from(".version 9.0\n.target sm_100a\n");
        for (number, body) in chunk.iter().enumerate() {
            text += &format!(
                ".entry k{number}() {{ .reg .pred p<4>; .reg .b16 h<5>; .reg .b32 r<9>; .reg .b64 d<9>;\n\
                 mov.b32 r1, 0x8000FFFF; mov.b64 d1, 0x8000000000000001; mov.b16 h1, -1;\n{body}\n\
                 tcgen05.mma.cta_group::1.kind::f16 [r0], d0, d1, r5, p1;\n}}\n"
            );
        }
        let source = Source::new("strange.ptx", text).unwrap();
        let report = check(&source, &Options { describe: true, ..Options::default() });
        // The multiplies were looked at.
        assert!(report.descriptors.unwrap().len() > chunk.len() / 2);
    }
}

/// The opcodes of a row with all its types, all parts of products, and of the other words the first.
fn opcodes_with_all_types(row: &generic::Row) -> Vec<String> {
    let mut opcodes = vec![row.name().to_owned()];
    for group in row.modifiers.iter().filter(|group| group.required) {
        let is_varied = matches!(group.words[0], Modifier::Type(_) | Modifier::Part(_));
        let words = if is_varied { group.words } else { &group.words[..1] };
        opcodes = opcodes
            .iter()
            .flat_map(|opcode| words.iter().map(move |word| format!("{opcode}.{}", word.spelling())))
            .collect();
    }
    opcodes
}

/// What usually stands in a position.
fn usual(opcode: &Opcode, slot: &generic::OperandSlot) -> &'static str {
    let ty = match slot.ty {
        TypeRule::Nth(index) => opcode.types[usize::from(index)],
        TypeRule::Fixed(ty) | TypeRule::Integer(ty) => ty,
        TypeRule::Product | TypeRule::Pointer | TypeRule::Fragment | TypeRule::Any => opcode.types[0],
    };
    match (slot.form, ty.bits()) {
        (Form::Address, _) => "[d1]",
        (Form::Predicate, _) | (_, None) => "p1",
        (Form::Immediate, _) => "5",
        (_, Some(..=16)) => "h1",
        (_, Some(..=32)) => "r1",
        (_, Some(_)) => "d1",
    }
}
