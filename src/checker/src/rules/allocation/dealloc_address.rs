use crate::diagnostic::{Diagnostic, Findings};
use crate::instruction::Instruction;
use crate::instruction::index::OperationSet;
use crate::isa::tensor_memory::TensorMemory;
use crate::isa::vocabulary::Operation;
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds a `dealloc` of an address at which no allocation can start: its lane is not 0, its column is
    /// not a multiple of 32, it is past the address that an `alloc` wrote, or it is a number after which
    /// there are fewer columns than are freed. Lanes that are computed from the warp number are those of
    /// the warp that executes the `dealloc`.
    ///
    /// ## Why is this bad?
    /// `dealloc` takes the address of a previous allocation, as `alloc` wrote it. All lanes of a column are
    /// allocated together, and columns are allocated in units of 32.
    ///
    /// ## Example
    /// ```ptx
    /// tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 64;
    /// bar.sync 0;
    /// ld.shared.b32 taddr, [slot];
    /// add.u32 taddr2, taddr, 16;
    /// tcgen05.dealloc.cta_group::1.sync.aligned.b32 taddr2, 64;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 64;
    /// bar.sync 0;
    /// ld.shared.b32 taddr, [slot];
    /// tcgen05.dealloc.cta_group::1.sync.aligned.b32 taddr, 64;
    /// ```
    ///
    /// ## References
    /// PTX ISA, sections 9.7.16.1.2 and 9.7.16.7.1
    DeallocAddress Statement check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for (decoded, instruction) in checker.typed(OperationSet::of(&[Operation::Dealloc])) {
        let Instruction::Dealloc(dealloc) = instruction else { continue };
        let Some(known) = checker.value(decoded, &dealloc.taddr) else { continue };
        let set = known.value & known.mask;
        let Some(flow) = checker.flow(decoded) else { continue };
        let found = flow.scalar_distance(decoded, &dealloc.taddr);
        // Where it starts, there is nothing to say.
        let distance = found.filter(|it| (it.lanes, it.columns) != (0, 0) && it.is_certain(flow));
        // The lanes of a warp may have been added to it, where it is not known how far it is.
        let of_warp = || {
            if found.is_some() {
                return None;
            }
            let named = flow.scalar_lanes_of_warps(flow.event_at(decoded.index)?, &dealloc.taddr)?;
            let warp = named.some_warp(|lane| lane != 0).filter(|_| named.is_certain(flow))?;
            Some(format!("the lane is {} in warp {warp}, not 0", named.lane(warp)))
        };
        // Bits 16 to 31 are the lane, those below the column.
        let past_the_end = || {
            let column = known.constant(32)? as u32;
            let (columns, memory) = (checker.columns(decoded)?, checker.environment.tensor_memory());
            let found = format!("{columns} columns from column {column} on; there are {}", memory.columns);
            (column.saturating_add(columns) > memory.columns).then_some(found)
        };
        let found = if set & 0xFFFF_0000 != 0 || distance.is_some_and(|distance| distance.lanes != 0) {
            match known.shifted_right(16).constant(16).or(distance.map(|it| u64::from(it.lanes))) {
                Some(lane) => format!("the lane is {lane}, not 0"),
                None => "the lane is not 0".to_owned(),
            }
        } else if set % u64::from(TensorMemory::UNIT) != 0 {
            format!("the column is no multiple of {}", TensorMemory::UNIT)
        } else {
            match distance.map(|distance| (distance.columns, distance.columns % TensorMemory::UNIT)) {
                Some((_, rest @ 1..)) => {
                    format!("the column is {rest} over a multiple of {}", TensorMemory::UNIT)
                }
                Some((columns @ 1.., _)) => format!("{columns} columns behind the start of the allocation"),
                Some((0, _)) | None => match of_warp().or_else(past_the_end) {
                    Some(found) => found,
                    None => continue,
                },
            }
        };
        let finding = Diagnostic::new(
            Code::DeallocAddress,
            dealloc.taddr.span(),
            "no allocation starts at the address that is deallocated",
            found,
        )
        .origins(&checker.origins(decoded, &dealloc.taddr));
        let finding = match distance {
            Some(distance) => finding.label(distance.alloc, "the allocation"),
            None => finding,
        };
        findings.push(
            finding
                .note("`taddr` must point to a previous allocation (PTX ISA, 9.7.16.7.1)")
                .help("deallocate the address that `alloc` wrote"),
        );
    }
}
