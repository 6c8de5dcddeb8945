//! Reading launch files: what they say of the parameters of a kernel.

use super::maps::tensor_map;
use super::{
    Argument, ArgumentFile, Assume, Directives, Key, Launch, LaunchError, LaunchFile, LaunchShape,
    MOST_WRITTEN, Misfit, NumberError, NumberType, check_count, field_starts, three,
};
use crate::array::{self, ArrayOf, Dtype, Form, OutFile};
use crate::program::Parameter;
use crate::resolve::unit::Unit;
use crate::syntax::ast::Function;

/// What `type` can be.
fn types() -> String {
    let kinds = ["buffer", "tensor_map", "bytes", "struct", "opaque"];
    let all: Vec<String> =
        kinds.into_iter().chain(NumberType::names()).map(|name| format!("`{name}`")).collect();
    format!("`type` is one of {}", all.join(", "))
}

impl Launch {
    /// The launch that a file says, with the bytes of the files that it names.
    ///
    /// # Errors
    /// When it contradicts itself or the kernel.
    pub(crate) fn new(
        unit: &Unit,
        function: &Function,
        parameters: &[Parameter],
        file: &LaunchFile,
        data: &mut dyn FnMut(&str) -> Result<Vec<u8>, LaunchError>,
    ) -> Result<Self, Misfit> {
        let said = Directives::of(unit, function);
        let size = |given: &Option<Vec<u32>>, what| {
            three(given.as_deref(), what).map_err(|error| Misfit::from(error).at(what))
        };
        let shape = LaunchShape {
            block: size(&file.block, "block")?,
            cluster: size(&file.cluster, "cluster")?,
            grid: size(&file.grid, "grid")?,
            dynamic_smem: file.dynamic_smem,
            cooperative: file.cooperative,
        };
        check_count(parameters, file.arguments.len()).map_err(|misfit| {
            let names: Vec<String> = parameters.iter().map(|it| format!("`{}`", it.name)).collect();
            misfit.at("arg").help(match &names[..] {
                [] => "remove the `[[arg]]` tables".to_owned(),
                names => format!("write one `[[arg]]` for each parameter, in order: {}", names.join(", ")),
            })
        })?;
        let (mut outs, mut arrays) = (Vec::new(), Vec::new());
        let arguments = file
            .arguments
            .iter()
            .zip(parameters)
            .enumerate()
            .map(|(index, (given, parameter))| {
                let mut reading =
                    Reading { data, outs: &mut outs, arrays: &mut arrays, place: (index, None) };
                argument(given, parameter, &file.arguments, &mut reading).map_err(|misfit| {
                    let LaunchError(why) = &misfit.error;
                    let error = LaunchError(format!("argument {index} (`{}`): {why}", parameter.name));
                    Misfit { error, ..misfit }.below(&[Key::Name("arg"), Key::Index(index)])
                })
            })
            .collect::<Result<_, Misfit>>()?;
        if let Some(registers) = file.registers.filter(|count| !(1..=MOST_REGISTERS).contains(count)) {
            let error = format!("threads have 1 to {MOST_REGISTERS} registers, not {registers}");
            return Err(Misfit::new(error).at("registers"));
        }
        Self {
            registers: file.registers,
            assume_zeros: file.assume_zeros,
            assumes: match file.assume {
                Some(Assume::Values(values)) => Some(values),
                Some(Assume::Arithmetic(_)) | None => None,
            },
            believes: file.assume != Some(Assume::Arithmetic(false)),
            arguments,
            outs,
            arrays,
            ..Self::of_shape(&said, &shape)
        }
        .fitting()?
        .fitting_kernel(&said)
    }
}

/// Registers of a thread, as `setmaxnreg` counts them.
const MOST_REGISTERS: u32 = 256;

/// What is read of files while arguments are, and which files are written.
pub(super) struct Reading<'r> {
    data: &'r mut dyn FnMut(&str) -> Result<Vec<u8>, LaunchError>,
    outs: &'r mut Vec<OutFile>,
    arrays: &'r mut Vec<ArrayOf>,
    /// The argument, and its field.
    place: (usize, Option<usize>),
}

