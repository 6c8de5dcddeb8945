use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::diagnostic::{Applicability, Diagnostic, Edit, Findings, Fix};
use crate::instruction::decode::{Bound, Decoded, Value};
use crate::instruction::form::Problem;
use crate::instruction::{Register, Scalar, Vector};
use crate::isa::tensor::OperandClass;
use crate::resolve::symbols::RegisterId;
use crate::resolve::unit::Unit;
use crate::rules::{Checker, Code, rule};
use crate::source::Span;

rule! {
    /// ## What it does
    /// Finds elements of register vectors that are not allowed there: `_`, an address, a constant in a
    /// vector that is written, and a register that a load would write twice.
    ///
    /// ## Why is this bad?
    /// The assembler refuses the instruction. It finds a repeated destination only in its back end, with a
    /// message that names neither the line nor the register.
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
    VectorElement Statement check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    let mut names = Names::new(checker.unit);
    for decoded in checker.with_problems() {
        for problem in &decoded.problems {
            if let Problem::Element { span, found } = problem {
                let fix = match checker.unit.source.slice(*span) {
                    "_" if loads(decoded) => {
                        Some(names.declare(decoded, *span, "Load into a register that nothing reads", None))
                    }
                    text => bracketed(text).map(|name| Fix::guess("Remove the brackets", *span, name)),
                };
                findings.push(
                    Diagnostic::new(
                        Code::VectorElement,
                        *span,
                        format!("{found} cannot be an element of a vector"),
                        "a 32-bit register is expected here",
                    )
                    .help("name a register; any whose value is not needed will do")
                    .fix(fix),
                );
            }
        }
    }
    for decoded in checker.with_odd_registers() {
        for bound in decoded.operands.iter().filter(|bound| bound.fits) {
            if let Value::Vector(vector) = &bound.value {
                constants(decoded, bound, vector, &mut names, findings);
            }
        }
        repeated(decoded, findings);
    }
}

/// A function, or the statements outside of all functions.
#[derive(Clone, Copy, PartialEq, Eq)]
struct About(Option<u32>);

/// Names for new registers that the function does not have yet.
struct Names<'u> {
    unit: &'u Unit,
    /// The function that `taken` and `next` are about, once there is one.
    about: Option<About>,
    /// Numbers that follow [`STEM`](Self::STEM) somewhere in it.
    taken: FxHashSet<u32>,
    next: u32,
}

impl<'u> Names<'u> {
    const STEM: &'static str = "element";

    fn new(unit: &'u Unit) -> Self {
        Self { unit, about: None, taken: FxHashSet::default(), next: 0 }
    }

    /// A name that the function does not have. Its text is read once; names of other functions and of
    /// the module may be the same.
    fn next(&mut self, function: Option<u32>) -> String {
        if self.about != Some(About(function)) {
            self.about = Some(About(function));
            self.read(function);
        }
        while self.taken.contains(&self.next) {
            self.next += 1;
        }
        self.next += 1;
        format!("{}{}", Self::STEM, self.next - 1)
    }

    fn read(&mut self, function: Option<u32>) {
        self.next = 0;
        self.taken.clear();
        let text = text_of(self.unit, function);
        for at in memchr::memmem::find_iter(text.as_bytes(), Self::STEM) {
            let rest = &text[at + Self::STEM.len()..];
            if let Some(count) = rest.strip_prefix('<').and_then(leading_number) {
                self.next = self.next.max(count);
            }
            self.taken.extend(leading_number(rest));
        }
    }

    /// Replaces an element by a new register, which gets `value` first, if there is one.
    fn declare(&mut self, decoded: &Decoded<'_>, element: Span, title: &str, value: Option<&str>) -> Fix {
        let name = self.next(decoded.function);
        let separator = separator(&self.unit.source.text()[..decoded.span.start as usize]);
        let mut text = format!(".reg .b32 {name};{separator}");
        if let Some(value) = value {
            text += &format!("mov.b32 {name}, {value};{separator}");
        }
        Fix {
            applicability: Applicability::Safe,
            title: title.to_owned(),
            edits: vec![
                Edit { span: Span::at(decoded.span.start), text },
                Edit { span: element, text: name },
            ],
        }
    }
}

