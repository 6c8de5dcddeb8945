//! Which operand is expected.

use super::completion;
use super::context::{self, Context};
use super::text::Text;

/// The operands of the instruction at a place.
#[derive(Debug)]
pub(super) struct Signature {
    pub(super) label: String,
    pub(super) documentation: String,
    /// Each operand as it stands in the label, and what it is.
    pub(super) parameters: Vec<(String, String)>,
    pub(super) active: usize,
}

/// The operands of the tcgen05 instruction at `offset`, and which of them that is.
pub(super) fn signature(text: &Text, offset: u32) -> Option<Signature> {
    let context = Context::new(text, offset)?;
    let place = context.operand()?;
    let (written, _) = context.opcode()?;
    let words: Vec<&str> = written.strip_prefix("tcgen05.")?.split('.').collect();
    let opcode = context::read(&words)?;
    let known = completion::known(&opcode.qualifiers);
    let parameters: Vec<(String, String)> = opcode
        .form
        .present(known.words())
        .map(|slot| {
            let bare = slot.bare_syntax();
            let syntax = if slot.optional { format!("{{{bare}}}") } else { bare };
            (syntax, slot.class.facts().noun.to_owned())
        })
        .collect();
    let shown: Vec<&str> = parameters.iter().map(|(syntax, _)| syntax.as_str()).collect();
    Some(Signature {
        label: format!("{written} {}", shown.join(", ")),
        documentation: opcode.form.operation.explanation().to_owned(),
        active: place.index,
        parameters,
    })
}
