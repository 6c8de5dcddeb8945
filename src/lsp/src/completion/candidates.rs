//! Which qualifiers still fit.
//!
//! What goes together is the business of the rules, and so they are asked: a qualifier fits when
//! some complete instruction with it, and with what is written already, passes them. Those
//! instructions are made from the table. Most qualifiers fit at the first try; only for the others
//! optional ones are added, because some are required by a combination: a shape of `cp` wants its
//! multicast, a kind its block scaling. All tries of a round are one module.

use ptx_check::Source;
use ptx_check::analysis::calls::{CallGraph, Component};
use ptx_check::analysis::events::Events;
use ptx_check::diagnostic::Findings;
use ptx_check::instruction::decode;
use ptx_check::instruction::form::Qualifiers;
use ptx_check::instruction::gates::{self, Gates};
use ptx_check::instruction::index::Index;
use ptx_check::isa::tensor::{InstructionForm, OperandClass, OperandSlot, QualifierSlot};
use ptx_check::isa::vocabulary::Qualifier;
use ptx_check::resolve::environment::Environment;
use ptx_check::resolve::unit::Unit;
use ptx_check::rules::{Checker, Code};
use ptx_check::source::{Span, Spanned};

/// Tries for one qualifier in one round. The widest choice of required ones has 240.
const MAX_TRIES: usize = 1024;
/// Tries of one qualifier that go into one module.
const WAVE: usize = 32;

/// The qualifiers that can be added to `written`, in the ISA's order.
pub(super) fn fitting(
    form: &'static InstructionForm,
    written: &[Qualifier],
    environment: &Environment,
) -> Vec<Qualifier> {
    let candidates: Vec<Qualifier> = form
        .qualifiers
        .iter()
        .filter(|slot| written.iter().all(|it| it.slot() != slot.slot))
        .flat_map(QualifierSlot::choices)
        .filter(|&candidate| {
            let mut all = written.to_vec();
            all.push(candidate);
            gates::is_open(environment, form.operation, &all)
        })
        .collect();
    let fits = search(form, written, &candidates, environment);
    // What is written is wrong by itself: then the table alone decides.
    if fits.is_empty() { candidates } else { fits }
}

fn search(
    form: &'static InstructionForm,
    written: &[Qualifier],
    candidates: &[Qualifier],
    environment: &Environment,
) -> Vec<Qualifier> {
    let mut fits: Vec<Qualifier> = Vec::new();
    for extras in 0..=2 {
        let mut open: Vec<(Qualifier, Vec<Vec<Qualifier>>)> = candidates
            .iter()
            .filter(|candidate| !fits.contains(candidate))
            .map(|&candidate| {
                let mut start = written.to_vec();
                start.push(candidate);
                (candidate, completions(form, &start, extras))
            })
            .collect();
        while open.iter().any(|(_, tries)| !tries.is_empty()) {
            let wave: Vec<(Qualifier, Vec<Qualifier>)> = open
                .iter_mut()
                .flat_map(|(candidate, tries)| {
                    let count = tries.len().min(WAVE);
                    let candidate = *candidate;
                    tries.drain(..count).map(move |tried| (candidate, tried)).collect::<Vec<_>>()
                })
                .collect();
            let passed = pass(form, wave.iter().map(|(_, tried)| tried.as_slice()), environment);
            for ((candidate, _), passed) in wave.iter().zip(passed) {
                if passed && !fits.contains(candidate) {
                    fits.push(*candidate);
                }
            }
            open.retain(|(candidate, _)| !fits.contains(candidate));
        }
    }
    candidates.iter().copied().filter(|candidate| fits.contains(candidate)).collect()
}

