//! Which operand is expected.

use ptx_check::isa::generic::Modifier;
use ptx_check::resolve::operations::Opcode;

use crate::context::{self, Context};
use crate::described::{self, Described, Operand};
use crate::text::Text;

/// The operands of the instruction at a place.
#[derive(Debug)]
pub(crate) struct Signature {
    pub(crate) label: String,
    pub(crate) documentation: String,
    /// Each operand as it stands in the label, and what it is.
    pub(crate) parameters: Vec<(String, String)>,
    pub(crate) active: usize,
}

/// The operands of the instruction at `offset`, and which of them that is.
pub(crate) fn signature(text: &Text, offset: u32) -> Option<Signature> {
    let context = Context::new(text, offset)?;
    let place = context.operand()?;
    let (written, _) = context.opcode()?;
    if let Some(behind) = written.strip_prefix("tcgen05.") {
        let opcode = context::read(&behind.split('.').collect::<Vec<_>>())?;
        let known = described::known(opcode.qualifiers);
        return Some(of(Described::Tensor(opcode.form, &known), &written, place.index));
    }
    let opcode = Opcode::new(&written);
    let modifiers: Vec<Modifier> = opcode.modifiers.iter().map(|placed| placed.modifier).collect();
    Some(of(Described::Generic(opcode.row?, "", &modifiers), &written, place.index))
        .filter(|signature| !signature.parameters.is_empty())
}

fn of(described: Described<'_>, written: &str, active: usize) -> Signature {
    let shown = |operand: Operand| {
        let syntax = if operand.is_optional { format!("{{{}}}", operand.syntax) } else { operand.syntax };
        (syntax, operand.explanation)
    };
    let parameters: Vec<(String, String)> = described.operands().into_iter().map(shown).collect();
    let shown: Vec<&str> = parameters.iter().map(|(syntax, _)| syntax.as_str()).collect();
    Signature {
        label: format!("{written} {}", shown.join(", ")),
        documentation: described.explanation().to_owned(),
        active,
        parameters,
    }
}