impl Reading<'_> {
    /// What a buffer begins with, and what it is an array of.
    pub(super) fn contents(
        &mut self,
        given: &ArgumentFile,
    ) -> Result<(Option<Vec<u8>>, Option<Form>), Misfit> {
        let (data, form) = match (&given.data, given.fill) {
            (Some(_), Some(_)) => {
                return Err(Misfit::new("`data` says what the buffer holds, and so does `fill`").at("fill"));
            }
            (Some(path), None) => {
                let file = (self.data)(path).map_err(|error| Misfit::from(error).at("data"))?;
                let (data, form) = array::read(file)
                    .map_err(|LaunchError(why)| Misfit::new(format!("`{path}`: {why}")).at("data"))?;
                if let Some(bytes) = given.bytes.filter(|bytes| *bytes < data.len() as u64) {
                    let error = format!("`{path}` has {} bytes, and the buffer has {bytes}", data.len());
                    return Err(Misfit::new(error).at("bytes"));
                }
                (Some(data), form)
            }
            (None, Some(0)) => (Some(Vec::new()), None),
            (None, Some(byte)) => (Some(vec![byte; given.bytes.unwrap_or(0).min(1 << 28) as usize]), None),
            (None, None) => (None, None),
        };
        let dtype = given.dtype.as_deref().map(Dtype::named).transpose();
        let dtype = dtype.map_err(|error| Misfit::from(error).at("dtype"))?;
        if let (Some(said), Some(form), Some(path)) = (dtype, &form, &given.data)
            && said.bytes != form.dtype.bytes
        {
            return Err(Misfit::new(format!(
                "`{path}` has elements of type `{}`, and `dtype` is `{}`",
                form.dtype.name, said.name
            ))
            .at("dtype"));
        }
        let form = match (form, dtype, &given.shape) {
            (Some(form), dtype, shape) => {
                Some(Form { dtype: dtype.unwrap_or(form.dtype), shape: shape.clone().unwrap_or(form.shape) })
            }
            (None, dtype, Some(shape)) => {
                Some(Form { dtype: dtype.unwrap_or(Dtype::bytes()), shape: shape.clone() })
            }
            (None, Some(dtype), None) => Some(Form { dtype, shape: Vec::new() }),
            (None, None, None) => None,
        };
        Ok((data, form))
    }

    /// Notes what a buffer of so many bytes is an array of, and whether it is written to a file.
    pub(super) fn write(
        &mut self,
        given: &ArgumentFile,
        form: Option<Form>,
        bytes: u64,
    ) -> Result<(), Misfit> {
        let mut form = form.unwrap_or(Form { dtype: Dtype::bytes(), shape: Vec::new() });
        let is_flat = given.shape.is_none() && (form.shape.is_empty() || form.bytes() as u64 != bytes);
        if is_flat {
            form.shape = vec![bytes as usize / form.dtype.bytes];
        }
        let (argument, field) = self.place;
        self.arrays.push(ArrayOf {
            argument,
            field,
            data: given.data.clone(),
            out: given.out.clone(),
            is_given: given.data.is_some() || given.fill.is_some() || !given.fields.is_empty(),
            form: form.clone(),
        });
        let Some(name) = given.out.clone() else { return Ok(()) };
        if bytes > MOST_WRITTEN as u64 {
            return Err(Misfit::new(format!(
                "`{name}`: buffers of at most {} MiB are written, and this has {bytes} bytes",
                MOST_WRITTEN >> 20
            ))
            .at("out"));
        }
        if form.bytes() as u64 > bytes {
            return Err(Misfit::new(format!(
                "`{name}`: {:?} elements of type `{}` take {} bytes, and the buffer has {bytes}",
                form.shape,
                form.dtype.name,
                form.bytes()
            ))
            .at("out"));
        }
        self.outs.push(OutFile { argument, field, name, form });
        Ok(())
    }
}

