use std::collections::HashMap;

use crate::analysis::symbols::RegisterId;
use crate::diagnostic::Diagnostic;
use crate::instruction::decode::{Bound, Decoded, Value};
use crate::instruction::form::Problem;
use crate::instruction::{Register, Scalar, Vector};
use crate::isa::instructions::OperandClass;
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds elements of register vectors that cannot stand there: `_`, an address, a constant
    /// in a vector that is written, and a register that a load would write twice.
    ///
    /// ## Why is this bad?
    /// The assembler refuses the instruction; a repeated destination only in its back end, with a
    /// message that names neither line nor register.
    ///
    /// ## Example
    /// ```ptx
    /// tcgen05.ld.sync.aligned.32x32b.x2.b32 {r0, r0}, [taddr];
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// tcgen05.ld.sync.aligned.32x32b.x2.b32 {r0, r1}, [taddr];
    /// ```
    ///
    /// ## References
    /// PTX ISA, sections 9.7.16.8.3 and 9.7.16.8.4
    "TC111" "vector-element" Error Rejects check
}

fn check(checker: &Checker<'_>, findings: &mut Vec<Diagnostic>) {
    for decoded in checker.instructions {
        for problem in &decoded.problems {
            if let Problem::Element { span, found } = problem {
                findings.push(
                    Diagnostic::new(
                        Code::VectorElement,
                        *span,
                        format!("{found} cannot be an element of a vector"),
                        "a 32-bit register is due here",
                    )
                    .help("name a register; one whose value is not needed does"),
                );
            }
        }
        for bound in decoded.operands.iter().filter(|bound| bound.fits) {
            if let Value::Vector(vector) = &bound.value {
                constants(bound, vector, findings);
            }
        }
        repeated(decoded, findings);
    }
}

/// Constants stand only in vectors that are read, and there beside a register.
fn constants(bound: &Bound<'_>, vector: &Vector<'_>, findings: &mut Vec<Diagnostic>) {
    let facts = bound.slot.class.facts();
    for element in &vector.elements {
        let found = match element {
            Scalar::Register(Register { plus: None, .. }) => continue,
            Scalar::Special(_) if bound.slot.class == OperandClass::LaneMask => continue,
            Scalar::Immediate(_) | Scalar::Float(_) if facts.immediate => continue,
            Scalar::Immediate(_) | Scalar::Float(_) => "a constant cannot be loaded into",
            Scalar::Special(_) => "a special register cannot be an element",
            Scalar::Register(_) => "an expression cannot be an element",
            Scalar::Variable(_) => "a variable cannot be an element",
        };
        findings.push(
            Diagnostic::new(Code::VectorElement, element.span(), found, "a 32-bit register is due here")
                .help("name a register"),
        );
    }
    let integers = |element: &Scalar<'_>| matches!(element, Scalar::Immediate(_));
    if facts.immediate && !vector.elements.is_empty() && vector.elements.iter().all(integers) {
        findings.push(
            Diagnostic::new(
                Code::VectorElement,
                vector.span,
                "a vector of integer constants alone",
                "the assembler wants at least one register",
            )
            .help("move one of the constants into a register first"),
        );
    }
}

/// A register that is written twice by one load.
fn repeated(decoded: &Decoded<'_>, findings: &mut Vec<Diagnostic>) {
    // The usual vector names registers in ascending order, each once.
    let ascends = |elements: &[Scalar<'_>]| {
        elements.windows(2).all(|pair| match pair {
            [Scalar::Register(a), Scalar::Register(b)] => a.id < b.id,
            _ => false,
        })
    };
    let vectors = || decoded.operands.iter().filter(|bound| bound.slot.class == OperandClass::LoadVector);
    let single = decoded.operands.iter().all(|bound| {
        !matches!(bound.slot.class, OperandClass::MetadataVector | OperandClass::ReductionResult)
    });
    if single && vectors().all(|bound| matches!(&bound.value, Value::Vector(it) if ascends(&it.elements))) {
        return;
    }
    let mut written: HashMap<(RegisterId, &str), Register<'_>> = HashMap::new();
    for bound in &decoded.operands {
        let elements: &[Scalar<'_>] = match (bound.slot.class, &bound.value) {
            (
                OperandClass::LoadVector | OperandClass::MetadataVector | OperandClass::ReductionResult,
                Value::Vector(vector),
            ) => &vector.elements,
            (OperandClass::ReductionResult, Value::Scalar(scalar)) => std::slice::from_ref(scalar),
            _ => continue,
        };
        for element in elements {
            let Scalar::Register(register) = element else { continue };
            // Components of one vector register are registers of their own.
            let component = if register.component { register.name } else { "" };
            if let Some(first) = written.insert((register.id, component), *register) {
                findings.push(
                    Diagnostic::new(
                        Code::VectorElement,
                        register.span,
                        format!("`{}` is written twice by one load", register.name),
                        "written again here",
                    )
                    .label(first.span, "first written here")
                    .help("load into a register of its own"),
                );
            }
        }
    }
}
