//! Constraints in one string, as LLVM has them: `=r,r,l,~{memory}`.

use super::template;
use super::{Constraint, Machine, Operand, Piece};
use ptx_text::source::{Source, Span};
use ptx_text::types::Type;

/// What a string of constraints says.
#[derive(Debug, Default)]
pub(super) struct Constraints {
    /// The operands, in the order of their numbers.
    pub(super) operands: Vec<Operand>,
    pub(super) clobbers_memory: bool,
    /// What has to be inserted to say that memory is changed, and where.
    pub(super) memory_clobber: Option<(u32, &'static str)>,
    /// Whether it has registers, and all are of a GPU that runs PTX.
    pub(super) is_of_ptx: bool,
    /// Whether it has a register or place that no such GPU has.
    pub(super) is_of_another_machine: bool,
}

impl Constraints {
    /// The machine that assembly with these constraints is for, which `otherwise` is what is written here.
    pub(super) fn machine(&self, otherwise: Machine) -> Machine {
        if self.is_of_another_machine { Machine::Guarded } else { otherwise }
    }
}

/// Reads constraints; none if a part of them is not known, or of another machine.
pub(super) fn read(source: &Source, pieces: &[Piece]) -> Option<Constraints> {
    let cooked = template::cook(source, pieces, |_, _| 0);
    if cooked.has_holes() {
        return None;
    }
    let text = cooked.text.text();
    let mut found = Constraints::default();
    let mut start = 0;
    for part in parts(text) {
        let word = part.trim();
        let from = start + (part.len() - part.trim_start().len());
        start += part.len() + 1;
        let span = cooked.text.host(from..from + word.len()).unwrap_or_default();
        // A clobber, or a label.
        if let Some(clobber) = word.strip_prefix('~') {
            // As for registers.
            if !matches!(clobber, "{memory}" | "{cc}") {
                return None;
            }
            found.clobbers_memory |= clobber == "{memory}";
        } else if !word.is_empty() && !word.starts_with('!') {
            let constraint = constraint(word, &found.operands);
            let is_output = word.starts_with(['=', '+']);
            let letters = word.trim_start_matches(['=', '&', '%']);
            // The registers of PTX have no names that a compiler knows.
            if letters.starts_with('{') {
                return None;
            }
            let is_register = matches!(constraint, Constraint::Register(_));
            found.is_of_ptx |= is_register;
            found.is_of_another_machine |= constraint == Constraint::Other
                && !matches!(letters.trim_start_matches('*'), "X" | "C" | "N");
            let is_tied = letters.starts_with(|first: char| first == '+' || first.is_ascii_digit());
            found.operands.push(Operand { is_tied, ..Operand::new(span, constraint, is_output) });
        }
    }
    found.is_of_ptx &= !found.is_of_another_machine;
    // Behind an open brace, a clobber would be a part of what stands there.
    if !found.clobbers_memory
        && text.chars().fold(0, depth_behind) == 0
        && let Some(Piece::Text { span, escapes }) = pieces.last()
    {
        let clobber = match (text.trim().is_empty(), escapes.doubled_braces) {
            (true, false) => "~{memory}",
            (true, true) => "~{{memory}}",
            (false, false) => ",~{memory}",
            (false, true) => ",~{{memory}}",
        };
        found.memory_clobber = Some((span.end, clobber));
    }
    Some(found)
}

/// Operands for every number that a template names, where their constraints are not known.
pub(super) fn unknown(source: &Source, template: &[Piece], place: Span) -> Vec<Operand> {
    /// No statement has more.
    const MOST: usize = 1024;
    let cooked = template::cook(source, template, |_, _| 0);
    let mut rest = cooked.text.text();
    let mut count = 0;
    while let Some((_, behind)) = rest.split_once('$') {
        rest = behind;
        let behind = behind.trim_start_matches('{');
        let digits = behind.bytes().take_while(u8::is_ascii_digit).count();
        if let Ok(number) = behind[..digits].parse::<usize>() {
            count = count.max(number + 1);
        }
    }
    // Nobody knows what they are there for.
    let operand = Operand { is_tied: true, ..Operand::new(place, Constraint::Other, false) };
    vec![operand; count.min(MOST)]
}

/// Where a statement has to have a result, an output may be there for that only.
pub(super) fn needs_outputs(operands: &mut [Operand]) {
    operands.iter_mut().filter(|operand| operand.is_output).for_each(|operand| operand.is_tied = true);
}

/// Whether a template names its operands by what is done with them: `{$r0}`.
pub(super) fn has_access(source: &Source, template: &[Piece]) -> bool {
    let cooked = template::cook(source, template, |_, _| 0);
    let text = cooked.text.text();
    // A vector of numbers starts alike.
    text.contains("{$r") || text.contains("{$w")
}

/// The parts between commas; those in braces separate nothing.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0;
    text.split(move |character| {
        depth = depth_behind(depth, character);
        character == ',' && depth == 0
    })
}

/// In how many braces the text behind a character stands.
fn depth_behind(before: usize, character: char) -> usize {
    match character {
        '{' => before + 1,
        '}' => before.saturating_sub(1),
        _ => before,
    }
}

fn constraint(word: &str, operands: &[Operand]) -> Constraint {
    let letters = word.trim_start_matches(['=', '+', '&', '%']);
    match register(letters) {
        Some(ty) => Constraint::Register(ty),
        None if matches!(letters, "n" | "i") => Constraint::Immediate(None),
        // The same place as another operand.
        None => match letters.parse::<usize>().ok().and_then(|index| operands.get(index)) {
            Some(operand) => operand.constraint.clone(),
            None => Constraint::Other,
        },
    }
}

/// The registers that letters stand for; of those of a type the first is for integers. What is a float is
/// declared like a word: what PTX the compiler makes of it changes with its version. CUDA has those from
/// `h` on.
const REGISTERS: &[(&str, Type)] = &[
    ("b", Type::Pred),
    ("c", Type::B16),
    ("h", Type::B16),
    ("r", Type::B32),
    ("f", Type::B32),
    ("l", Type::B64),
    ("d", Type::B64),
    ("q", Type::B128),
];

/// The registers that a letter stands for.
fn register(letter: &str) -> Option<Type> {
    REGISTERS.iter().find(|(known, _)| *known == letter).map(|(_, ty)| *ty)
}

/// The same in CUDA.
pub(super) fn cuda_register(letter: &str) -> Option<Type> {
    register(letter).filter(|_| !matches!(letter, "b" | "c"))
}

/// The letters of CUDA for integers, each with its width in bits.
pub fn integer_letters() -> impl Iterator<Item = (&'static str, u32)> {
    let of_cuda = REGISTERS.iter().filter(|(letter, _)| cuda_register(letter).is_some());
    of_cuda
        .filter(|(letter, _)| !matches!(*letter, "f" | "d"))
        .filter_map(|(letter, ty)| Some((*letter, ty.bits()?)))
}
