use super::syntax_help;
use crate::diagnostic::{Applicability, Diagnostic, Edit, Findings, Fix};
use crate::instruction::decode::Decoded;
use crate::instruction::form::Problem;
use crate::isa::tensor::{InstructionForm, OperandSlot, Restriction};
use crate::rules::{Checker, Code, rule};
use crate::source::Span;

rule! {
    /// ## What it does
    /// Finds operands of the wrong kind: a register instead of an address in brackets, an address instead
    /// of a value, a bare register instead of a vector, two swapped operands, and so on.
    ///
    /// ## Why is this bad?
    /// The assembler refuses the instruction.
    ///
    /// ## Example
    /// ```ptx
    /// tcgen05.ld.sync.aligned.32x32b.x1.b32 r0, [taddr];
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// tcgen05.ld.sync.aligned.32x32b.x1.b32 {r0}, [taddr];
    /// ```
    ///
    /// ## References
    /// PTX ISA, sections 9.7.16.7 to 9.7.16.12
    OperandKind Statement check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for decoded in checker.with_problems() {
        for problem in &decoded.problems {
            if let (Problem::Exchanged { spans, slots }, Some(form)) = (problem, decoded.form) {
                findings.push(exchanged(checker, decoded, form, (*spans, *slots)));
            }
            let Problem::Kind { span, slot, found, wants_braces } = problem else { continue };
            // Half-split offsets have a rule of their own.
            if slot.restriction == Some(Restriction::HalfSplitOffset) {
                continue;
            }
            let noun = slot.class.facts().noun;
            let mut finding = Diagnostic::new(
                Code::OperandKind,
                *span,
                format!("`{}` must be {noun}", slot.name),
                format!("found {found}"),
            )
            .help(format!("write {noun} here"));
            if *wants_braces {
                finding.help = Some("put braces around it: a vector of one element is a vector".to_owned());
                finding.fix = Some(Fix {
                    applicability: Applicability::Safe,
                    title: "Put braces around it".to_owned(),
                    edits: vec![
                        Edit { span: Span::at(span.start), text: "{".to_owned() },
                        Edit { span: Span::at(span.end), text: "}".to_owned() },
                    ],
                });
            }
            let text = checker.unit.source.slice(*span).trim();
            let inside = text.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
            let inside = inside.map(str::trim).filter(|it| is_name(it));
            let is_address = noun.ends_with("in brackets");
            let written = |name: &str| checker.unit.written(*span, name);
            if let Some(inside) = inside.filter(|_| noun.contains("register") && !is_address) {
                finding.help = Some(match written(inside) {
                    Some(inside) => format!("write `{inside}`: no memory is read here"),
                    None => "write it without the brackets: no memory is read here".to_owned(),
                });
                finding.fix = Some(Fix::guess("Remove the brackets", *span, inside.to_owned()));
            } else if is_address && is_name(text) {
                finding.help = Some(match written(text) {
                    Some(text) => format!("write `[{text}]`"),
                    None => "put brackets around it".to_owned(),
                });
                finding.fix = Some(Fix::guess("Put brackets around it", *span, format!("[{text}]")));
            }
            findings.push(finding);
        }
    }
}

/// Two operands each of which belongs in the position of the other.
fn exchanged(
    checker: &Checker<'_>,
    decoded: &Decoded<'_>,
    form: &'static InstructionForm,
    (spans, slots): ([Span; 2], [&OperandSlot; 2]),
) -> Diagnostic {
    let [first, second] = slots.map(|slot| slot.name);
    let [left, right] = spans.map(|span| checker.unit.source.slice(span).to_owned());
    // Another instruction may take them in this order: what was meant is not certain.
    let is_known = !spans.iter().any(|span| checker.unit.holes.has_unknown(*span));
    let fix = is_known.then(|| Fix {
        applicability: Applicability::Unsafe,
        ..Fix::swap("Exchange the operands", (spans[0], left), (spans[1], right))
    });
    Diagnostic::new(
        Code::OperandKind,
        spans[0],
        format!("`{first}` and `{second}` of `tcgen05.{}` are exchanged", form.operation),
        format!("this belongs in the place of `{second}`"),
    )
    .label(spans[1], format!("this belongs in the place of `{first}`"))
    .help(syntax_help(form, decoded))
    .fix(fix)
}

/// Whether an operand is a name and nothing else.
fn is_name(text: &str) -> bool {
    let is_first = |c: char| c.is_ascii_alphabetic() || "_$%".contains(c);
    text.starts_with(is_first)
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_$%".contains(&byte))
}
