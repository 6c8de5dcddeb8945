use rustc_hash::{FxHashMap, FxHashSet};

use crate::analysis::events::{Action, Event};
use crate::analysis::flow::Flow;
use crate::analysis::footprint::{self, Columns};
use crate::analysis::places::{Root, Slot};
use crate::descriptor::Known;
use crate::diagnostic::{Diagnostic, Findings};
use crate::instruction::index::OperationSet;
use crate::instruction::{Address, Base, Instruction};
use crate::isa::vocabulary::Operation;
use crate::rules::{Checker, Code, rule};
use crate::source::Span;

rule! {
    /// ## What it does
    /// Finds loads, stores, copies and shifts that reach past the last column of Tensor Memory: a known
    /// column plus the columns of the shape is over 512 (576 on `sm_107`).
    ///
    /// Also finds those, and accumulators, A, metadata and scales, that reach past the end of the
    /// allocation from which their address is derived, also in functions that get the address. The second
    /// half of `.16x32bx2` must not begin before the allocation either. If warps add columns by their
    /// number, as `(tid >> 7) << 8` does, only warps count that every CTA has and that certainly load or
    /// store.
    ///
    /// ## Why is this bad?
    /// These columns do not exist, or belong to another CTA. The assembler does not look at values in
    /// registers.
    ///
    /// ## Example
    /// ```ptx
    /// mov.b32 taddr, 510;
    /// tcgen05.ld.sync.aligned.32x32b.x4.b32 {r0, r1, r2, r3}, [taddr];
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// mov.b32 taddr, 508;
    /// tcgen05.ld.sync.aligned.32x32b.x4.b32 {r0, r1, r2, r3}, [taddr];
    /// ```
    ///
    /// ## References
    /// PTX ISA, sections 9.7.16.1 and 9.7.16.2.3, and Tables 47 and 48
    ColumnRange Statement check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    past_tensor_memory(checker, findings);
    for flow in checker.flows() {
        past_allocation(checker, &flow, findings);
        past_only_allocation(checker, &flow, findings);
    }
}

/// Accesses through the address that an `alloc` of the same function wrote, past its end: its own, and those
/// of functions that it calls.
fn past_allocation(checker: &Checker<'_>, flow: &Flow<'_>, findings: &mut Findings<'_>) {
    // One slot may serve several allocations; the largest of them is the limit, if all are known.
    let mut allocs: FxHashMap<Slot, Option<(u32, Event)>> = FxHashMap::default();
    let calls = flow.events().iter().filter_map(|event| match event.action {
        Action::Call(callee) => Some((*event, callee)),
        _ => None,
    });
    let in_calls: Vec<Event> = calls.flat_map(|(call, callee)| flow.allocs_within(call, callee)).collect();
    for event in flow.events().iter().chain(&in_calls) {
        if let (Some(alloc), Some(decoded)) = (flow.alloc(*event), flow.decoded(*event))
            && let Some(slot) = footprint::slot(flow, *event, &alloc.dst)
        {
            let size = checker.columns(decoded).map(|columns| (columns, *event));
            let largest = allocs.entry(slot).or_insert(size);
            *largest = largest.zip(size).map(|(one, other)| if other.0 >= one.0 { other } else { one });
        }
    }
    if allocs.is_empty() {
        return;
    }
    let slots = flow.slots();
    // What happens in functions that are called has addresses, too, and one instruction as many as it has
    // callers.
    let called = flow.events().iter().filter_map(|event| match event.action {
        Action::Call(callee) => Some(flow.within(*event, callee)),
        _ => None,
    });
    let called: Vec<Event> = called.flat_map(|within| within.to_vec()).collect();
    let mut said: FxHashSet<(Span, u32)> = FxHashSet::default();
    let mut look = |event: Event, address: &Address<'_>, columns: &Columns| {
        let place = columns.place();
        let Some(slot) = place.slot() else { return };
        // Where it is not known which column it is, the least that it can be.
        let (column, _) = place.columns_between();
        let Some((size, alloc)) = allocs.get(&slot).copied().flatten() else { return };
        // The other half of `.16x32bx2` may lie before the first.
        let half = columns.second_half().unwrap_or_default();
        if place.column().is_some_and(|column| i64::from(column) + half < 0) {
            if said.insert((address.span, 0)) {
                before_allocation(checker, flow, (event, address), columns, alloc, findings);
            }
            return;
        }
        // Or the first that is too large, of those that a loop goes through.
        let counted = || {
            let in_iterations = past_in_iterations(flow, (event, address), columns, size);
            let in_iterations = in_iterations
                .map(|(column, iteration)| (column, format!(", in iteration {iteration} of the loop")));
            in_iterations.or_else(|| {
                let (warp, column) = past_in_warp(flow, (event, address), columns, size)?;
                Some((column, format!(" in warp {warp}")))
            })
        };
        let (column, when) = match column + columns.reach() {
            end if end <= size => match counted() {
                Some(found) => found,
                None => return,
            },
            _ => (column, String::new()),
        };
        let end = column + columns.reach();
        if !said.insert((address.span, end)) {
            return;
        }
        let name = checker.unit.source.slice(flow.span(event));
        // Stores after an `alloc` of another function are not followed: there may be none.
        let load = place.load.filter(|_| flow.is_own(alloc));
        let message = if !slots.is_overwritten(flow, slot, load) {
            format!("`{name}` reaches to column {end} of an allocation of {size}")
        } else if end > checker.environment.tensor_memory().columns {
            // Whatever else is stored there, no allocation has so many.
            format!("`{name}` reaches to column {end} of an allocation, and no allocation has so many")
        } else {
            return;
        };
        findings.push(
            Diagnostic::new(
                Code::ColumnRange,
                address.span,
                message,
                format!("covers {} from column {column} on{when}", count(columns.reach())),
            )
            .caused_at(flow.span(alloc), "this reaches past its end, too")
            .label(flow.span(alloc), format!("{size} columns are allocated here"))
            .help("allocate more columns, or access fewer"),
        );
    };
    for event in flow.events().iter().copied().chain(called) {
        footprint::each_access(flow, event, &mut |address, columns| {
            if let Some(columns) = columns {
                look(event, address, &columns);
            }
        });
    }
}

