//! Statements as the instruction table has them.

use ptx_check::instruction::form::Qualifiers;
use ptx_check::isa::tensor::{INSTRUCTIONS, InstructionForm, OperandClass, OperandSlot};
use ptx_check::isa::vocabulary::{LdShape, Num, Operation, Qualifier};
use ptx_check::source::{Span, Spanned};

/// A statement in pieces, so that it can be bent.
#[derive(Clone, Debug)]
pub(crate) struct Form {
    pub(crate) guard: Option<String>,
    pub(crate) operation: String,
    pub(crate) qualifiers: Vec<String>,
    pub(crate) operands: Vec<String>,
}

impl Form {
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        if let Some(guard) = &self.guard {
            text += &format!("{guard} ");
        }
        text += &format!("tcgen05.{}", self.operation);
        for qualifier in &self.qualifiers {
            text += &format!(".{qualifier}");
        }
        if !self.operands.is_empty() {
            text += &format!(" {}", self.operands.join(", "));
        }
        text + ";"
    }
}

/// A random choice of qualifiers and operands of a random row. Whether the combination is legal
/// is left to the two judges, but most are: a wholly random one would nearly never be.
pub(crate) fn form(random: &mut fastrand::Rng) -> Form {
    let row = row(random);
    loop {
        let mut chosen = Vec::new();
        for slot in row.qualifiers {
            let choices = slot.choices();
            if slot.required || random.u8(..3) == 0 {
                chosen.push(choices[random.usize(..choices.len())]);
            }
        }
        let form = with(row, &chosen, random);
        // Most combinations of an mma are not legal; try again, but keep some.
        let case = super::Case {
            statement: form.text(),
            target: ptx_check::isa::targets::Target::a(107),
            version: ptx_check::isa::targets::PtxVersion::LATEST,
        };
        if random.u8(..10) == 0 || super::predicts_acceptance(&case.check()) {
            return form;
        }
    }
}

/// A row; the multiplies, which have most of the rules, more often than others.
fn row(random: &mut fastrand::Rng) -> &'static InstructionForm {
    match random.u8(..5) {
        0 => InstructionForm::of(Operation::Mma),
        1 => InstructionForm::of(Operation::MmaWs),
        _ => &INSTRUCTIONS[random.usize(..INSTRUCTIONS.len())],
    }
}

fn with(row: &'static InstructionForm, chosen: &[Qualifier], random: &mut fastrand::Rng) -> Form {
    let mut qualifiers = Qualifiers::default();
    for qualifier in chosen {
        qualifiers.push(Spanned::new(*qualifier, Span::default()));
    }
    let mut operands = Vec::new();
    for slot in row.present(qualifiers.words()) {
        if !slot.optional || random.bool() {
            operands.push(operand(row.operation, slot, &qualifiers, random));
        }
    }
    Form {
        guard: (random.u8(..12) == 0).then(|| ["@p", "@!q"][random.usize(..2)].to_owned()),
        operation: row.operation.to_string(),
        qualifiers: chosen.iter().map(|qualifier| qualifier.spelling().to_owned()).collect(),
        operands,
    }
}

/// A legal operand for a position.
fn operand(
    operation: Operation,
    slot: &OperandSlot,
    qualifiers: &Qualifiers,
    random: &mut fastrand::Rng,
) -> String {
    let mut pick = |choices: &[&str]| choices[random.usize(..choices.len())].to_owned();
    match slot.class {
        OperandClass::AllocDestination | OperandClass::Mbarrier => {
            pick(&["[sv]", "[sv+4]", "[ptr]", "[ptr+8]", "[r]", "[ur+4]"])
        }
        OperandClass::TmemAddress => pick(&["[t]", "[t+16]", "[ur]", "[sr+-4]", "[t2+0x10]"]),
        OperandClass::MmaAddress => pick(&["[t]", "[t+16]", "[t2]", "[ms]"]),
        OperandClass::MatrixA => pick(&["d", "[t]", "ud", "[t2+4]", "0"]),
        OperandClass::TmemHandle => pick(&["t", "ur", "0", "t+4"]),
        OperandClass::Columns => pick(&["32", "64", "128", "512", "r", "0x40", "16*2"]),
        OperandClass::HalfSplitOffset => pick(&["0", "16", "-4", "1+1"]),
        OperandClass::SharedMemoryDescriptor => pick(&["d", "d2", "sd", "0x4000"]),
        OperandClass::InstructionDescriptor => pick(&["i", "ur", "0x8200490"]),
        OperandClass::EnableInputD => pick(&["p", "!q", "1", "0"]),
        OperandClass::ScaleInputD => pick(&["0", "15", "1+2"]),
        OperandClass::ZeroColumnMask => pick(&["zm", "0", "ud"]),
        OperandClass::CtaMask16 => pick(&["h", "uh", "0xFFFF", "1"]),
        OperandClass::CtaMask32 => pick(&["r", "ur", "0xFFFFFFFF", "1"]),
        OperandClass::ReductionResult => pick(&["r", "fr", "{sr}"]),
        OperandClass::LaneMask => {
            let two = qualifiers.iter().any(|it| it.value.spelling() == "cta_group::2");
            vector(if two { 8 } else { 4 })
        }
        OperandClass::LoadVector | OperandClass::StoreVector => {
            vector(length(operation, qualifiers).unwrap_or(1))
        }
        OperandClass::MetadataVector => {
            let factor = qualifiers.get::<Num>().map_or(1, |num| num.value.factor());
            let registers: Vec<String> = (0..factor.div_ceil(32)).map(|n| format!("r{}", 130 + n)).collect();
            format!("{{{}}}", registers.join(", "))
        }
    }
}

fn length(operation: Operation, qualifiers: &Qualifiers) -> Option<u32> {
    let num = qualifiers.get::<Num>()?.value;
    if matches!(operation, Operation::LdSpcompress | Operation::LdRedSpcompress) {
        return Some((num.factor() / 2).max(1));
    }
    qualifiers.get::<LdShape>()?.value.vector_length(num)
}

pub(crate) fn vector(length: u32) -> String {
    let registers: Vec<String> = (0..length).map(|number| format!("r{number}")).collect();
    format!("{{{}}}", registers.join(", "))
}
