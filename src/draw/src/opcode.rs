//! The words of an instruction: as they stand in PTX, or one by one.
//!
//! Of a statement only the opcode counts. What an instruction must be written with beside what its picture needs
//! (`.sync`, `.aligned`) may be missing.

use crate::copies::Copied;
use crate::error::DrawError;
use crate::isa::vocabulary::{CpShape, SrcFormat, WarpMulticast};
use crate::isa::vocabulary::{CtaGroup, Kind, LdShape, Num, Operation, Qualifier, ScaleVectorSize, Slot};
use crate::registers::Moved;

/// An operation and its qualifiers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    /// The operation.
    pub operation: Operation,
    /// The qualifiers.
    pub qualifiers: Vec<Qualifier>,
}

/// What a multiply's words say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MultiplyWords {
    /// Its kind, if it is written.
    pub kind: Option<Kind>,
    /// The CTAs that multiply, if that is written.
    pub cta_group: Option<CtaGroup>,
    /// Whether it is weight-stationary.
    pub ws: bool,
    /// Whether A is sparse.
    pub sparse: bool,
    /// The scale vector size, if it is written.
    pub scale_vector_size: Option<ScaleVectorSize>,
}

/// Before each instruction of tcgen05.
const PREFIX: &str = "tcgen05.";

impl Words {
    /// Whether a text is meant as a statement.
    pub fn is_statement(text: &str) -> bool {
        text.split_whitespace().any(|word| word.starts_with(PREFIX))
    }

    /// Those of a statement: `@p tcgen05.ld.sync.aligned.16x256b.x4.b32 {...}, [taddr];`
    ///
    /// # Errors
    /// When it is no instruction of tcgen05, or has a word that none of them has.
    pub fn of_statement(text: &str) -> Result<Self, DrawError> {
        let opcode = text.split_whitespace().find_map(|word| word.strip_prefix(PREFIX));
        let opcode = opcode.ok_or_else(|| {
            DrawError::helped(
                "this is no instruction of tcgen05",
                "write its opcode, such as `tcgen05.ld.sync.aligned.16x256b.x4.b32`",
            )
        })?;
        let opcode = opcode.trim_end_matches(';');
        let Some((operation, rest)) = longest(opcode) else {
            let word = opcode.split('.').next().unwrap_or_default();
            return Err(DrawError::new(format!("there is no `{PREFIX}{word}`")));
        };
        let words = rest.split('.').filter(|word| !word.is_empty());
        Self::new(operation, words)
    }

    /// Those that follow an operation one by one, with or without dots.
    ///
    /// # Errors
    /// When one is no word of tcgen05.
    pub fn new<'w>(operation: Operation, words: impl Iterator<Item = &'w str>) -> Result<Self, DrawError> {
        let mut qualifiers: Vec<Qualifier> = Vec::new();
        for word in words.flat_map(|word| word.split('.')).filter(|word| !word.is_empty()) {
            let Some(qualifier) = Qualifier::parse(word) else {
                let expected = match operation {
                    Operation::Ld | Operation::St => {
                        Some("the words are a shape and a repetition: `16x256b x4`")
                    }
                    Operation::Cp => {
                        Some("the words are a shape, and a multicast where it needs one: `32x128b warpx4`")
                    }
                    _ => None,
                };
                let message = format!("`{word}` is no word of tcgen05");
                return Err(DrawError { message, help: expected.map(str::to_owned) });
            };
            if let Some(other) = qualifiers.iter().find(|it| it.slot() == qualifier.slot()) {
                let message =
                    format!("`.{}` and `.{}` exclude each other", other.spelling(), qualifier.spelling());
                return Err(DrawError::new(message));
            }
            qualifiers.push(qualifier);
        }
        Ok(Self { operation, qualifiers })
    }

    fn get<T: TryFrom<Qualifier>>(&self) -> Option<T> {
        self.qualifiers.iter().find_map(|it| T::try_from(*it).ok())
    }

    fn has(&self, slot: Slot) -> bool {
        self.qualifiers.iter().any(|it| it.slot() == slot)
    }

    /// The load or store that they are.
    ///
    /// # Errors
    /// When they are another instruction, or lack something.
    pub fn moved(&self, split: Option<u32>) -> Result<Moved, DrawError> {
        let store = match self.operation {
            Operation::St => true,
            Operation::Ld | Operation::LdRed => false,
            _ => return Err(self.other("a load or a store")),
        };
        let shape: LdShape = self.get().ok_or_else(|| self.lacks("a shape", Slot::LdShape))?;
        let num: Num = self.get().ok_or_else(|| self.lacks("a repetition", Slot::Num))?;
        let packed = self.has(if store { Slot::Unpack } else { Slot::Pack });
        Ok(Moved { shape, num, packed, store, split })
    }

    /// The copy that they are.
    ///
    /// # Errors
    /// When they are another instruction, or lack something.
    pub fn copied(&self) -> Result<Copied, DrawError> {
        if self.operation != Operation::Cp {
            return Err(self.other("a copy"));
        }
        let shape: CpShape = self.get().ok_or_else(|| self.lacks("a shape", Slot::CpShape))?;
        let multicast: Option<WarpMulticast> = self.get();
        let decompressed = self.get::<SrcFormat>().map(|format| match format {
            SrcFormat::B4x16P64 => 4,
            SrcFormat::B6x16P32 => 6,
        });
        if decompressed.is_none() && self.has(Slot::DstFormat) {
            return Err(self.lacks("a source format", Slot::SrcFormat));
        }
        Ok(Copied { shape, multicast, decompressed, cta_group: self.get().unwrap_or(CtaGroup::One) })
    }

    /// What they say of a multiply.
    ///
    /// # Errors
    /// When they are another instruction.
    pub fn multiply(&self) -> Result<MultiplyWords, DrawError> {
        let ws = match self.operation {
            Operation::Mma => false,
            Operation::MmaWs => true,
            _ => return Err(self.other("a multiply")),
        };
        Ok(MultiplyWords {
            kind: self.get(),
            cta_group: self.get(),
            ws,
            sparse: self.has(Slot::Sparse),
            scale_vector_size: self.get(),
        })
    }

    #[cold]
    fn other(&self, wanted: &str) -> DrawError {
        DrawError::new(format!("`{PREFIX}{}` is not {wanted}", self.operation))
    }

    #[cold]
    fn lacks(&self, what: &str, slot: Slot) -> DrawError {
        let all: Vec<String> = slot.qualifiers().iter().map(|it| format!("`{}`", it.spelling())).collect();
        DrawError::helped(
            format!("`{PREFIX}{}` needs {what}", self.operation),
            format!("there are {}", all.join(", ")),
        )
    }
}

/// The operation that an opcode starts with, the longest one, and what follows.
fn longest(opcode: &str) -> Option<(Operation, &str)> {
    let ends = opcode.match_indices('.').map(|(at, _)| at).chain([opcode.len()]);
    let mut found = ends.filter_map(|end| Some((opcode[..end].parse::<Operation>().ok()?, &opcode[end..])));
    found.next_back()
}
