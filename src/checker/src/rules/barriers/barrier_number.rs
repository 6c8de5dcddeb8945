use crate::diagnostic::{Diagnostic, Findings};
use crate::isa::generic::Synchronization;
use crate::resolve::symbols::{RegisterId, Resolution};
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds `bar.sync`, `bar.arrive` and the corresponding `barrier` instructions with a barrier number in
    /// a register that is over 15.
    ///
    /// ## Why is this bad?
    /// A CTA has 16 barriers, from 0 to 15. The assembler refuses a constant, but does not look at values
    /// in registers.
    ///
    /// ## Example
    /// ```ptx
    /// mov.u32 r1, 16;
    /// bar.sync r1;
    /// tcgen05.fence::after_thread_sync;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// mov.u32 r1, 15;
    /// bar.sync r1;
    /// tcgen05.fence::after_thread_sync;
    /// ```
    ///
    /// ## References
    /// PTX ISA, *bar, barrier*
    BarrierNumber Function check
}

/// The last barrier of a CTA.
const LAST: u64 = 15;

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    let unit = checker.unit;
    for flow in checker.flows() {
        let barriers = flow.events().iter().map(|event| event.instruction).filter(|instruction| {
            let opcode = unit.operations.of(*instruction);
            // Those that reduce have a type, and a result first.
            matches!(opcode.synchronization(), Synchronization::BarrierSync | Synchronization::BarrierArrive)
                && opcode.types.is_empty()
        });
        // The operands, and their registers.
        let numbers: Vec<(usize, (u32, RegisterId))> = barriers
            .filter_map(|instruction| {
                let number = unit.module.instructions[instruction as usize].operands.range().next()?;
                match unit.symbols.operand(number as u32) {
                    Resolution::Register(register) => Some((number, (instruction, register))),
                    _ => None,
                }
            })
            .collect();
        let uses: Vec<(u32, RegisterId)> = numbers.iter().map(|(_, used)| *used).collect();
        for ((number, (instruction, register)), known) in numbers.into_iter().zip(flow.known(&uses)) {
            // One bit that is certainly set is enough.
            let least = known.value & known.mask & u64::from(u32::MAX);
            if least <= LAST {
                continue;
            }
            let found = match known.constant(32) {
                Some(number) => format!("the number is {number}"),
                None => format!("the number is over {LAST}"),
            };
            findings.push(
                Diagnostic::new(
                    Code::BarrierNumber,
                    unit.module.operands[number].span(),
                    format!("barriers have the numbers 0 to {LAST}"),
                    found,
                )
                .origins(&flow.facts.view(unit).origins(instruction, register))
                .help("use fewer barriers, or an mbarrier"),
            );
        }
    }
}
