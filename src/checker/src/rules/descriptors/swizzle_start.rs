use std::borrow::Cow;
use std::cell::LazyCell;

use rustc_hash::FxHashMap;

use crate::analysis::constants::Known;
use crate::analysis::definitions::DefinitionId;
use crate::analysis::places::Root;
use crate::descriptor::shared_memory::{Rows, SwizzleMode};
use crate::diagnostic::{Diagnostic, Findings};
use crate::instruction::decode::Decoded;
use crate::instruction::{Instruction, MatrixA, Scalar};
use crate::resolve::symbols::SymbolKind;
use crate::rules::{Checker, Code, rule};
use crate::source::Span;
use crate::syntax::ast::StateSpace;

rule! {
    /// ## What it does
    /// Finds descriptors of swizzled matrices whose start address cannot be the start of a matrix in the
    /// swizzling pattern.
    ///
    /// - The matrix is not transposed, and starts so far into its rows that the bytes along K reach past
    ///   the swizzled ones: K was stepped out of the atom.
    /// - The matrix is not transposed, and a small constant, or the step of a counted loop, is added to the
    ///   descriptor, so that the sum starts at another row of the pattern. The step can also be part of the
    ///   constant from which the descriptor is built, if another descriptor has the same constant without
    ///   the step.
    /// - The matrix starts on the boundary of the pattern, and the base offset is not 0.
    /// - The matrix starts in a variable whose `.align` is smaller than the pattern, and the base offset is
    ///   0. A variable that is too small for a matrix only names the start of dynamic shared memory, and is
    ///   not checked.
    ///
    /// Only known bits of an address count, for example those of an aligned variable.
    ///
    /// ## Why is this bad?
    /// The swizzle permutes units of 16 bytes by the row that they are in, and the pattern repeats after
    /// eight rows. A step along K stays in its rows, or leads to the next atom, a multiple of eight rows
    /// further. Other steps read the wrong rows or the wrong bytes. Most often such a step is in bytes
    /// instead of units of 16.
    ///
    /// A buffer that starts in the middle of a pattern is not reported: if its data is swizzled by the
    /// address as well, as copies do, the two match.
    ///
    /// ## Example
    /// ```ptx
    /// mov.b64 adesc, 0x4000404000010047;
    /// tcgen05.mma.cta_group::1.kind::f16 [taddr], adesc, bdesc, 0x08200490, p;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// mov.b64 adesc, 0x4000404000010046;
    /// tcgen05.mma.cta_group::1.kind::f16 [taddr], adesc, bdesc, 0x08200490, p;
    /// ```
    ///
    /// ## References
    /// PTX ISA, sections 9.7.16.4.1 and 9.7.16.5
    SwizzleStart Statement check
}

/// Bytes along K that every multiply takes at least; of a matrix that is compressed, twice as many of the
/// other one.
const ALONG_K: u64 = 32;

/// Units of 16 bytes: what lies further on is another matrix, perhaps.
const NEAR: u64 = 128;

