//! What a multiply multiplies.

use ptx_check::descriptor::idesc_check::{self, Facts};
use ptx_check::descriptor::instruction::DTYPE;
use ptx_check::instruction::decode::Decoded;
use ptx_check::instruction::{Instruction, Mma};
use ptx_check::isa::mma_shapes::{self, Shape, Sizes, Variant};
use ptx_check::isa::tensor::OperandClass;

use crate::descriptors::{self, Word};
use crate::snapshot::Snapshot;

/// A multiply and what its descriptors say.
pub(crate) struct Multiply<'a> {
    mma: &'a Mma<'a>,
    facts: Facts,
    /// The type of D.
    accumulator: Option<String>,
    /// The operand's name and what it holds.
    words: Vec<(&'static str, Word)>,
}

impl<'a> Multiply<'a> {
    pub(crate) fn new(snapshot: &Snapshot, decoded: &'a Decoded<'_>) -> Option<Self> {
        let Some(Instruction::Mma(mma)) = &decoded.instruction else { return None };
        let mut facts = Facts::default();
        let mut accumulator = None;
        let mut words = Vec::new();
        for bound in &decoded.operands {
            let Some(word) = descriptors::word(snapshot, decoded, bound) else { continue };
            if bound.slot.class == OperandClass::InstructionDescriptor {
                let generation = snapshot.environment().features().generation;
                facts = idesc_check::facts(mma.kind.value, generation, word.known);
                accumulator = word.layout.known(DTYPE, word.known).map(|(field, raw)| field.show(raw));
            }
            words.push((bound.slot.name, word));
        }
        Some(Self { mma, facts, accumulator, words })
    }

    fn variant(&self) -> Variant {
        Variant {
            kind: self.mma.kind.value,
            ws: self.mma.weight_stationary,
            cta_group: self.mma.cta_group.value,
            sparse: self.mma.sparse.is_some(),
        }
    }

    /// K in elements: the descriptor chooses it, or the kind.
    fn depth(&self) -> Option<u32> {
        let Variant { kind, sparse, .. } = self.variant();
        self.facts.k.or_else(|| mma_shapes::k(kind, sparse))
    }

    /// `128×256×16, e4m3 × e5m2 → f32`, as far as it is known; not if M or N is not.
    pub(crate) fn label(&self) -> Option<String> {
        let Facts { m, n, .. } = self.facts;
        let sizes = format!("{}×{}×{}", m?, n?, self.depth()?);
        let Some((left, right)) = self.facts.a.zip(self.facts.b) else { return Some(sizes) };
        // The block-scaled kinds have one type of D, and their descriptors no field for it.
        let accumulator = self.accumulator.as_ref().map(|name| format!(" → {name}")).unwrap_or_default();
        Some(format!("{sizes}, {left} × {right}{accumulator}"))
    }

    /// All of it, in Markdown.
    pub(crate) fn describe(&self) -> String {
        let mut text = String::new();
        if let Some(label) = self.label() {
            text.push_str(&format!("M×N×K: **{label}**\n\n"));
        }
        let major = |name, transposed: Option<bool>, plain, other| {
            transposed.map(|transposed| format!("{name} is {}", if transposed { other } else { plain }))
        };
        let majors = [
            major("A", self.facts.transpose_a, "K-major", "M-major"),
            major("B", self.facts.transpose_b, "K-major", "N-major"),
        ];
        let majors: Vec<String> = majors.into_iter().flatten().collect();
        if !majors.is_empty() {
            text.push_str(&format!("{}\n\n", majors.join(", ")));
        }
        for (name, word) in &self.words {
            let value = descriptors::hex(word.known, word.layout.width);
            text.push_str(&format!("- `{name}` `{value}`: {}\n", word.line()));
        }
        text.push_str(&format!("\nShapes that such a multiply takes (Table 39):\n\n{}", self.shapes()));
        text
    }

    fn shapes(&self) -> String {
        let mut text = String::from("| M | N | K |\n|---|---|---|\n");
        for Shape { m, n, k, .. } in mma_shapes::shapes(self.variant(), None) {
            let n: Sizes = *n;
            text.push_str(&format!("| {} | {} | {k} |\n", mma_shapes::list(m), mma_shapes::list(&n.all())));
        }
        text
    }
}
