//! The parameters of a kernel, and what its code does with each word of them.

use std::collections::BTreeMap;

use super::Kernel;
use crate::program::{Action, Operand, Where};
use crate::tensor_map;

/// A parameter of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParameterInfo {
    /// Its name.
    pub name: String,
    /// The type of its elements in PTX, without the dot: `u64`, `f32`, `b8`.
    pub ty: &'static str,
    /// Its first byte among all parameters.
    pub offset: u32,
    /// How many bytes it has.
    pub bytes: u32,
    /// What its first byte is a multiple of.
    pub align: u32,
    /// Whether it is an array of bytes: a struct, or a tensor map.
    pub is_array: bool,
    /// Whether it is as large as a tensor map, and aligned like one.
    pub may_be_tensor_map: bool,
    /// What the kernel loads of it, by the first bytes.
    pub words: Vec<Word>,
}

/// A part of a parameter that the kernel loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word {
    /// Its first byte in the parameter.
    pub offset: u32,
    /// How many bytes it has.
    pub bytes: u32,
    /// What it is used as.
    pub kind: WordKind,
}

/// What a word of a parameter is used as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordKind {
    /// An address: memory is accessed there.
    Address,
    /// Anything else, as far as the kernel's code says.
    Number,
}

/// A part of a parameter that the kernel loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) bytes: u32,
    /// Whether it may be an address, as nothing says that it is a number.
    pub(crate) is_pointer: bool,
    /// Whether memory is accessed there.
    pub(crate) is_address: bool,
}

impl Kernel<'_> {
    /// Its parameters, in their order.
    pub fn parameters(&self) -> Vec<ParameterInfo> {
        let fields = self.fields();
        let info = |it: &crate::program::Parameter| {
            let own = fields.range(it.offset..it.offset.saturating_add(it.bytes));
            let words = own.map(|(at, field)| Word {
                offset: at - it.offset,
                bytes: field.bytes,
                kind: if field.is_address { WordKind::Address } else { WordKind::Number },
            });
            ParameterInfo {
                name: it.name.clone(),
                ty: it.ty.map_or("b8", Into::into),
                offset: it.offset,
                bytes: it.bytes,
                align: it.align,
                is_array: it.is_array,
                may_be_tensor_map: it.bytes as usize == tensor_map::BYTES && it.align >= 64,
                words: words.collect(),
            }
        };
        self.program.parameters.iter().map(info).collect()
    }

    /// What the kernel loads of its parameters, by where that starts; nothing where loads do not agree.
    pub(crate) fn fields(&self) -> BTreeMap<u32, Field> {
        let program = &self.program;
        let mut fields: BTreeMap<u32, Field> = BTreeMap::new();
        for step in &program.steps {
            let Action::Load(access) = &step.action else { continue };
            let (Where::Param, Operand::Constant(constant)) = (access.space, access.address.base) else {
                continue;
            };
            let start = program.constants[constant as usize][0].wrapping_add_signed(access.address.offset);
            for index in 0..access.registers.len {
                let at = start + u64::from(index) * u64::from(access.bytes);
                let Ok(at) = u32::try_from(at) else { continue };
                let is_pointer = access.bytes == 8 && access.pointers >> index.min(31) & 1 != 0;
                let is_address = access.bytes == 8 && access.addresses >> index.min(31) & 1 != 0;
                let field = Field { bytes: access.bytes.into(), is_pointer, is_address };
                // The first load says what it is.
                fields.entry(at).or_insert(field);
            }
        }
        fields
    }
}
