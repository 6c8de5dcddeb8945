use crate::diagnostic::{Diagnostic, Findings};
use crate::isa::generic::Numbers;
use crate::resolve::misfits::Wrong;
use crate::resolve::symbols::Resolution;
use crate::rules::generic::Generic;
use crate::rules::{Checker, Code, rule};
use crate::words::list_words;

rule! {
    /// ## What it does
    /// Finds numbers outside tcgen05 that their operand does not take, and registers where an immediate is
    /// required. Barriers are 0 to 15, `setmaxnreg` takes multiples of 8 from 24 to 256, `cp.async` copies
    /// 4, 8 or 16 bytes, and `wait_group` takes the number of groups that may be pending as an immediate.
    ///
    /// ## Why is this bad?
    /// The assembler refuses the module.
    ///
    /// ## Example
    /// ```ptx
    /// bar.sync 16;
    /// cp.async.wait_group r0;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// bar.sync 15;
    /// cp.async.wait_group 0;
    /// ```
    ///
    /// ## References
    /// PTX ISA, chapter 9 (Instruction Set)
    ImmediateOutOfRange Text check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    let unit = checker.unit;
    for misplaced in unit.misfits() {
        let (Wrong::Number(place, _) | Wrong::NoImmediate(place)) = misplaced.wrong else { continue };
        let Some(generic) = Generic::judged(checker, misplaced.instruction) else { continue };
        let span = unit.module.operands[place.operand as usize].span();
        let (what, name) = (place.slot.name, generic.name());
        let finding = if let Wrong::Number(_, value) = misplaced.wrong {
            let (demand, help) = match place.wanted.numbers {
                Numbers::From(first, i64::MAX) => (
                    format!("`{what}` of `{name}` must be at least {first}"),
                    format!("write a number from {first} on"),
                ),
                Numbers::From(only, last) if only == last => {
                    (format!("`{what}` of `{name}` must be {only}"), format!("write `{only}`"))
                }
                Numbers::From(first, last) => (
                    format!("`{what}` of `{name}` must be in [{first}, {last}]"),
                    format!("write a number from {first} to {last}"),
                ),
                Numbers::Multiples(of, first, i64::MAX) => (
                    format!("`{what}` of `{name}` must be a multiple of {of}"),
                    format!("write a multiple of {of}, from {first} on"),
                ),
                Numbers::Multiples(of, first, last) => (
                    format!("`{what}` of `{name}` must be a multiple of {of} in [{first}, {last}]"),
                    match nearest(value, (of, first, last)) {
                        Some(near) => {
                            format!("write `{near}`, or another multiple of {of} from {first} to {last}")
                        }
                        None => format!("write a multiple of {of} from {first} to {last}"),
                    },
                ),
                Numbers::These(numbers) => {
                    let list = list_words(numbers.iter().map(i64::to_string), "or");
                    (format!("`{what}` of `{name}` must be {list}"), format!("write {list}"))
                }
                Numbers::All | Numbers::ByWords(_) => continue,
            };
            Diagnostic::new(Code::ImmediateOutOfRange, span, demand, format!("this is {value}")).help(help)
        } else {
            let finding = Diagnostic::new(
                Code::ImmediateOutOfRange,
                span,
                format!("`{what}` of `{name}` must be an immediate"),
                "this is a register",
            );
            let finding = match unit.symbols.operand(place.operand) {
                Resolution::Register(id) => {
                    let declaration = unit.symbols.register(id).span;
                    let binding = unit.binding(declaration).is_some();
                    finding.label(declaration, if binding { "by this constraint" } else { "declared here" })
                }
                Resolution::Symbol(_) | Resolution::Special(_) | Resolution::Undeclared => finding,
            };
            finding.help(if unit.binding_of(place.operand).is_some() {
                "pass it by the constraint `\"n\"`, which takes constants only"
            } else {
                "write a number, or branch to an instruction for each number that it may be"
            })
        };
        findings.push(finding);
    }
}

/// The multiple that is the nearest to a number.
fn nearest(value: i128, (of, first, last): (i64, i64, i64)) -> Option<i128> {
    let (of, first, last) = (i128::from(of), i128::from(first), i128::from(last));
    let below = value.checked_div(of)?.checked_mul(of)?;
    (first..=last).contains(&below).then_some(below)
}
