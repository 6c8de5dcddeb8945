//! What a kernel is launched with.

use ptx_simulation::array::{ArrayOf, Dtype, Form, OutFile};
use ptx_simulation::launch::{Argument as Placed, Number, NumberType, field_starts};
use ptx_simulation::memory::Memory;
use ptx_simulation::tensor_map::TensorMap;
use ptx_simulation::{ParameterInfo, Word, WordKind};

use crate::{Buffer, LaunchError};

/// An argument of a kernel.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Argument {
    /// An address in a buffer of the device. It may be 0, which is no buffer.
    Address {
        /// The address.
        address: u64,
        /// What the memory is an array of, for what is said of its elements.
        array: Option<(Dtype, Vec<usize>)>,
        /// What the array is called, for what is said of its elements; otherwise it has the name of the parameter.
        name: Option<String>,
    },
    /// An integer, converted to the type of the parameter.
    Integer(i128),
    /// A number, converted to the type of the parameter.
    Float(f64),
    /// The bytes of a number or a struct.
    Bytes(Vec<u8>),
    /// A tensor map.
    TensorMap(Map),
    /// A struct.
    Struct(Vec<Field>),
}

/// A tensor map over memory of the device.
#[derive(Clone, Debug)]
pub struct Map {
    /// What it says. Its base is the address of the tensor.
    pub map: TensorMap,
    /// What the memory is an array of.
    pub array: Option<(Dtype, Vec<usize>)>,
    /// What the array is called.
    pub name: Option<String>,
}

/// A field of a struct.
#[derive(Clone, Debug)]
pub struct Field {
    /// Its first byte in the struct.
    pub offset: u32,
    /// How many bytes it has.
    pub bytes: u32,
    /// What it holds. No struct.
    pub value: Argument,
}

impl From<&Buffer> for Argument {
    fn from(buffer: &Buffer) -> Self {
        Self::Address { address: buffer.address, array: None, name: None }
    }
}

/// The arguments of a launch, as the simulator takes them, and the arrays that are among them.
#[derive(Debug, Default)]
pub(crate) struct Arguments {
    pub(crate) all: Vec<Placed>,
    pub(crate) arrays: Vec<ArrayOf>,
    pub(crate) outs: Vec<OutFile>,
}

impl Arguments {
    /// Converts what is given for a parameter.
    pub(crate) fn add(
        &mut self,
        parameter: &ParameterInfo,
        given: &Argument,
        memory: &Memory,
    ) -> Result<(), LaunchError> {
        let index = self.all.len();
        let wrong =
            |message: String| LaunchError::Argument { index, parameter: parameter.name.clone(), message };
        let what = format!("`.{}`{}", parameter.ty, if parameter.is_array { " array" } else { "" });
        let fits = |bytes: u32, value: &str| {
            if bytes == parameter.bytes {
                Ok(())
            } else {
                Err(wrong(format!(
                    "{value} has {bytes} bytes, but the parameter is {what} of {} bytes",
                    parameter.bytes
                )))
            }
        };
        let argument = match given {
            Argument::Struct(fields) => {
                let mut placed = Vec::with_capacity(fields.len());
                let mut end = 0;
                for (number, field) in fields.iter().enumerate() {
                    field_starts(number, field.offset, end).map_err(|error| wrong(error.0))?;
                    end = field.offset.saturating_add(field.bytes);
                    let value = self
                        .value(&field.value, (index, Some(number)), (field.bytes, false, "b64"), memory)
                        .map_err(|message| wrong(format!("field {number}: {message}")))?;
                    placed.push((field.offset, field.bytes, value));
                }
                if end > parameter.bytes {
                    fits(end, "a struct")?;
                }
                let is_in = |word: &Word| {
                    let (from, to) = (word.offset, word.offset + word.bytes);
                    fields.iter().any(|it| it.offset <= from && to <= it.offset.saturating_add(it.bytes))
                };
                if let Some(word) = parameter.words.iter().find(|word| !is_in(word)) {
                    return Err(wrong(format!(
                        "the kernel reads {} bytes at {} of it, which no field has{}",
                        word.bytes,
                        word.offset,
                        described(parameter)
                    )));
                }
                Placed::Struct(placed)
            }
            Argument::Address { .. } => {
                fits(8, "an address")?;
                self.one(given, parameter, memory).map_err(wrong)?
            }
            Argument::TensorMap(_) => {
                fits(128, "a tensor map")?;
                self.one(given, parameter, memory).map_err(wrong)?
            }
            Argument::Bytes(bytes) => {
                fits(bytes.len() as u32, "the value")?;
                self.one(given, parameter, memory).map_err(wrong)?
            }
            Argument::Integer(_) | Argument::Float(_) => {
                if parameter.is_array || !matches!(parameter.bytes, 1 | 2 | 4 | 8) {
                    let words = described(parameter);
                    return Err(wrong(format!(
                        "a number is given, but the parameter is {what} of {} bytes{words}",
                        parameter.bytes
                    )));
                }
                self.one(given, parameter, memory).map_err(wrong)?
            }
        };
        self.all.push(argument);
        Ok(())
    }

