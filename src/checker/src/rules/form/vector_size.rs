use crate::diagnostic::{Diagnostic, Findings};
use crate::isa::generic::{Form, Modifier};
use crate::resolve::misfits::{Place, Wrong};
use crate::rules::generic::Generic;
use crate::rules::{Checker, Code, rule};
use crate::source::Span;
use crate::words::plural;

rule! {
    /// ## What it does
    /// Finds vectors outside tcgen05 with too few or too many elements: for `.v2`, `.v4` and `.v8`, for the
    /// fragment of a matrix that a thread holds in `ldmatrix`, `mma`, `wmma` and `wgmma`, for the
    /// coordinates of a tensor, and for the parts that `mov` packs into a register.
    ///
    /// ## Why is this bad?
    /// The assembler refuses the module.
    ///
    /// ## Example
    /// ```ptx
    /// ld.global.v4.b32 {r0, r1, r2}, [adesc];
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// ld.global.v4.b32 {r0, r1, r2, r3}, [adesc];
    /// ```
    ///
    /// ## References
    /// PTX ISA, sections 5.4.2 (Vectors) and 9.7.14 to 9.7.15 (matrix multiplication)
    VectorSize Text check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    let unit = checker.unit;
    for misplaced in unit.misfits() {
        let (place, count) = match misplaced.wrong {
            Wrong::Count(place, count, _) | Wrong::NoVector(place, count) => (place, count),
            Wrong::Looks(..)
            | Wrong::Guard(_)
            | Wrong::Class(..)
            | Wrong::NoImmediate(_)
            | Wrong::Number(..)
            | Wrong::Space(..)
            | Wrong::NoPair(_)
            | Wrong::Sink(_)
            | Wrong::Computed(_)
            | Wrong::Mixed(..) => continue,
        };
        let Some(generic) = Generic::judged(checker, misplaced.instruction) else { continue };
        let span = unit.module.operands[place.operand as usize].span();
        let elements = plural(usize::from(count), "element");
        let name = generic.name();
        // Its opcode has no `.v2`.
        let is_single = place.slot.form == Form::Vector && !place.wanted.is_vector;
        let finding = match misplaced.wrong {
            Wrong::Count(_, _, found) => Diagnostic::new(
                Code::VectorSize,
                span,
                match count {
                    0 if is_single => format!("`{}` of `{name}` stands without braces here", place.slot.name),
                    1 if is_single => {
                        format!("`{}` of `{name}` is one register without a vector size", place.slot.name)
                    }
                    0 => format!("`{}` of `{name}` is narrower than an element", place.slot.name),
                    _ => format!("`{}` of `{name}` has {elements} here", place.slot.name),
                },
                format!("found {found}"),
            ),
            Wrong::NoVector(..) if place.slot.form == Form::Address && !place.is_within => Diagnostic::new(
                Code::VectorSize,
                span,
                format!(
                    "`{}` of `{name}` has {} behind the address",
                    place.slot.name,
                    plural(usize::from(count), "coordinate")
                ),
                "no coordinates here",
            ),
            _ => Diagnostic::new(
                Code::VectorSize,
                span,
                format!("`{}` of `{name}` is a vector of {elements}", place.slot.name),
                "this is no vector",
            ),
        };
        let finding = match because(&generic, place) {
            Some((word, cause)) => finding.label(word, cause),
            None => finding,
        };
        findings.push(finding.help(match (misplaced.wrong, count) {
            (Wrong::Count(_, _, found @ (2 | 4 | 8)), _) if is_single && takes_vectors(&generic, found) => {
                format!("write `.v{found}` before the type, or one register")
            }
            (_, 0 | 1) if is_single => "write one register, without braces".to_owned(),
            (_, 0) => "unpack it into narrower registers".to_owned(),
            (Wrong::NoVector(..), _) if place.slot.form == Form::Address && !place.is_within => {
                "write them in braces, as `[address, {x, y}]`".to_owned()
            }
            (Wrong::NoVector(..), _) => format!("write {elements} in braces"),
            _ => format!("write {elements}"),
        }));
    }
}

/// Whether an instruction of this row may say that it has vectors of this size.
fn takes_vectors(generic: &Generic<'_>, elements: u32) -> bool {
    let says = |word: &Modifier| matches!(word, Modifier::Vector(vector) if vector.elements() == elements);
    generic.opcode.row.is_some_and(|row| row.modifiers.iter().any(|group| group.words.iter().any(says)))
}

/// The modifier that says how many elements there are.
fn because(generic: &Generic<'_>, place: Place) -> Option<(Span, String)> {
    let says = |modifier: &Modifier| match modifier {
        Modifier::Vector(_) => matches!(place.slot.form, Form::Vector | Form::Packed),
        Modifier::Shape(_) | Modifier::Count(_) => place.slot.form == Form::Fragment,
        Modifier::Geometry(_) => place.slot.form == Form::Address || place.slot.form == Form::Fragment,
        _ => false,
    };
    let placed = generic.opcode.modifiers.iter().find(|placed| says(&placed.modifier))?;
    let word = generic.place(placed.span);
    Some((word, format!("with `.{}`", placed.modifier.spelling())))
}
