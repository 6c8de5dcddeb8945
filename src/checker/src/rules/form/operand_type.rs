use crate::diagnostic::{Diagnostic, Findings};
use crate::instruction::decode::{Bound, Value};
use crate::instruction::form::Problem;
use crate::instruction::types::{self, Mistyped};
use crate::instruction::{Scalar, Vector};
use crate::isa::tensor::OperandClass;
use crate::rules::{Checker, Code, rule};
use crate::syntax::ast::Type;
use crate::words::list_words;

rule! {
    /// ## What it does
    /// Finds registers whose declared type does not fit the operand: 32 bits for Tensor Memory addresses
    /// and instruction descriptors, 64 bits for shared-memory descriptors, 16 bits for `ctaMask`, `.pred`
    /// for `enable-input-d`.
    ///
    /// ## Why is this bad?
    /// The assembler refuses the instruction.
    ///
    /// ## Example
    /// ```ptx
    /// .reg .b32 low;
    /// tcgen05.cp.cta_group::1.128x256b [taddr], low;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// .reg .b64 descriptor;
    /// tcgen05.cp.cta_group::1.128x256b [taddr], descriptor;
    /// ```
    ///
    /// ## References
    /// PTX ISA, sections 9.7.16.7 to 9.7.16.12
    OperandType Statement check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for decoded in checker.with_problems() {
        for problem in &decoded.problems {
            if let Problem::Guard { span, found, declaration } = problem {
                let mut finding = Diagnostic::new(
                    Code::OperandType,
                    *span,
                    "a guard must be a predicate",
                    format!("this is {found}"),
                )
                .help("guard with a `.pred` register");
                if let Some(declaration) = declaration {
                    finding = finding.label(*declaration, "declared here");
                }
                findings.push(finding);
            }
        }
    }
    for decoded in checker.with_odd_registers() {
        for Mistyped { register, slot, allowed } in types::mistyped(decoded) {
            let declaration = checker.unit.symbols.register(register.id).span;
            // What a constraint declares is another rule's business.
            if checker.unit.binding(declaration).is_some() {
                continue;
            }
            let Some(ty) = register.ty else { continue };
            let words = list_words(allowed.iter().map(|ty| format!("`.{ty}`")), "or");
            findings.push(
                Diagnostic::new(
                    Code::OperandType,
                    register.span,
                    format!("`{}` must be {}", slot.name, types::wanted(allowed)),
                    format!("`{}` is a `.{ty}` register", register.name),
                )
                .label(declaration, "declared here")
                .help(format!("use a register of type {words}")),
            );
        }
        // An operand of the wrong kind has no right type.
        for bound in decoded.operands.iter().filter(|bound| bound.fits) {
            if let Value::Vector(vector) = &bound.value {
                mixed_vector(bound, vector, bound.slot.class.facts().registers, findings);
            }
        }
    }
}

/// What the assembler compares between the elements of a vector: it refuses neighbours of
/// different classes; `.b32` goes with all.
fn class_of(scalar: &Scalar<'_>) -> Option<&'static str> {
    match scalar {
        Scalar::Immediate(_) => Some("an integer"),
        Scalar::Float(_) => Some("a float"),
        Scalar::Register(register) => match register.ty? {
            Type::U32 | Type::S32 => Some("an integer"),
            Type::F32 => Some("a float"),
            Type::F16x2 => Some("a pair of halves"),
            _ => None,
        },
        Scalar::Variable(_) | Scalar::Special(_) => None,
    }
}

fn mixed_vector(bound: &Bound<'_>, vector: &Vector<'_>, allowed: &[Type], findings: &mut Findings<'_>) {
    if !matches!(
        bound.slot.class,
        OperandClass::LoadVector
            | OperandClass::MetadataVector
            | OperandClass::StoreVector
            | OperandClass::LaneMask
    ) || allowed.is_empty()
    {
        return;
    }
    for pair in vector.elements.windows(2) {
        let [left, right] = pair else { continue };
        if let (Some(first), Some(second)) = (class_of(left), class_of(right))
            && first != second
        {
            findings.push(
                Diagnostic::new(
                    Code::OperandType,
                    right.span(),
                    "vector with elements of different types".to_owned(),
                    format!("this is {second}"),
                )
                .label(left.span(), format!("next to it is {first}"))
                .help("use registers of one type, best `.b32`"),
            );
            return;
        }
    }
}
