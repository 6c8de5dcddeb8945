//! What a kernel is launched with.

use ptx_simulation::array::{ArrayOf, Dtype, Form, OutFile};
use ptx_simulation::launch::Argument as Placed;
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
                    if field.offset < end {
                        return Err(wrong(format!(
                            "field {number} starts at byte {}, but the field before it ends at byte {end}",
                            field.offset
                        )));
                    }
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
            Argument::Integer(value) if matches!(ty, "f32" | "f64") => float(*value as f64, ty),
            Argument::Integer(value) => {
                if is_address && *value != 0 {
                    return Err(format!(
                        "the kernel uses it as an address, and {value} is none: pass an array or a buffer"
                    ));
                }
                integer(*value, bytes, ty.starts_with('s'))
            }
            Argument::Float(value) => float(*value, ty),
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

/// Types of C without a sign and with one are the same in PTX, unless it says that there is one.
fn integer(value: i128, bytes: u32, is_signed: bool) -> Result<Placed, String> {
    let bits = bytes.clamp(1, 8) * 8;
    let (least, most) = (-(1_i128 << (bits - 1)), (1_i128 << (bits - u32::from(is_signed))) - 1);
    if !matches!(bytes, 1 | 2 | 4 | 8) {
        return Err(format!("an integer has 1, 2, 4 or 8 bytes, not {bytes}"));
    }
    if !(least..=most).contains(&value) {
        return Err(format!("{value} does not fit {bits} bits: they hold {least} to {most}"));
    }
    Ok(Placed::Bytes(value.to_le_bytes()[..bytes as usize].to_vec()))
}

fn float(value: f64, ty: &str) -> Result<Placed, String> {
    match ty {
        "f32" if value.is_finite() && (value as f32).is_infinite() => {
            Err(format!("{value:e} does not fit an f32: write `inf` if that is meant"))
        }
        "f32" => Ok(Placed::Bytes((value as f32).to_le_bytes().to_vec())),
        "f64" => Ok(Placed::Bytes(value.to_le_bytes().to_vec())),
        _ => Err(format!(
            "the parameter is `.{ty}`, which does not say how {value} is written in it: give a number of that type, or bytes"
        )),
    }
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
