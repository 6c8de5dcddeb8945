use rustc_hash::FxHashSet;

use crate::analysis::events::{Action, Event};
use crate::analysis::flow::Flow;
use crate::analysis::footprint::{self, AllColumns, Columns};
use crate::analysis::pending::Pending;
use crate::diagnostic::{Diagnostic, Findings};
use crate::instruction::Address;
use crate::isa::vocabulary::Operation;
use crate::rules::{Checker, Code, rule};
use crate::words::plural;

rule! {
    /// ## What it does
    /// Finds a `ld`, and an operand of a multiply in Tensor Memory (A, its sparsity metadata, the scales),
    /// that reads only columns which nothing in the whole kernel writes: no multiply, `st`, `cp` or
    /// `shift`. Kernels are not checked if they do not allocate, if they write nothing, or if they write
    /// columns that are not known.
    ///
    /// ## Why is this bad?
    /// Allocated columns are not initialized: they contain what an earlier kernel left there. Often the
    /// column that is added to the address is wrong, or a copy is missing.
    ///
    /// ## Example
    /// ```ptx
    /// .version 9.0
    /// .target sm_100a
    /// .visible .entry k()
    /// {
    ///     .reg .b32 taddr, x, lanes;
    ///     .shared .align 4 .b32 slot;
    ///     tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 128;
    ///     bar.sync 0;
    ///     ld.shared.b32 taddr, [slot];
    ///     tcgen05.st.sync.aligned.32x32b.x1.b32 [taddr], {x};
    ///     tcgen05.wait::st.sync.aligned;
    ///     tcgen05.ld.sync.aligned.32x32b.x1.b32 {x}, [taddr+64];
    ///     tcgen05.wait::ld.sync.aligned;
    ///     tcgen05.dealloc.cta_group::1.sync.aligned.b32 taddr, 128;
    ///     ret;
    /// }
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// .version 9.0
    /// .target sm_100a
    /// .visible .entry k()
    /// {
    ///     .reg .b32 taddr, x, lanes;
    ///     .shared .align 4 .b32 slot;
    ///     tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 128;
    ///     bar.sync 0;
    ///     ld.shared.b32 taddr, [slot];
    ///     tcgen05.st.sync.aligned.32x32b.x1.b32 [taddr+64], {x};
    ///     tcgen05.wait::st.sync.aligned;
    ///     tcgen05.ld.sync.aligned.32x32b.x1.b32 {x}, [taddr+64];
    ///     tcgen05.wait::ld.sync.aligned;
    ///     tcgen05.dealloc.cta_group::1.sync.aligned.b32 taddr, 128;
    ///     ret;
    /// }
    /// ```
    ///
    /// ## References
    /// PTX ISA, sections 9.7.16.1 and 9.7.16.7.1
    NeverWritten Kernel check
}

/// Something that reads Tensor Memory.
struct Read<'i> {
    event: Event,
    address: &'i Address<'i>,
    columns: Columns,
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for flow in checker.flows().filter(Flow::is_entry) {
        let Some(summary) = flow.summary().filter(|summary| !summary.unknown) else { continue };
        // Otherwise it is another rule's where the columns come from.
        if !summary.events.iter().any(|event| flow.operation(*event) == Some(Operation::Alloc)) {
            continue;
        }
        let Some((written, read)) = accesses(&flow) else { continue };
        let Some(written) = AllColumns::of(&written) else { continue };
        let mut reported = FxHashSet::default();
        for Read { event, address, columns } in read {
            let (first, last) = columns.place().columns_between();
            // Unrolled copies read the same columns again.
            if !written.misses(&columns) || !reported.insert((columns.place().root, first, columns.count())) {
                continue;
            }
            let name = checker.unit.source.slice(flow.span(event));
            let count = plural(columns.count() as usize, "column");
            let from = if first == last {
                format!("{count} from column {first} on")
            } else {
                format!("{count} from one of the columns {first} to {last} on")
            };
            findings.push(
                Diagnostic::new(
                    Code::NeverWritten,
                    address.span,
                    format!("nothing in the kernel writes what `{name}` reads here"),
                    from,
                )
                .note("what is allocated holds what an earlier kernel left there")
                .help(
                    "read the columns that are written, or write these before: by `st`, `cp` or a multiply",
                ),
            );
        }
    }
}

/// What writes Tensor Memory in a kernel, and what reads it; nothing if it is not known of something that writes which
/// columns these are.
fn accesses<'a>(flow: &Flow<'a>) -> Option<(Vec<Columns>, Vec<Read<'a>>)> {
    let mut written = Vec::new();
    let mut read = Vec::new();
    let mut add = |event: Event| -> Option<()> {
        let Some(instruction) = flow.instruction(event) else {
            // Of an instruction that is not understood, only this is known.
            let pending = flow.operation(event).and_then(Pending::of);
            return (!matches!(pending, Some(Pending::Operation | Pending::Store))).then_some(());
        };
        // What an instruction is about, it writes; a load reads it.
        let mut writes = footprint::accessed(instruction).is_some_and(|(_, writes)| writes);
        let mut is_known = true;
        footprint::each_access(flow, event, &mut |address, columns| {
            if std::mem::take(&mut writes) {
                is_known = columns.is_some();
                written.extend(columns);
            } else {
                read.extend(columns.map(|columns| Read { event, address, columns }));
            }
        });
        if !is_known {
            return None;
        }
        Some(())
    };
    for event in flow.events() {
        match event.action {
            Action::Call(callee) => {
                for inner in flow.within(*event, callee).iter() {
                    add(*inner)?;
                }
            }
            _ => add(*event)?,
        }
    }
    Some((written, read))
}
