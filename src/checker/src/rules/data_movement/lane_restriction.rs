use super::lanes_of_another_warp::accesses;
use crate::diagnostic::{Diagnostic, Findings};
use crate::instruction::index::OperationSet;
use crate::instruction::{Instruction, Ld, St};
use crate::rules::{Checker, Code, Lane, rule};

/// Lanes that a warp can access, from a multiple of this number on (9.7.16.8.1).
const LANES_OF_A_WARP: u32 = 32;

rule! {
    /// ## What it does
    /// Finds loads and stores whose known lane makes them reach from the 32 lanes of one warp into those of
    /// the next.
    ///
    /// ## Why is this bad?
    /// Each warp of a warpgroup can access a quarter of Tensor Memory only: 32 lanes, starting at a
    /// multiple of 32. The assembler does not look at values in registers.
    ///
    /// ## Example
    /// ```ptx
    /// mov.b32 taddr, 0x100000;
    /// tcgen05.ld.sync.aligned.32x32b.x1.b32 {r0}, [taddr];
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// mov.b32 taddr, 0x100000;
    /// tcgen05.ld.sync.aligned.16x64b.x1.b32 {r0}, [taddr];
    /// ```
    ///
    /// ## References
    /// PTX ISA, sections 9.7.16.2.3 and 9.7.16.8.1
    LaneRestriction Statement check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for (decoded, instruction) in checker.typed(OperationSet::LOADS_AND_STORES) {
        let (Instruction::Ld(Ld { shape, taddr, .. }) | Instruction::St(St { shape, taddr, .. })) =
            instruction
        else {
            continue;
        };
        let Some(lane) = Lane::of(checker, decoded, taddr) else { continue };
        let lanes = shape.value.lanes();
        if lane.in_warp + lanes <= LANES_OF_A_WARP || !lane.is_certain(checker, decoded) {
            continue;
        }
        findings.push(
            lane.explain(Diagnostic::new(
                Code::LaneRestriction,
                taddr.span,
                format!("the lane of `taddr` must be {}", due(lanes)),
                lane.found(),
            ))
            .origins(&checker.address_origins(decoded, taddr))
            .label(shape.span, format!("accesses {lanes} lanes"))
            .help("lanes are bits 16 to 31 of the address"),
        );
    }
    of_warps(checker, findings);
}

fn due(lanes: u32) -> String {
    match LANES_OF_A_WARP - lanes {
        0 => "a multiple of 32".to_owned(),
        last => format!("at most {last} over a multiple of 32"),
    }
}

/// The same for lanes that are known for each warp.
fn of_warps(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for (flow, event, address, shape) in accesses(checker) {
        let Some(decoded) = flow.decoded(event) else { continue };
        let Some(named) = flow.lanes_of_warps(event, address) else { continue };
        let lanes = shape.lanes();
        let in_warp = |warp: u32| named.lane(warp) % LANES_OF_A_WARP;
        let Some(warp) = named.first(|warp| in_warp(warp) + lanes > LANES_OF_A_WARP) else { continue };
        // Of lanes that are not the warp's anyway, `lanes-of-another-warp` speaks.
        let is_said = named.wrong(false).is_some() || Lane::of(checker, decoded, address).is_some();
        if is_said || !named.is_certain(&flow) {
            continue;
        }
        findings.push(
            Diagnostic::new(
                Code::LaneRestriction,
                address.span,
                format!("the lane of `taddr` must be {}", due(lanes)),
                format!("the lane is {} over a multiple of 32 in warp {warp}", in_warp(warp)),
            )
            .origins(&checker.address_origins(decoded, address))
            .label(decoded.name, format!("accesses {lanes} lanes"))
            .help("lanes are bits 16 to 31 of the address"),
        );
    }
}