/// A start address, the rest of a descriptor that is added to it, and which operand that is.
type Base = (u32, DefinitionId, u64, &'static str);

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    let first_steps = LazyCell::new(|| first_steps(checker));
    for multiply in checker.descriptors {
        let decoded = &checker.instructions[multiply.instruction];
        let Some(Instruction::Mma(mma)) = &decoded.instruction else { continue };
        for descriptor in &multiply.descriptors {
            let (operand, transposed, along_k) = match (descriptor.name, &mma.a) {
                ("a-desc", MatrixA::Descriptor(a)) => (a, multiply.facts.transpose_a, ALONG_K),
                ("b-desc", _) => {
                    let more = if mma.sparse.is_some() { 2 } else { 1 };
                    (&mma.b, multiply.facts.transpose_b, ALONG_K * more)
                }
                _ => continue,
            };
            let Rows { base_offset: Some(base), is_absolute: Some(false), swizzle: Some(mode), .. } =
                Rows::of(descriptor.word)
            else {
                continue;
            };
            let (span, Some(group)) = (mode.span(), mode.eight_rows()) else { continue };
            // The field is in units of 16 bytes.
            let start = |bytes: u64| Some(descriptor.word.constant(bytes.trailing_zeros() - 4)? * 16);
            let row_of = |word: Known| {
                let row = word.shifted_right(span.trailing_zeros() - 4);
                row.constant((group / span).trailing_zeros())
            };
            let row = || {
                let row = row_of(descriptor.word).filter(|_| transposed == Some(false))?;
                let stepped_from = checker.function(decoded)?.stepped_from(checker.unit, decoded, operand)?;
                let before = row_of(stepped_from)?;
                (before != row).then_some((before, row))
            };
            // How many rows further a step in the constant leads, whatever it is added to.
            let in_constant = || {
                let facts = checker.function(decoded).filter(|_| transposed == Some(false))?;
                let folded = facts.folded(checker.unit, decoded, operand)?;
                // Nearly all steps stay in their row.
                if folded.step() * 16 < span {
                    return None;
                }
                let key = (facts.function, folded.base, folded.rest(), descriptor.name);
                let step = (folded.step() - *first_steps.get(&key)?) * 16;
                let rows = step / span % (group / span);
                (step < NEAR * 16 && step.is_multiple_of(span) && rows != 0).then_some((step, rows))
            };
            let in_iterations = || {
                let Scalar::Register(register) = operand else { return None };
                let flow = checker.flow(decoded).filter(|_| transposed == Some(false))?;
                let (from, mut steps) = flow.stepped_in_iterations(decoded.index, register.id)?;
                let before = row_of(from)?;
                let (iteration, row) = steps.find_map(|(iteration, word)| {
                    row_of(word).filter(|row| *row != before).map(|row| (iteration, row))
                })?;
                Some((before, row, iteration))
            };
            let in_row = start(span).filter(|it| transposed == Some(false) && it + along_k > span);
            let (problem, found, help) = if let Some(in_row) = in_row.filter(|_| along_k <= span) {
                (
                    format!(
                        "the matrix starts {in_row} bytes in rows of {span}, and takes {along_k} of each"
                    ),
                    format!("{} bytes are left in each row", span - in_row),
                    "stay in the atom while stepping along K: behind its end, the next one starts",
                )
            } else if let Some((before, row)) = row() {
                (
                    format!("the step to it leads from row {before} of the swizzled pattern to row {row}"),
                    format!("rows have {span} bytes, and a pattern {} of them", group / span),
                    "steps along K are in units of 16 bytes here: 2 for the 32 bytes of a multiply",
                )
            } else if let Some((step, rows)) = in_constant() {
                (
                    format!(
                        "the step to it of {step} bytes leads {rows} rows further in the swizzled pattern"
                    ),
                    format!("rows have {span} bytes, and a pattern {} of them", group / span),
                    "steps along K are in units of 16 bytes here: 2 for the 32 bytes of a multiply",
                )
            } else if let Some((before, row, iteration)) = in_iterations() {
                (
                    format!(
                        "the step to it leads from row {before} of the swizzled pattern to row {row}, in iteration \
                         {iteration} of the loop"
                    ),
                    format!("rows have {span} bytes, and a pattern {} of them", group / span),
                    "steps along K are in units of 16 bytes here, and stay in the row",
                )
            } else if base != 0 && start(mode.pattern_alignment()) == Some(0) {
                (
                    format!("the base offset is {base}, but the matrix starts where a pattern does"),
                    format!("a multiple of {} bytes", mode.pattern_alignment()),
                    "the base offset is 0 where the pattern starts on its boundary",
                )
            } else if let Some(found) = (base == 0).then(|| loose(checker, decoded, operand, mode)).flatten()
            {
                let (name, align, declared) = found;
                let pattern = mode.pattern_alignment();
                findings.push(
                    Diagnostic::new(
                        Code::SwizzleStart,
                        descriptor.span,
                        format!(
                            "`{}`: the pattern starts at a multiple of {pattern} bytes, and `{name}` of {align}",
                            descriptor.name
                        ),
                        "the base offset is 0",
                    )
                    .label(declared, format!("aligned to {align} bytes"))
                    .note(format!("the swizzling mode is {mode}"))
                    .help(format!("write `.align {pattern}`, or say in the base offset where the pattern starts")),
                );
                continue;
            } else {
                continue;
            };
            findings.push(
                Diagnostic::new(
                    Code::SwizzleStart,
                    descriptor.span,
                    format!("`{}`: {problem}", descriptor.name),
                    found,
                )
                .origins(&checker.origins(decoded, operand))
                .note(format!("the swizzling mode is {mode}"))
                .help(help),
            );
        }
    }
}

/// Of the descriptors that differ only by steps along K in the constants that they are built from: the first
/// step.
fn first_steps(checker: &Checker<'_>) -> FxHashMap<Base, u64> {
    let mut found: FxHashMap<Base, u64> = FxHashMap::default();
    for multiply in checker.descriptors {
        let decoded = &checker.instructions[multiply.instruction];
        let Some(Instruction::Mma(mma)) = &decoded.instruction else { continue };
        let Some(facts) = checker.function(decoded) else { continue };
        for descriptor in &multiply.descriptors {
            let operand = match (descriptor.name, &mma.a) {
                ("a-desc", MatrixA::Descriptor(a)) => a,
                ("b-desc", _) => &mma.b,
                _ => continue,
            };
            if let Some(folded) = facts.folded(checker.unit, decoded, operand) {
                let key = (facts.function, folded.base, folded.rest(), descriptor.name);
                let first = found.entry(key).or_insert(folded.step());
                *first = folded.step().min(*first);
            }
        }
    }
    found
}

/// The variable that a matrix starts in, what it is aligned to, and where it is declared, if that is less than the
/// pattern's alignment: then it is chance where in the pattern it starts.
fn loose<'a>(
    checker: &Checker<'a>,
    decoded: &Decoded<'a>,
    operand: &Scalar<'_>,
    mode: SwizzleMode,
) -> Option<(Cow<'a, str>, u32, Span)> {
    let Scalar::Register(register) = operand else { return None };
    let flow = checker.flow(decoded)?;
    let place = flow.start_of_matrix(decoded.index, register.id)?;
    let Root::Variable(variable) = place.root else { return None };
    // In a stage of a ring, it starts where all of them do.
    place.offset.constant(mode.pattern_alignment().trailing_zeros())?;
    // The matrix follows it, in memory that the launch adds.
    if flow.is_too_small(variable) {
        return None;
    }
    let symbol = checker.unit.symbols.symbol(variable);
    let SymbolKind::Variable { space: StateSpace::Shared, is_external: false, .. } = symbol.kind else {
        return None;
    };
    let (declaration, _) = checker.unit.declaration(symbol)?;
    let align = declaration.align.filter(|align| u64::from(*align) < mode.pattern_alignment())?;
    Some((checker.unit.readable(symbol.span), align, symbol.span))
}