    fn one(
        &mut self,
        given: &Argument,
        parameter: &ParameterInfo,
        memory: &Memory,
    ) -> Result<Placed, String> {
        let is_address = parameter.words.iter().any(|word| word.kind == WordKind::Address);
        let place = (self.all.len(), None);
        self.value(given, place, (parameter.bytes, is_address, parameter.ty), memory)
    }

    /// Converts a value to so many bytes, which may be known to be used as an address.
    fn value(
        &mut self,
        given: &Argument,
        place: (usize, Option<usize>),
        (bytes, is_address, ty): (u32, bool, &str),
        memory: &Memory,
    ) -> Result<Placed, String> {
        match given {
            Argument::Address { address: 0, .. } => Ok(Placed::Bytes(vec![0; 8])),
            Argument::Address { address, array, name } => {
                let rest = memory.rest(*address).map_err(|error| error.to_string())?;
                self.note(place, array.as_ref(), name.as_deref(), rest);
                Ok(Placed::Placed { address: *address, bytes: rest, map: None })
            }
            Argument::TensorMap(Map { map, array, name }) => {
                let rest = memory.rest(map.base).map_err(|error| error.to_string())?;
                if map.bytes() > rest {
                    return Err(format!(
                        "the tensor has {} bytes, but there are {rest} from its address to the end of the buffer",
                        map.bytes()
                    ));
                }
                self.note(place, array.as_ref(), name.as_deref(), rest);
                Ok(Placed::Placed { address: map.base, bytes: rest, map: Some(map.clone()) })
            }
            Argument::Bytes(data) if data.len() == bytes as usize => Ok(Placed::Bytes(data.clone())),
            Argument::Bytes(data) => Err(format!("{} bytes are given for {bytes}", data.len())),
            Argument::Integer(value) if is_address && *value != 0 => Err(format!(
                "the kernel uses it as an address, and {value} is none: pass an array or a buffer"
            )),
            Argument::Integer(value) => number(Number::Integer(*value), bytes, ty),
            Argument::Float(value) => number(Number::Float(*value), bytes, ty),
            Argument::Struct(_) => Err("a struct in a struct: give its fields instead".to_owned()),
        }
    }

    /// Notes what is an array of what.
    fn note(
        &mut self,
        (argument, field): (usize, Option<usize>),
        array: Option<&(Dtype, Vec<usize>)>,
        name: Option<&str>,
        bytes: u64,
    ) {
        let form = match array {
            Some((dtype, shape)) => Form { dtype: *dtype, shape: shape.clone() },
            None => Form { dtype: Dtype::bytes(), shape: vec![bytes as usize] },
        };
        let data = name.map(str::to_owned);
        self.arrays.push(ArrayOf { argument, field, data, out: None, is_given: true, form: form.clone() });
        if let Some(name) = name {
            self.outs.push(OutFile { argument, field, name: name.to_owned(), form });
        }
    }
}

/// The bytes of a number for a parameter of a type.
fn number(number: Number, bytes: u32, ty: &str) -> Result<Placed, String> {
    let named = NumberType::of_parameter(ty).filter(|it| it.bytes() == bytes);
    let ty = match (named, bytes) {
        (Some(ty), _) => ty,
        (None, 1 | 2 | 4 | 8) => NumberType::Bits(bytes),
        (None, _) => return Err(format!("a number has 1, 2, 4 or 8 bytes, not {bytes}")),
    };
    ty.encode(number).map(Placed::Bytes).map_err(|error| error.to_string())
}

/// What the kernel reads of a struct.
fn described(parameter: &ParameterInfo) -> String {
    if parameter.may_be_tensor_map && parameter.words.is_empty() {
        return ": a tensor map".to_owned();
    }
    if parameter.words.is_empty() {
        return String::new();
    }
    let word = |word: &Word| {
        let kind = if word.kind == WordKind::Address { "an address" } else { "a number" };
        format!("{kind} of {} bytes at {}", word.bytes, word.offset)
    };
    let words: Vec<String> = parameter.words.iter().map(word).collect();
    format!("; the kernel reads {}", words.join(", "))
}
