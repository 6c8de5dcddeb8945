//! Arguments of launches, as the part in Python hands them over.

use ptx_device::{
    Argument, Dtype, ElementType, Field, Fill, Interleave, Map, Swizzle, TensorMap, Wide, Window,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyInt;

use crate::errors::LaunchError;

/// What an array holds, if there is a name for it, and its shape.
type Form = (String, Vec<usize>);

/// An argument.
#[derive(FromPyObject)]
#[allow(clippy::large_enum_variant, reason = "there are a few of them, for a moment")]
pub(crate) enum Given {
    /// `("address", address, form, name)`
    Address(String, u64, Option<Form>, Option<String>),
    /// `("map", form, map)`
    Map(String, Option<Form>, GivenMap),
    /// `("struct", fields)`
    Struct(String, Vec<(u32, u32, Given)>),
    /// Bytes.
    Bytes(Vec<u8>),
    /// An integer.
    Integer(#[pyo3(from_py_with = integer)] i128),
    /// Another number.
    Float(f64),
}

/// Python 3.9 takes a float for an integer, too.
fn integer(value: &Bound<'_, PyAny>) -> PyResult<i128> {
    value.cast::<PyInt>()?.extract()
}

/// Both corners, channels and pixels, and whether pixels are taken along W alone.
type GivenWindow = (Vec<i32>, Vec<i32>, u32, u32, Option<String>);

/// A tensor map, the innermost dimension first.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct GivenMap {
    name: Option<String>,
    element: String,
    base: u64,
    dims: Vec<u32>,
    strides: Vec<u64>,
    box_dims: Vec<u32>,
    element_strides: Vec<u32>,
    swizzle: String,
    interleave: String,
    fill: String,
    /// In im2col mode.
    window: Option<GivenWindow>,
}

impl GivenMap {
    fn map(self, form: Option<(Dtype, Vec<usize>)>) -> PyResult<Map> {
        let unknown = |what: &str, name: &str, all: &str| {
            LaunchError::new_err(format!("`{name}` is no {what} of a tensor map; there are {all}"))
        };
        let element = ElementType::named(&self.element).ok_or_else(|| {
            let all: Vec<&str> = ElementType::names().collect();
            unknown("element", &self.element, &all.join(", "))
        })?;
        let swizzle = Swizzle::named(&self.swizzle)
            .ok_or_else(|| unknown("swizzle", &self.swizzle, &Swizzle::names().join(", ")))?;
        let interleave = match self.interleave.as_str() {
            "none" => Interleave::None,
            "16B" => Interleave::Bytes16,
            "32B" => Interleave::Bytes32,
            other => return Err(unknown("interleave", other, "none, 16B, 32B")),
        };
        let fill = match self.fill.as_str() {
            "zero" => Fill::Zero,
            "nan" => Fill::Nan,
            other => return Err(unknown("fill", other, "zero, nan")),
        };
        let window = match self.window {
            None => None,
            Some((lower, upper, channels, pixels, wide)) => {
                let wide = match wide.as_deref() {
                    None => None,
                    Some("W") => Some(Wide::W),
                    Some("W128") => Some(Wide::W128),
                    Some(other) => return Err(unknown("wide", other, "W, W128")),
                };
                Some(Window { lower, upper, channels, pixels, wide })
            }
        };
        let is_boxed = window.is_none();
        let map = TensorMap {
            element,
            base: self.base,
            dims: self.dims,
            strides: self.strides,
            box_dims: if is_boxed { self.box_dims } else { Vec::new() },
            steps: self.element_strides,
            fill,
            window,
            swizzle,
            interleave,
        };
        map.check().map_err(|why| LaunchError::new_err(format!("this is no tensor map: {why}")))?;
        Ok(Map { map, array: form, name: self.name })
    }
}

fn form(form: Option<Form>) -> Option<(Dtype, Vec<usize>)> {
    // What has no type here is bytes.
    form.and_then(|(dtype, shape)| Some((Dtype::named(&dtype).ok()?, shape)))
}

impl Given {
    pub(crate) fn argument(self) -> PyResult<Argument> {
        Ok(match self {
            Self::Address(kind, address, array, name) if kind == "address" => {
                Argument::Address { address, array: form(array), name }
            }
            Self::Map(kind, array, map) if kind == "map" => Argument::TensorMap(map.map(form(array))?),
            Self::Struct(kind, fields) if kind == "struct" => {
                let field = |(offset, bytes, value): (u32, u32, Self)| {
                    Ok(Field { offset, bytes, value: value.argument()? })
                };
                Argument::Struct(fields.into_iter().map(field).collect::<PyResult<_>>()?)
            }
            Self::Bytes(bytes) => Argument::Bytes(bytes),
            Self::Integer(value) => Argument::Integer(value),
            Self::Float(value) => Argument::Float(value),
            Self::Address(kind, ..) | Self::Map(kind, ..) | Self::Struct(kind, _) => {
                return Err(PyValueError::new_err(format!("`{kind}` is no kind of an argument")));
            }
        })
    }
}
