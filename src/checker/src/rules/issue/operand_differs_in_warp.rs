use crate::analysis::flow::Flow;
use crate::analysis::reached::parameter_of;
use crate::diagnostic::{Diagnostic, Findings};
use crate::instruction::{Base, Instruction, Register, Scalar};
use crate::isa::vocabulary::Operation;
use crate::resolve::symbols::RegisterId;
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds loads and stores whose `taddr`, and allocations and deallocations whose `nCols`, certainly
    /// differ between the threads of a warp: they are computed from `%tid.x` or `%laneid` by operations
    /// that keep the number of the thread, or a condition on it selects one of several `nCols`.
    ///
    /// In a function that is called, the arguments of its callers count.
    ///
    /// ## Why is this bad?
    /// These instructions belong to a whole warp, which has one address and one number of columns. If its
    /// threads give different values, the behavior is undefined.
    ///
    /// ## Example
    /// ```ptx
    /// mov.u32 r1, %tid.x;
    /// shl.b32 taddr, r1, 16;
    /// tcgen05.ld.sync.aligned.32x32b.x1.b32 {r0}, [taddr];
    /// tcgen05.wait::ld.sync.aligned;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// mov.u32 r1, %tid.x;
    /// shl.b32 taddr, r1, 16;
    /// and.b32 taddr, taddr, 0x600000;
    /// tcgen05.ld.sync.aligned.32x32b.x1.b32 {r0}, [taddr];
    /// tcgen05.wait::ld.sync.aligned;
    /// ```
    ///
    /// ## References
    /// PTX ISA, sections 9.7.16.7.1, 9.7.16.8.3 and 9.7.16.8.4
    OperandDiffersInWarp Function check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for flow in checker.flows() {
        for event in flow.events() {
            let Some((name, register)) = flow.instruction(*event).and_then(operand) else { continue };
            if register.component {
                continue;
            }
            let by_lane = || chosen_by_lane(&flow, event.instruction, name, register.id);
            let Some(found) = differing(&flow, event.instruction, register.id).or_else(by_lane) else {
                continue;
            };
            // Of one thread, `aligned-in-one-thread` says it.
            let is_elected = |flow: &Flow<'_>, at: u32| {
                flow.uniformity().elected_by(&flow.facts.view(flow.unit), at).is_some()
            };
            if is_elected(&flow, event.instruction) {
                continue;
            }
            let operation = flow.operation(*event).map_or("", Operation::name);
            let mut finding = Diagnostic::new(
                Code::OperandDiffersInWarp,
                register.span,
                format!("all threads of a warp must give `tcgen05.{operation}` the same `{name}`"),
                "differs from thread to thread",
            )
            .label(
                checker.unit.module.instructions[found.cause as usize].opcode,
                if found.is_chosen {
                    "threads of one warp get different values here"
                } else {
                    "the number of the thread comes from here"
                },
            );
            if let Some((caller, at)) = found.given {
                if is_elected(&caller, at) {
                    continue;
                }
                let given = &checker.unit.module.instructions[at as usize];
                finding = finding.label(given.opcode, "and is given to the function here");
            }
            findings.push(finding.help(if name == "taddr" {
                "keep what is the same in a warp: its lanes are `(%tid.x << 16) & 0x600000`"
            } else {
                "give a number that does not depend on the thread"
            }));
        }
    }
}

/// Why an operand differs between the threads of a warp.
struct Differs<'a> {
    /// The instruction that reads the number of the thread.
    cause: u32,
    /// Where another function gives it, if one does.
    given: Option<(Flow<'a>, u32)>,
    /// Whether the cause selects the value by lane, rather than reads the number of the thread.
    is_chosen: bool,
}

/// Whether `nCols` is selected by lane, or differs in another way that the values of all threads show.
fn chosen_by_lane<'a>(flow: &Flow<'a>, at: u32, name: &str, register: RegisterId) -> Option<Differs<'a>> {
    if name != "nCols" || !flow.is_entry() {
        return None;
    }
    let cause = flow.executing(None).differs_in_warp(at, register)?;
    Some(Differs { cause, given: None, is_chosen: true })
}

/// Whether a register differs where an instruction reads it: by itself, or as what a caller gives.
fn differing<'a>(flow: &Flow<'a>, at: u32, register: RegisterId) -> Option<Differs<'a>> {
    let cause = |flow: &Flow<'a>, at: u32, register: RegisterId| {
        flow.uniformity().differs(&flow.facts.view(flow.unit), at, register, &flow.facts.budget)
    };
    if let Some(cause) = cause(flow, at, register) {
        return Some(Differs { cause, given: None, is_chosen: false });
    }
    if flow.is_entry() {
        return None;
    }
    let parameter = parameter_of(&flow.places().of(at, register))?;
    flow.given_in(parameter).into_iter().find_map(|(caller, at, register)| {
        let cause = cause(&caller, at, register)?;
        Some(Differs { cause, given: Some((caller, at)), is_chosen: false })
    })
}

/// The operand that a whole warp has to agree on, if it is a register.
fn operand<'i, 's>(instruction: &'i Instruction<'s>) -> Option<(&'static str, &'i Register<'s>)> {
    let (name, scalar) = match instruction {
        Instruction::Ld(ld) => return address(&ld.taddr.base),
        Instruction::St(st) => return address(&st.taddr.base),
        Instruction::Alloc(alloc) => ("nCols", &alloc.n_cols),
        Instruction::Dealloc(dealloc) => ("nCols", &dealloc.n_cols),
        Instruction::RelinquishAllocPermit(_)
        | Instruction::Wait(_)
        | Instruction::Cp(_)
        | Instruction::Shift(_)
        | Instruction::Mma(_)
        | Instruction::Commit(_)
        | Instruction::Fence(_) => return None,
    };
    match scalar {
        Scalar::Register(register) => Some((name, register)),
        Scalar::Immediate(_) | Scalar::Variable(_) | Scalar::Float(_) | Scalar::Special(_) => None,
    }
}

fn address<'i, 's>(base: &'i Base<'s>) -> Option<(&'static str, &'i Register<'s>)> {
    match base {
        Base::Register(register) => Some(("taddr", register)),
        Base::Variable(_) => None,
    }
}
