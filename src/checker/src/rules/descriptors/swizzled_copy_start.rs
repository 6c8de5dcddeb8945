use rustc_hash::{FxHashMap, FxHashSet};

use crate::analysis::events::Action;
use crate::analysis::flow::Flow;
use crate::analysis::places::Root;
use crate::descriptor::shared_memory::{Rows, SwizzleMode};
use crate::diagnostic::{Diagnostic, Findings};
use crate::instruction::{Instruction, MatrixA, Scalar};
use crate::isa::generic::Operation;
use crate::resolve::symbols::{SymbolId, SymbolKind};
use crate::rules::{Checker, Code, rule};
use crate::source::Span;
use crate::syntax::ast::StateSpace;

rule! {
    /// ## What it does
    /// Finds copies with a tensor map to an address that is certainly not a multiple of the swizzling
    /// pattern, if a descriptor of a swizzled matrix with base offset 0 starts at the same address. The
    /// pattern has eight rows: 1024 bytes with a swizzle of 128 bytes, 512 with 64, and 256 with 32. A box
    /// that is only a part of the pattern, at an address where no matrix starts, is not checked.
    ///
    /// ## Why is this bad?
    /// A copy swizzles by the bits of the address. A descriptor with base offset 0 says that the pattern
    /// starts with the matrix. The two agree if the start is a multiple of the pattern; otherwise the ISA
    /// requires another base offset.
    ///
    /// Hardware that swizzles the matrix by its address as well multiplies the intended elements anyway, so
    /// the finding is an info. Code that reads the tile by its row computes another location.
    ///
    /// ## Example
    /// ```ptx
    /// .reg .b64 map;
    /// .shared .align 1024 .b8 tiles[32768];
    /// mov.u32 r0, tiles;
    /// add.u32 r0, r0, 128;
    /// cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [r0], [map, {r2, r3}], [mbar];
    /// shr.u32 r1, r0, 4;
    /// cvt.u64.u32 adesc, r1;
    /// or.b64 adesc, adesc, 0x4000404000010000;
    /// tcgen05.mma.cta_group::1.kind::f16 [taddr], adesc, bdesc, 0x08200490, p;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// .reg .b64 map;
    /// .shared .align 1024 .b8 tiles[32768];
    /// mov.u32 r0, tiles;
    /// add.u32 r0, r0, 1024;
    /// cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [r0], [map, {r2, r3}], [mbar];
    /// shr.u32 r1, r0, 4;
    /// cvt.u64.u32 adesc, r1;
    /// or.b64 adesc, adesc, 0x4000404000010000;
    /// tcgen05.mma.cta_group::1.kind::f16 [taddr], adesc, bdesc, 0x08200490, p;
    /// ```
    ///
    /// ## References
    /// PTX ISA, sections 9.7.16.4.1 and 9.7.16.5; *Tensors: Swizzling modes*
    SwizzledCopyStart Function check
}

/// Where a matrix starts.
type Start = (u32, SymbolId, u64);

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    let mut starts: FxHashMap<Start, (Span, &'static str, SwizzleMode)> = FxHashMap::default();
    for multiply in checker.descriptors {
        let decoded = &checker.instructions[multiply.instruction];
        let (Some(Instruction::Mma(mma)), Some(flow)) = (&decoded.instruction, checker.flow(decoded)) else {
            continue;
        };
        for descriptor in &multiply.descriptors {
            let operand = match (descriptor.name, &mma.a) {
                ("a-desc", MatrixA::Descriptor(a)) => a,
                ("b-desc", _) => &mma.b,
                _ => continue,
            };
            let (Scalar::Register(register), Rows { base_offset: Some(0), swizzle: Some(mode), .. }) =
                (operand, Rows::of(descriptor.word))
            else {
                continue;
            };
            let pattern = mode.pattern_alignment();
            if mode.eight_rows().is_none() {
                continue;
            }
            let Some(place) = flow.start_of_matrix(decoded.index, register.id) else { continue };
            let Root::Variable(variable) = place.root else { continue };
            let Some(offset) = place.offset.constant(u32::BITS) else { continue };
            if !offset.is_multiple_of(pattern) && is_aligned(checker, variable, pattern) {
                let start = (flow.function(), variable, offset);
                starts.entry(start).or_insert((descriptor.span, descriptor.name, mode));
            }
        }
    }
    if starts.is_empty() {
        return;
    }
    let mut reported: FxHashSet<Start> = FxHashSet::default();
    for flow in checker.flows() {
        for event in flow.events().iter().filter(|event| event.action == Action::BulkLoad) {
            let opcode = checker.unit.operations.of(event.instruction);
            if opcode.operation() != Some(Operation::CpAsyncBulkTensorLoad) {
                continue;
            }
            let Some((operand, start)) = destination(checker, &flow, event.instruction) else { continue };
            let Some((descriptor, name, mode)) = starts.get(&start).filter(|_| reported.insert(start)) else {
                continue;
            };
            let pattern = mode.pattern_alignment();
            findings.push(
                Diagnostic::new(
                    Code::SwizzledCopyStart,
                    operand,
                    format!(
                        "a swizzled matrix is copied to an address that is no multiple of {pattern} bytes"
                    ),
                    format!("{} bytes behind a multiple", start.2 % pattern),
                )
                .label(*descriptor, format!("`{name}` starts at the same address, with the base offset 0"))
                .note(format!("the swizzling mode is {mode}: its pattern comes again after {pattern} bytes"))
                .help(format!("let each tile start at a multiple of {pattern} bytes")),
            );
        }
    }
}

/// The operand that says where a copy goes, and the place, if that is known.
fn destination(checker: &Checker<'_>, flow: &Flow<'_>, instruction: u32) -> Option<(Span, Start)> {
    let operands = checker.unit.module.instructions[instruction as usize].operands;
    let operand = operands.range().next()?;
    let place = flow.places().address(instruction, operand as u32)?;
    let Root::Variable(variable) = place.root else { return None };
    let start = (flow.function(), variable, place.offset.constant(u32::BITS)?);
    Some((checker.unit.module.operands[operand].span(), start))
}

/// Whether a variable starts at a multiple of the pattern, by what it says.
fn is_aligned(checker: &Checker<'_>, variable: SymbolId, pattern: u64) -> bool {
    let symbol = checker.unit.symbols.symbol(variable);
    matches!(symbol.kind, SymbolKind::Variable { space: StateSpace::Shared, .. })
        && checker
            .unit
            .declaration(symbol)
            .and_then(|(declaration, _)| declaration.align)
            .is_some_and(|align| u64::from(align) >= pattern)
}