/// Ways to fill the required slots that are left, and `extras` of the optional ones.
fn completions(form: &InstructionForm, start: &[Qualifier], extras: usize) -> Vec<Vec<Qualifier>> {
    let mut all = vec![start.to_vec()];
    for _ in 0..extras {
        all = extend(&all, |filled| {
            form.qualifiers
                .iter()
                // In the order of the slots only, or each pair would come twice.
                .filter(|slot| !slot.required && filled.iter().all(|it| it.slot() != slot.slot))
                .flat_map(QualifierSlot::choices)
                .filter(|choice| {
                    filled.get(start.len()..).unwrap_or_default().iter().all(|it| it.slot() < choice.slot())
                })
                .collect()
        });
    }
    for slot in form.qualifiers.iter().filter(|slot| slot.required) {
        if start.iter().all(|it| it.slot() != slot.slot) {
            all = extend(&all, |_| slot.choices());
        }
    }
    all
}

fn extend(all: &[Vec<Qualifier>], choices: impl Fn(&[Qualifier]) -> Vec<Qualifier>) -> Vec<Vec<Qualifier>> {
    let mut extended = Vec::new();
    for filled in all {
        for choice in choices(filled) {
            if extended.len() == MAX_TRIES {
                return extended;
            }
            let mut more = filled.clone();
            more.push(choice);
            extended.push(more);
        }
    }
    extended
}

/// For each set of qualifiers, whether the complete instruction with them passes the rules.
fn pass<'a>(
    form: &'static InstructionForm,
    tries: impl Iterator<Item = &'a [Qualifier]>,
    environment: &Environment,
) -> Vec<bool> {
    let mut text = String::from(".entry k() {\n.reg .b32 a; .reg .b64 d; .reg .pred p; .shared .b64 s;\n");
    let mut lines = Vec::new();
    for tried in tries {
        lines.push(text.len() as u32);
        instruction(form, tried, &mut text);
    }
    text.push_str("}\n");
    let Ok(source) = Source::new("candidates", text) else { return vec![false; lines.len()] };
    let unit = Unit::new(&source);
    let instructions = decode::decode_all(&unit);
    let gates = Gates::new(environment);
    let checker = Checker {
        unit: &unit,
        instructions: &instructions,
        index: &Index::new(&instructions, &gates),
        environment,
        gates: &gates,
        calls: &CallGraph::default(),
        component: &Component::default(),
        events: &Events::default(),
        flows: &[],
        descriptors: &[],
    };
    let mut findings = Findings::all();
    for &code in RELEVANT {
        (code.rule().check)(&checker, &mut findings);
    }
    let mut passed = vec![true; lines.len()];
    for finding in findings.finish().diagnostics {
        let line = lines.partition_point(|&start| start <= finding.primary.span.start);
        if let Some(passed) = line.checked_sub(1).and_then(|line| passed.get_mut(line)) {
            *passed = false;
        }
    }
    passed
}

/// The rules about one instruction's qualifiers. Those about what is around it do not apply.
const RELEVANT: &[Code] = &[
    Code::QualifierNotAllowed,
    Code::MissingQualifier,
    Code::RepeatedQualifier,
    Code::StateSpace,
    Code::InstructionUnsupportedOnTarget,
    Code::FeatureUnsupportedOnTarget,
    Code::VersionTooOld,
    Code::ShapeNum,
    Code::HalfSplitOffset,
    Code::CpMulticast,
    Code::CpFormat,
    Code::SpcompressTypes,
    Code::BlockScale,
    Code::ScaleVectorSize,
    Code::WeightStationary,
    Code::CollectorBuffer,
    Code::Ashift,
    Code::ScaleInputD,
    Code::Decompress,
];

