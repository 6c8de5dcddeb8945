use crate::analysis::mbarriers::{Use, Used};
use crate::diagnostic::{Diagnostic, Findings};
use crate::resolve::symbols::{RegisterId, Resolution};
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds `mbarrier.init` with a count in a register that is 0, or 2^20 or more.
    ///
    /// ## Why is this bad?
    /// The count is between 1 and 2^20 - 1. With another count the behavior is undefined. The assembler
    /// refuses a constant, but does not look at values in registers.
    ///
    /// ## Example
    /// ```ptx
    /// mov.u32 r1, 0;
    /// mbarrier.init.shared::cta.b64 [mbar], r1;
    /// tcgen05.fence::after_thread_sync;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// mov.u32 r1, 1;
    /// mbarrier.init.shared::cta.b64 [mbar], r1;
    /// tcgen05.fence::after_thread_sync;
    /// ```
    ///
    /// ## References
    /// PTX ISA, *mbarrier.init*
    MbarrierCount Function check
}

/// The most arrivals that an mbarrier can expect.
const MOST: u64 = (1 << 20) - 1;

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    let unit = checker.unit;
    for flow in checker.flows() {
        let inits = flow.mbarriers().iter().filter(|used| used.how == Use::Initialises);
        // The operands, and their registers.
        let counts: Vec<(usize, (u32, RegisterId))> = inits
            .filter_map(|&Used { instruction, .. }| {
                let count = unit.module.instructions[instruction as usize].operands.range().nth(1)?;
                match unit.symbols.operand(count as u32) {
                    Resolution::Register(register) => Some((count, (instruction, register))),
                    _ => None,
                }
            })
            .collect();
        let uses: Vec<(u32, RegisterId)> = counts.iter().map(|(_, used)| *used).collect();
        for ((count, (instruction, register)), known) in counts.into_iter().zip(flow.known(&uses)) {
            // One bit that is certainly set is enough.
            let too_many = known.value & known.mask & u64::from(u32::MAX) > MOST;
            let found = match known.constant(32) {
                Some(0) => "the count is 0".to_owned(),
                Some(count) if too_many => format!("the count is {count}"),
                None if too_many => format!("the count is more than {MOST}"),
                Some(_) | None => continue,
            };
            findings.push(
                Diagnostic::new(
                    Code::MbarrierCount,
                    unit.module.operands[count].span(),
                    format!("an mbarrier expects 1 to {MOST} arrivals"),
                    found,
                )
                .origins(&flow.facts.view(unit).origins(instruction, register))
                .help("give the number of threads and operations that arrive in each phase"),
            );
        }
    }
}