/// Whether it is open which column an access of this function begins at, and some reach past its allocation.
fn may_be_past(flow: &Flow<'_>, event: Event, columns: &Columns, size: u32) -> bool {
    let place = columns.place();
    let is_open = place.column().is_none() && place.columns_between().1 + columns.reach() > size;
    is_open && event.through.is_none() && flow.is_own(event)
}

/// The first column of an access in the first iteration of a counted loop in which it reaches past its
/// allocation, and the number of that iteration.
fn past_in_iterations(
    flow: &Flow<'_>,
    (event, address): (Event, &Address<'_>),
    columns: &Columns,
    size: u32,
) -> Option<(u32, usize)> {
    let place = columns.place();
    let Base::Register(register) = address.base else { return None };
    if !may_be_past(flow, event, columns, size) {
        return None;
    }
    let iterations = flow.in_iterations(event.instruction, register.id).values.into_iter().enumerate();
    let columns_of = iterations.filter_map(|(iteration, value)| {
        let value = value.plus(Known::from(address.offset as u64));
        (value.slot() == place.slot()).then_some(())?;
        Some((value.column()?, iteration + 1))
    });
    // A larger number counts backwards.
    let is_past = |column: u32| column < 1 << 15 && column + columns.reach() > size;
    columns_of.into_iter().find(|(column, _)| is_past(*column))
}

/// The first warp whose access reaches past its allocation, and the column of it.
fn past_in_warp(
    flow: &Flow<'_>,
    (event, address): (Event, &Address<'_>),
    columns: &Columns,
    size: u32,
) -> Option<(u32, u32)> {
    let is_of_warps = matches!(flow.instruction(event)?, Instruction::Ld(_) | Instruction::St(_));
    if !is_of_warps || !may_be_past(flow, event, columns, size) {
        return None;
    }
    flow.lanes_of_warps(event, address)?.past_end(columns.reach(), size)
}

/// A second half that begins before the allocation which the first is in.
fn before_allocation(
    checker: &Checker<'_>,
    flow: &Flow<'_>,
    (event, address): (Event, &Address<'_>),
    columns: &Columns,
    alloc: Event,
    findings: &mut Findings<'_>,
) {
    let place = columns.place();
    let (Some(slot), Some(column), Some(half)) = (place.slot(), place.column(), columns.second_half()) else {
        return;
    };
    let load = place.load.filter(|_| flow.is_own(alloc));
    if flow.slots().is_overwritten(flow, slot, load) {
        return;
    }
    let name = checker.unit.source.slice(flow.span(event));
    let before = (i64::from(column) + half).unsigned_abs();
    findings.push(
        Diagnostic::new(
            Code::ColumnRange,
            address.span,
            format!("`{name}` reaches before the allocation that its address is in"),
            format!("the second half begins {} before it", count(before as u32)),
        )
        .label(flow.span(alloc), "this is allocated")
        .help("the second half is as far from the first as `immHalfSplitoff` says"),
    );
}

/// Accesses that the only allocation of the kernel is too small for, wherever it starts: more columns than
/// it has, or columns that are numbers, and too far apart.
fn past_only_allocation(checker: &Checker<'_>, flow: &Flow<'_>, findings: &mut Findings<'_>) {
    let Some(summary) = flow.summary().filter(|summary| flow.is_entry() && !summary.unknown) else { return };
    let mut allocs = summary.events.iter().filter(|it| flow.operation(**it) == Some(Operation::Alloc));
    let (Some(alloc), None) = (allocs.next(), allocs.next()) else { return };
    let Some(size) = flow.decoded(*alloc).and_then(|decoded| checker.columns(decoded)) else { return };
    let accesses = flow.events().iter().filter_map(|event| {
        let (address, _) = footprint::accessed(flow.instruction(*event)?)?;
        Some((*event, address, footprint::columns(flow, *event)?))
    });
    let large = accesses.clone().find(|(_, _, columns)| {
        // Where the slot is known, it is said which columns these are.
        columns.count() > size && columns.place().slot().is_none()
    });
    if let Some((event, address, columns)) = large {
        let name = checker.unit.source.slice(flow.span(event));
        findings.push(
            Diagnostic::new(
                Code::ColumnRange,
                address.span,
                format!("`{name}` covers {}, and {size} are allocated", count(columns.count())),
                "from here on",
            )
            .label(flow.span(*alloc), format!("{size} columns are allocated here, and no others"))
            .help("allocate more columns, or access fewer"),
        );
        return;
    }
    let numbers = accesses.filter_map(|(event, address, columns)| match columns.certain()? {
        (Root::Literal, range) => Some((event, address, range)),
        _ => None,
    });
    let Some(first) = numbers.clone().min_by_key(|(_, _, range)| range.start) else { return };
    let Some(last) = numbers.max_by_key(|(_, _, range)| range.end) else { return };
    let (start, end) = (first.2.start, last.2.end);
    if end - start <= size {
        return;
    }
    let name = checker.unit.source.slice(flow.span(last.0));
    findings.push(
        Diagnostic::new(
            Code::ColumnRange,
            last.1.span,
            format!(
                "`{name}` reaches to column {end}, and {size} columns from column {start} on are allocated"
            ),
            format!("covers {} from column {} on", count(end - last.2.start), last.2.start),
        )
        .label(first.1.span, format!("column {start}"))
        .label(flow.span(*alloc), format!("{size} columns are allocated here, and no others"))
        .help("allocate more columns, or access fewer"),
    );
}

fn count(columns: u32) -> String {
    match columns {
        1 => "1 column".to_owned(),
        columns => format!("{columns} columns"),
    }
}

fn past_tensor_memory(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for (decoded, instruction) in checker.typed(OperationSet::MOVES) {
        let Some(moved) = footprint::moved(instruction) else { continue };
        let Some((address, _)) = footprint::accessed(instruction) else { continue };
        let Some(known) = checker.address(decoded, address) else { continue };
        let flow = checker.flow(decoded);
        // What decides about the number of columns.
        let shape = match instruction {
            Instruction::Ld(it) => it.num.span,
            Instruction::St(it) => it.num.span,
            Instruction::Cp(it) => it.shape.span,
            _ => decoded.name,
        };
        let second = moved.second.and_then(|offset| offset.immediate());
        // The address is 32 bits wide, and the offset is cut to that.
        let offsets = std::iter::once((0, address.span))
            .chain(second.map(|offset| ((offset.value() & 0xFFFF_FFFF) as u64, offset.span)));
        for (offset, span) in offsets {
            // Where it is not known which column it is, the least that it can be.
            let start = known.plus(offset, 32);
            let counted =
                flow.filter(|_| offset == 0).map(|flow| flow.least_column(decoded.index, address, start));
            let column = counted.unwrap_or(start.value & start.mask & 0xFFFF);
            let end = column + u64::from(moved.columns);
            let past = checker.environment.judge(|features| {
                let last = features.columns();
                if end > u64::from(last) { vec![last] } else { Vec::new() }
            });
            for (last, target) in past {
                let name = checker.unit.source.slice(decoded.name);
                let columns = count(moved.columns);
                let on = target.map(|target| format!(" on {target}")).unwrap_or_default();
                findings.push(
                    Diagnostic::new(
                        Code::ColumnRange,
                        span,
                        format!("`{name}` reaches to column {end} of {last}{on}"),
                        match start.constant(16) {
                            Some(column) => format!("starts at column {column}"),
                            None => format!("starts at column {column} or behind"),
                        },
                    )
                    .origins(&checker.address_origins(decoded, address))
                    .label(shape, format!("covers {columns}"))
                    .help(format!(
                        "an access of {columns} starts at column {} or before",
                        last.saturating_sub(moved.columns)
                    )),
                );
            }
        }
    }
}
