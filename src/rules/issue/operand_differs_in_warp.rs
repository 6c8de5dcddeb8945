use crate::diagnostic::{Diagnostic, Findings};
use crate::instruction::{Base, Instruction, Register, Scalar};
use crate::isa::vocabulary::Operation;
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds loads and stores whose `taddr`, and allocations and deallocations whose `nCols`, certainly
    /// differ between the threads of a warp: they are made of `%tid.x` or `%laneid` by steps that keep
    /// the number of the thread.
    ///
    /// ## Why is this bad?
    /// These are instructions of a whole warp, which has one address and one number of columns. Where
    /// its threads give several, the behaviour is undefined.
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
            let view = flow.facts.view(flow.unit);
            let uniformity = flow.uniformity();
            let budget = &flow.facts.budget;
            let Some(cause) = uniformity.differs(&view, event.instruction, register.id, budget) else {
                continue;
            };
            // Of one thread, `aligned-in-one-thread` says it.
            if uniformity.elected_by(&view, event.instruction).is_some() {
                continue;
            }
            let operation = flow.operation(*event).map_or("", Operation::name);
            findings.push(
                Diagnostic::new(
                    Code::OperandDiffersInWarp,
                    register.span,
                    format!("all threads of a warp must give `tcgen05.{operation}` the same `{name}`"),
                    "differs from thread to thread",
                )
                .label(
                    checker.unit.module.instructions[cause as usize].opcode,
                    "the number of the thread comes from here",
                )
                .help(if name == "taddr" {
                    "keep what is the same in a warp: its lanes are `(%tid.x << 16) & 0x600000`"
                } else {
                    "give a number that does not depend on the thread"
                }),
            );
        }
    }
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