fn argument(
    given: &ArgumentFile,
    parameter: &Parameter,
    all: &[ArgumentFile],
    reading: &mut Reading<'_>,
) -> Result<Argument, Misfit> {
    let fits = |bytes: usize| {
        if bytes == parameter.bytes as usize {
            Ok(())
        } else {
            let why = format!("it has {bytes} bytes, but the parameter has {}", parameter.bytes);
            Err(Misfit::new(why).at("type"))
        }
    };
    match given.ty.as_str() {
        "buffer" if !given.fields.is_empty() => {
            fits(8)?;
            for (key, is_given) in [("data", given.data.is_some()), ("fill", given.fill.is_some())] {
                if is_given {
                    return Err(Misfit::new(format!("a buffer with `fields` has no `{key}`")).at(key));
                }
            }
            let place = reading.place;
            let (fields, end) = fields(given, parameter, reading)?;
            reading.place = place;
            if end as usize > MOST_WRITTEN {
                let why = format!("the fields of a buffer have at most {MOST_WRITTEN} bytes, not {end}");
                return Err(Misfit::new(why).at("fields"));
            }
            let bytes = given.bytes.unwrap_or_else(|| end.into());
            if bytes < u64::from(end) || bytes > MOST_OF_BUFFER {
                let why =
                    format!("its fields have {end} bytes, and a buffer at most 2^34, but `bytes` is {bytes}");
                return Err(Misfit::new(why).at("bytes"));
            }
            reading.write(given, None, bytes)?;
            Ok(Argument::Pointer { bytes, fields })
        }
        "buffer" => {
            fits(8)?;
            let (data, form) = reading.contents(given)?;
            let bytes = match (given.bytes, &data, &form) {
                (Some(bytes), ..) => bytes,
                (None, Some(data), _) if given.data.is_some() => data.len() as u64,
                (None, _, Some(form)) if given.shape.is_some() => form.bytes() as u64,
                (None, Some(data), _) => data.len() as u64,
                (None, None, _) => {
                    let why = "a buffer has `bytes`, `data`, `fields`, or `dtype` and `shape`";
                    return Err(Misfit::new(why));
                }
            };
            if bytes > MOST_OF_BUFFER {
                return Err(Misfit::new(format!("a buffer has at most 2^34 bytes, not {bytes}")).at("bytes"));
            }
            reading.write(given, form, bytes)?;
            Ok(Argument::Buffer { bytes, data })
        }
        "bytes" => {
            let text = given.hex.as_deref().unwrap_or_default();
            let digits: String = text.chars().filter(|letter| !letter.is_whitespace()).collect();
            let bytes: Option<Vec<u8>> = (0..digits.len())
                .step_by(2)
                .map(|at| digits.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok()))
                .collect();
            let bytes = bytes.ok_or_else(|| Misfit::new("`hex` is pairs of hexadecimal digits").at("hex"))?;
            fits(bytes.len()).map_err(|misfit| Misfit { keys: vec![Key::Name("hex")], ..misfit })?;
            Ok(Argument::Bytes(bytes))
        }
        "opaque" => Ok(Argument::Opaque),
        "struct" => {
            let (fields, end) = fields(given, parameter, reading)?;
            if end > parameter.bytes {
                fits(end as usize)?;
            }
            Ok(Argument::Struct(fields))
        }
        "tensor_map" => {
            fits(128)?;
            tensor_map(given, all, reading)
        }
        ty => {
            let number = number_type(ty)?;
            let value = given.value.ok_or_else(|| Misfit::new(format!("a `{ty}` has a `value`")))?;
            fits(number.bytes() as usize)?;
            let wrong =
                |NumberError { message, help }: NumberError| Misfit::new(message).at("value").help(help);
            Ok(Argument::Bytes(number.encode(value).map_err(wrong)?))
        }
    }
}

/// Bytes of a buffer.
const MOST_OF_BUFFER: u64 = 1 << 34;

/// Fields: where they are, and how many bytes they have.
type Fields = Vec<(u32, u32, Argument)>;

/// The fields of a struct, or of what a buffer holds, and where the last one ends.
fn fields(
    given: &ArgumentFile,
    parameter: &Parameter,
    reading: &mut Reading<'_>,
) -> Result<(Fields, u32), Misfit> {
    let (mut end, mut fields) = (0u32, Vec::new());
    for (index, field) in given.fields.iter().enumerate() {
        reading.place.1 = Some(index);
        let below = |misfit: Misfit| misfit.below(&[Key::Name("fields"), Key::Index(index)]);
        let (bytes, align) = field_size(field).map_err(below)?;
        let offset = field.offset.unwrap_or_else(|| end.next_multiple_of(align));
        field_starts(index, offset, end).map_err(|why| below(Misfit::from(why).at("offset")))?;
        let place = Parameter { offset: 0, bytes, align, is_array: false, ty: None, ..parameter.clone() };
        fields.push((offset, bytes, argument(field, &place, &[], reading).map_err(below)?));
        end = offset.saturating_add(bytes);
    }
    Ok((fields, end))
}

/// The type of a number.
fn number_type(ty: &str) -> Result<NumberType, Misfit> {
    NumberType::named(ty)
        .ok_or_else(|| Misfit::new(format!("`{ty}` is no type of an argument")).at("type").help(types()))
}

/// The bytes of a field of a struct, and what its start is a multiple of.
fn field_size(field: &ArgumentFile) -> Result<(u32, u32), Misfit> {
    if !field.fields.is_empty() {
        let why = "a field has no `fields`: give what holds it as an argument of its own";
        return Err(Misfit::new(why).at("fields"));
    }
    Ok(match field.ty.as_str() {
        "buffer" => (8, 8),
        "tensor_map" => (128, 64),
        "bytes" => ((field.hex.as_deref().unwrap_or_default().len() as u32) / 2, 1),
        "struct" | "opaque" => {
            let why = format!("a `{}` is no field of a struct", field.ty);
            return Err(Misfit::new(why).at("type"));
        }
        ty => {
            let bytes = number_type(ty)?.bytes();
            (bytes, bytes)
        }
    })
}