/// Writes the instruction with operands that suit it.
fn instruction(form: &'static InstructionForm, qualifiers: &[Qualifier], text: &mut String) {
    text.push_str("tcgen05.");
    text.push_str(form.operation.name());
    let mut known = Qualifiers::default();
    for slot in form.qualifiers {
        if let Some(&qualifier) = qualifiers.iter().find(|it| it.slot() == slot.slot) {
            text.push('.');
            text.push_str(qualifier.spelling());
            known.push(Spanned::new(qualifier, Span::default()));
        }
    }
    for (index, slot) in required_operands(form, &known).enumerate() {
        text.push_str(if index == 0 { " " } else { ", " });
        text.push_str(match slot.class {
            OperandClass::AllocDestination
            | OperandClass::Mbarrier
            | OperandClass::TmemAddress
            | OperandClass::MmaAddress
            // Everything that A can be asked of it can be in Tensor Memory.
            | OperandClass::MatrixA => "[a]",
            OperandClass::TmemHandle
            | OperandClass::ReductionResult
            | OperandClass::InstructionDescriptor => "a",
            OperandClass::Columns => "32",
            OperandClass::LoadVector
            | OperandClass::MetadataVector
            | OperandClass::StoreVector
            | OperandClass::LaneMask => "{a}",
            OperandClass::HalfSplitOffset | OperandClass::ScaleInputD => "0",
            OperandClass::SharedMemoryDescriptor | OperandClass::ZeroColumnMask => "d",
            OperandClass::EnableInputD => "p",
            OperandClass::CtaMask16 | OperandClass::CtaMask32 => "1",
        });
    }
    text.push_str(";\n");
}

/// The operands that the form must have with these qualifiers.
pub(crate) fn required_operands<'a>(
    form: &'static InstructionForm,
    qualifiers: &'a Qualifiers,
) -> impl Iterator<Item = &'static OperandSlot> + 'a {
    form.present(qualifiers.words()).filter(|slot| !slot.optional)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptx_check::isa::targets::{PtxVersion, Target};
    use ptx_check::isa::vocabulary::Operation;
    use ptx_check::resolve::environment::Declared;

    fn words(operation: &str, written: &str, target: &str) -> Vec<&'static str> {
        let operation: Operation = operation.parse().unwrap();
        let written: Vec<Qualifier> = written.split('.').filter_map(Qualifier::parse).collect();
        let target: Target = target.parse().unwrap();
        let environment = Environment::of(
            Some(Declared { value: PtxVersion::LATEST, span: None }),
            vec![vec![Declared { value: target, span: None }]],
        );
        let form = InstructionForm::of(operation);
        fitting(form, &written, &environment).into_iter().map(Qualifier::spelling).collect()
    }

    #[test]
    fn combinations_are_respected() {
        assert_eq!(
            words("ld", "sync.aligned.16x256b", "sm_100a"),
            ["x1", "x2", "x4", "x8", "x16", "x32", "pack::16b", "b32"]
        );
        assert_eq!(
            words("cp", "cta_group::1.64x128b", "sm_100a"),
            ["warpx2::02_13", "warpx2::01_23", "b8x16", "b6x16_p32", "b4x16_p64"]
        );
        assert_eq!(words("cp", "cta_group::1.128x256b", "sm_100a"), ["b8x16", "b6x16_p32", "b4x16_p64"]);
        let mma = words("mma", "cta_group::1.kind::mxf4", "sm_100a");
        assert!(
            mma.contains(&"block_scale") && mma.contains(&"scale_vec::2X") && mma.contains(&"block32"),
            "{mma:?}"
        );
        assert!(!mma.contains(&"scale_vec::1X") && !mma.contains(&"ashift"), "{mma:?}");
        let ashift = words("mma", "cta_group::1.kind::f16.ashift", "sm_100a");
        assert!(
            ashift.contains(&"collector::a::discard") && !ashift.contains(&"collector::a::fill"),
            "{ashift:?}"
        );
        assert!(!ashift.contains(&"block_scale"), "{ashift:?}");
    }

    #[test]
    fn gates_are_respected() {
        assert!(words("mma", "cta_group::1", "sm_100a").contains(&"kind::i8"));
        assert!(!words("mma", "cta_group::1", "sm_103a").contains(&"kind::i8"));
        assert!(!words("mma", "cta_group::1.kind::mxf4.block_scale", "sm_100f").contains(&"scale_vec::2X"));
    }
}