/// A function with its header, or all there is.
fn text_of(unit: &Unit, function: Option<u32>) -> &str {
    let Unit { source, module, .. } = unit;
    let statements = function.and_then(|function| {
        let body = module.functions[function as usize].body.range();
        // The statement before the body opens it.
        Some((module.statements.get(body.start.checked_sub(1)?)?, module.statements.get(body.end - 1)?))
    });
    match statements {
        Some((open, last)) => &source.text()[open.span.start as usize..last.span.end as usize],
        None => source.text(),
    }
}

/// `12` of `12, x`, if that is not too large.
fn leading_number(text: &str) -> Option<u32> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    text[..digits].parse().ok()
}

/// The text between a new statement and the one that `before` ends at: a new line if the old one has
/// a line of its own, unless that is indented beyond reason.
fn separator(before: &str) -> String {
    const INDENT: usize = 200;
    let is_blank = |byte: &&u8| matches!(byte, b' ' | b'\t');
    let indent = before.as_bytes().iter().rev().take(INDENT).take_while(is_blank).count();
    let (line, indent) = before.split_at(before.len() - indent);
    if line.is_empty() || line.ends_with('\n') { format!("\n{indent}") } else { String::from(" ") }
}

/// Whether the vector of an instruction is written.
fn loads(decoded: &Decoded<'_>) -> bool {
    decoded.form.is_some_and(|form| form.operands.iter().any(|slot| slot.class == OperandClass::LoadVector))
}

/// The register of `[register]`.
fn bracketed(text: &str) -> Option<&str> {
    let name = text.strip_prefix('[')?.strip_suffix(']')?.trim();
    let is_name = name.starts_with(|first: char| first.is_ascii_alphabetic() || "_$%".contains(first))
        && name.chars().all(|it| it.is_ascii_alphanumeric() || "_$%.".contains(it));
    is_name.then_some(name)
}

/// Constants are allowed only in vectors that are read, and only next to a register.
fn constants(
    decoded: &Decoded<'_>,
    bound: &Bound<'_>,
    vector: &Vector<'_>,
    names: &mut Names<'_>,
    findings: &mut Findings<'_>,
) {
    let facts = bound.slot.class.facts();
    for element in vector.elements.iter() {
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
            Diagnostic::new(Code::VectorElement, element.span(), found, "a 32-bit register is expected here")
                .help("name a register"),
        );
    }
    let integers = |element: &Scalar<'_>| matches!(element, Scalar::Immediate(_));
    if facts.immediate
        && vector.elements.iter().all(integers)
        && let Some(first) = vector.elements.first()
    {
        let value = names.unit.source.slice(first.span());
        let title = "Move the first constant into a register";
        let fix = names.declare(decoded, first.span(), title, Some(value));
        findings.push(
            Diagnostic::new(
                Code::VectorElement,
                vector.span,
                "a vector of integer constants alone",
                "the assembler wants at least one register",
            )
            .help("move one of the constants into a register first")
            .fix(Some(fix)),
        );
    }
}

/// A register that is written twice by one load.
fn repeated(decoded: &Decoded<'_>, findings: &mut Findings<'_>) {
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
    let elements = decoded.operands.iter().flat_map(|bound| match (bound.slot.class, &bound.value) {
        (
            OperandClass::LoadVector | OperandClass::MetadataVector | OperandClass::ReductionResult,
            Value::Vector(vector),
        ) => &vector.elements[..],
        (OperandClass::ReductionResult, Value::Scalar(scalar)) => std::slice::from_ref(scalar),
        _ => &[],
    });
    let registers = elements.filter_map(|element| match element {
        Scalar::Register(register) => Some(register),
        _ => None,
    });
    // In another order, but nearly always each once as well.
    let mut ids: SmallVec<[RegisterId; 128]> = registers.clone().map(|register| register.id).collect();
    ids.sort_unstable();
    if ids.is_sorted_by(|one, next| one < next) {
        return;
    }
    let mut written: FxHashMap<(RegisterId, &str), &Register<'_>> = FxHashMap::default();
    for register in registers {
        // Components of one vector register are registers of their own.
        let component = if register.component { register.name.as_str() } else { "" };
        if let Some(first) = written.insert((register.id, component), register) {
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
