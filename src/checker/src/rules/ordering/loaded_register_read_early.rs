use crate::analysis::registers::{self, Access};
use crate::diagnostic::{Diagnostic, Findings};
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds instructions other than `mov` that read a register of a `tcgen05.ld`, or a copy of it, if a
    /// path leads there without a `wait::ld`. For each load, the first such instruction is reported.
    ///
    /// ## Why is this bad?
    /// `tcgen05.ld` is asynchronous: by the ISA its registers contain the loaded values only after a
    /// `wait::ld`. The assembler knows which registers a load writes and makes the reader wait for them, so
    /// kernels without `wait::ld` compute the right result on today's hardware. Compilers rely on this:
    /// code that Triton compiles reads before the `wait::ld`, as nothing connects the two, and so does code
    /// that is not optimized. The rule is therefore off by default. Use it for PTX that is written by hand,
    /// or to learn whether the two can be reordered.
    ///
    /// ## Example
    /// ```ptx
    /// tcgen05.ld.sync.aligned.32x32b.x1.b32 {r0}, [taddr];
    /// add.u32 r1, r0, 1;
    /// tcgen05.wait::ld.sync.aligned;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// tcgen05.ld.sync.aligned.32x32b.x1.b32 {r0}, [taddr];
    /// tcgen05.wait::ld.sync.aligned;
    /// add.u32 r1, r0, 1;
    /// ```
    ///
    /// ## References
    /// PTX ISA, sections 9.7.16.6.2.1.2 and 9.7.16.8.5
    LoadedRegisterReadEarly Function check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    let unit = checker.unit;
    for flow in checker.flows() {
        for (load, read) in flow.read_before_wait() {
            let raw = &unit.module.instructions[read as usize];
            // The register itself, where it is one of this load.
            let loaded = flow.load(load).into_iter().flat_map(crate::analysis::loads::loaded_registers);
            let loaded: Vec<_> = loaded.collect();
            let mut place = None;
            registers::accesses(unit, read, &mut |register, operand, access| {
                if access == Access::Read && place.is_none() && loaded.contains(&register) {
                    place = Some(unit.module.operands[operand as usize].span());
                }
            });
            findings.push(
                Diagnostic::new(
                    Code::LoadedRegisterReadEarly,
                    place.unwrap_or(raw.opcode),
                    "a register of a `tcgen05.ld` is read before `wait::ld`",
                    "read here",
                )
                .label(flow.span(load), "loaded here, asynchronously")
                .note("the ISA promises what was loaded behind `wait::ld` only (PTX ISA, 9.7.16.6.2.1.2)")
                .help("put `tcgen05.wait::ld.sync.aligned;` between the two; in inline assembly, into the statement of the load"),
            );
        }
    }
}
