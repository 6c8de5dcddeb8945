//! What a kernel is launched with: said in a file, or assumed.

use serde::Deserialize;

use super::array::{self, Dtype, Form, OutFile};
use super::program::Parameter;
use super::tensor_map::{ElementType, Fill, Interleave, Swizzle, TensorMap, Window};
use crate::isa::hierarchy::{CTAS_OF_CLUSTER, THREADS_OF_CTA};
use crate::resolve::launch_bounds::{Said, known};
use crate::resolve::unit::Unit;
use crate::syntax::ast::{Function, Type};
use crate::words::declaration;

/// A launch as a file says it. All is optional that the module says, too.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LaunchFile {
    /// The name of the kernel.
    pub kernel: Option<String>,
    /// CTAs.
    pub grid: Option<Vec<u32>>,
    /// Threads of a CTA.
    pub block: Option<Vec<u32>>,
    /// CTAs of a cluster.
    pub cluster: Option<Vec<u32>>,
    /// Bytes of dynamic shared memory.
    #[serde(default)]
    pub dynamic_smem: u32,
    /// Registers of each thread at its start.
    pub registers: Option<u32>,
    /// Whether what nobody says and nothing computes is taken for zeros, instead of ending the run where
    /// something depends on it.
    #[serde(default)]
    pub assume_zeros: bool,
    /// The arguments.
    #[serde(default, rename = "arg")]
    pub arguments: Vec<ArgumentFile>,
}

/// An argument as a file says it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArgumentFile {
    /// `buffer`, `tensor_map`, `bytes`, or the type of a number.
    #[serde(rename = "type")]
    pub ty: String,
    /// Bytes of a buffer.
    pub bytes: Option<u64>,
    /// The file whose bytes a buffer holds.
    pub data: Option<String>,
    /// The file that a buffer, or the buffer of a tensor map, is written to when the kernel has ended.
    pub out: Option<String>,
    /// The type of the elements of a buffer: that of `data`, if that is an array.
    pub dtype: Option<String>,
    /// Elements of a buffer along each axis, the outermost first, as `NumPy` has them.
    pub shape: Option<Vec<usize>>,
    /// The byte that a buffer is filled with.
    pub fill: Option<u8>,
    /// A number.
    pub value: Option<Number>,
    /// The type of a tensor's elements.
    pub element: Option<String>,
    /// Elements of a tensor, the innermost dimension first.
    pub dims: Option<Vec<u32>>,
    /// Bytes from one to the next, but for the innermost dimension.
    pub strides_bytes: Option<Vec<u64>>,
    /// Elements of a box.
    #[serde(rename = "box")]
    pub box_dims: Option<Vec<u32>>,
    /// Of each dimension, every so many-th element of a box is taken; default: all.
    pub element_strides: Option<Vec<u32>>,
    /// What stands for elements out of bounds.
    pub oob_fill: Option<Fill>,
    /// In im2col mode: where the box that the filter's corner walks in starts, from the start of the image on, and ends,
    /// from its end on. A number for each dimension but the first and the last.
    pub lower_corner: Option<Vec<i32>>,
    /// Its end.
    pub upper_corner: Option<Vec<i32>>,
    /// In im2col mode: channels of a pixel.
    pub channels_per_pixel: Option<u32>,
    /// In im2col mode: pixels of a column.
    pub pixels_per_column: Option<u32>,
    /// How a box is swizzled.
    pub swizzle: Option<Swizzle>,
    /// How elements are interleaved.
    pub interleave: Option<Interleave>,
    /// Which argument is the buffer of a tensor, from 0.
    pub base: Option<usize>,
    /// The bytes of a struct, in hexadecimal.
    pub hex: Option<String>,
    /// The fields of a struct, in their order.
    #[serde(default)]
    pub fields: Vec<ArgumentFile>,
}

/// A number of a launch file.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(untagged)]
pub enum Number {
    /// An integer.
    Integer(i64),
    /// Another number.
    Float(f64),
}

/// A launch.
#[derive(Clone, Debug)]
pub struct Launch {
    /// CTAs.
    pub grid: [u32; 3],
    /// Threads of a CTA.
    pub block: [u32; 3],
    /// CTAs of a cluster.
    pub cluster: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub dynamic_smem: u32,
    /// Registers of each thread at its start, where that is said.
    pub registers: Option<u32>,
    /// Whether what is not known is taken for zeros.
    pub assume_zeros: bool,
    /// The arguments, in the order of the parameters.
    pub arguments: Vec<Argument>,
    /// The files that buffers are written to in the end.
    pub outs: Vec<OutFile>,
    /// What of it nobody has said.
    pub assumed: Vec<String>,
}

/// An argument.
#[derive(Clone, Debug)]
pub enum Argument {
    /// The address of a buffer.
    Buffer {
        /// Its size.
        bytes: u64,
        /// What it holds, and then zeros; nothing if that is not known.
        data: Option<Vec<u8>>,
    },
    /// The bytes of a number or a struct.
    Bytes(Vec<u8>),
    /// A tensor map, over the buffer of an argument or one of its own.
    TensorMap {
        /// What it says; its base is filled in.
        map: TensorMap,
        /// Which argument is the buffer.
        base: Option<usize>,
        /// Bytes of a buffer of its own.
        bytes: u64,
        /// What that holds, and then zeros; nothing if that is not known.
        data: Option<Vec<u8>>,
    },
    /// A struct: where its fields are, and how many bytes they have.
    Struct(Vec<(u32, u32, Argument)>),
    /// Something whose bytes are not known.
    Opaque,
}

/// Why a launch cannot be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchError(pub String);

impl std::fmt::Display for LaunchError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for LaunchError {}

/// Bytes of shared memory that a CTA can have.
pub const MOST_SHARED: u32 = 227 * 1024;
/// Larger buffers are not written to files.
pub(crate) const MOST_WRITTEN: usize = 1 << 26;
/// What a buffer has of which nothing is said.
const ASSUMED_BUFFER: u64 = 1 << 32;
/// Sets of what is assumed that are looked at, if launches of some are none.
pub(crate) const MOST_SETS: usize = 6;
/// The values that numbers get, set by set.
const ASSUMED_NUMBERS: [u64; MOST_SETS] = [512, 256, 384, 128, 8, 16];
/// How many clusters the grid has along its first axis, where one does too much work.
pub(crate) const MANY_CLUSTERS: u32 = 1 << 16;

/// How many parts of the work a cluster has where it is to have several: more than accumulators and buffers of what it
/// hands on, so that each is used again.
pub(crate) const FEW_PARTS: u32 = 5;

/// The threads that a CTA has, where its kernel does not say.
const ASSUMED_THREADS: [u32; 3] = [128, 32, 256];

/// What is taken for the values that nobody has said, the same for all who read them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Assumption {
    /// What the numbers among the parameters are.
    pub(crate) number: u64,
    content: Content,
    /// Whether nobody has said which CTAs are in a cluster.
    pub(crate) assumes_cluster: bool,
    /// A word of the parameters that is another number: where it is.
    pub(crate) other: Option<(u64, u64)>,
}

/// What is taken for the contents of buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    /// Greater numbers further on: lengths, and also where something starts.
    Rising,
    Zeros,
    Ones,
    /// What the numbers among the parameters are.
    Equal,
    /// Where it stands in its buffer: names of what there is several of.
    Indices,
}

/// After how many elements they reach the numbers among the parameters.
const RISES: u64 = 4;

impl Assumption {
    /// That of a set; where it makes too much work, smaller by a factor.
    pub(crate) fn of(set: usize, smaller: u64) -> Self {
        const CONTENTS: [Content; MOST_SETS] =
            [Content::Rising, Content::Zeros, Content::Ones, Content::Equal, Content::Ones, Content::Indices];
        let number = (ASSUMED_NUMBERS[set % MOST_SETS] / smaller.max(1)).max(1);
        Self { number, content: CONTENTS[set % MOST_SETS], assumes_cluster: false, other: None }
    }

    /// Zeros everywhere.
    pub(crate) const fn zeros() -> Self {
        Self { number: 0, content: Content::Zeros, assumes_cluster: false, other: None }
    }

    /// What an element of a buffer holds, which starts so many bytes behind the start.
    pub(crate) const fn element(self, at: u64, bytes: u64) -> u64 {
        match self.content {
            Content::Rising if bytes >= 4 => (at / bytes + 1).wrapping_mul(self.number.div_ceil(RISES)),
            Content::Equal if bytes >= 4 => self.number,
            Content::Indices if bytes >= 4 => at / bytes,
            Content::Rising | Content::Ones | Content::Equal | Content::Indices => 1,
            Content::Zeros => 0,
        }
    }

    /// What a byte among the parameters is.
    pub(crate) const fn flag(self) -> u64 {
        match self.content {
            Content::Zeros => 0,
            Content::Rising | Content::Ones | Content::Equal | Content::Indices => 1,
        }
    }

    /// What an instruction results in that is not computed, and what copies bring that are not made.
    pub(crate) const fn result(self) -> u64 {
        match self.content {
            Content::Rising | Content::Zeros | Content::Equal | Content::Indices => 0,
            Content::Ones => 1,
        }
    }
}

/// What a kernel's directives say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Directives {
    /// Threads of a CTA, or the most that it may have: so many are launched.
    pub block: Option<[u32; 3]>,
    /// CTAs of a cluster.
    pub cluster: Option<[u32; 3]>,
    /// Registers of a thread.
    pub registers: Option<u32>,
}

impl Directives {
    /// Those of a function.
    pub fn of(unit: &Unit, function: &Function) -> Self {
        let bounds = unit.launch_bounds(function);
        let value = |said: Said<[u32; 3]>| known(said).map(|it| it.value);
        Self {
            block: value(bounds.required_threads).or_else(|| value(bounds.most_threads)),
            cluster: value(bounds.required_cluster),
            registers: known(bounds.most_registers).map(|it| it.value),
        }
    }
}

/// Three numbers of which the last ones may be left out.
fn three(given: Option<&[u32]>, what: &str) -> Result<Option<[u32; 3]>, LaunchError> {
    let Some(given) = given else { return Ok(None) };
    if given.is_empty() || given.len() > 3 || given.contains(&0) {
        return Err(LaunchError(format!("`{what}` is one to three numbers greater than 0")));
    }
    Ok(Some(std::array::from_fn(|axis| given.get(axis).copied().unwrap_or(1))))
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
    ) -> Result<Self, LaunchError> {
        let said = Directives::of(unit, function);
        let mut assumed = Vec::new();
        let block = three(file.block.as_deref(), "block")?.or(said.block).unwrap_or_else(|| {
            assumed.push("128 threads in a CTA".to_owned());
            [128, 1, 1]
        });
        let cluster = three(file.cluster.as_deref(), "cluster")?.or(said.cluster).unwrap_or([1, 1, 1]);
        let grid = three(file.grid.as_deref(), "grid")?.unwrap_or(cluster);
        if let Some(needed) = said.cluster
            && needed != cluster
        {
            return Err(LaunchError(format!("the kernel has clusters of {needed:?}, not of {cluster:?}")));
        }
        if file.arguments.len() != parameters.len() {
            return Err(LaunchError(format!(
                "the kernel has {} parameters, but the launch has {} arguments",
                parameters.len(),
                file.arguments.len()
            )));
        }
        let mut outs = Vec::new();
        let arguments = file
            .arguments
            .iter()
            .zip(parameters)
            .enumerate()
            .map(|(index, (given, parameter))| {
                let mut reading = Reading { data, outs: &mut outs, place: (index, None) };
                argument(given, parameter, &file.arguments, &mut reading).map_err(|LaunchError(why)| {
                    LaunchError(format!("argument {index} (`{}`): {why}", parameter.name))
                })
            })
            .collect::<Result<_, _>>()?;
        Self {
            grid,
            block,
            cluster,
            dynamic_smem: file.dynamic_smem,
            registers: file.registers,
            assume_zeros: file.assume_zeros,
            arguments,
            outs,
            assumed,
        }
        .checked()
    }

    /// The launch that is assumed of a kernel that comes alone; one of several.
    pub(crate) fn assumed(
        unit: &Unit,
        function: &Function,
        parameters: &[Parameter],
        dynamic_smem: u32,
        (set, smaller): (usize, u64),
    ) -> Self {
        let said = Directives::of(unit, function);
        let mut assumed = Vec::new();
        let block = said.block.unwrap_or_else(|| {
            assumed.push("the number of threads in a CTA".to_owned());
            [ASSUMED_THREADS[set % ASSUMED_THREADS.len()], 1, 1]
        });
        let cluster = said.cluster.unwrap_or([1, 1, 1]);
        let Assumption { number, .. } = Assumption::of(set, smaller);
        let arguments = parameters
            .iter()
            .map(|parameter| match parameter.ty {
                _ if parameter.is_array && parameter.bytes == 128 && parameter.align >= 64 => {
                    Argument::Opaque
                }
                _ if parameter.is_array => Argument::Opaque,
                Some(Type::U64 | Type::B64 | Type::S64) if parameter.is_pointer => {
                    Argument::Buffer { bytes: ASSUMED_BUFFER, data: None }
                }
                // The kernel shows whether it is an address.
                Some(Type::U64 | Type::B64 | Type::S64) => Argument::Opaque,
                Some(Type::F32) => Argument::Bytes(1.0f32.to_le_bytes().to_vec()),
                Some(Type::F64) => Argument::Bytes(1.0f64.to_le_bytes().to_vec()),
                _ => Argument::Bytes(number.to_le_bytes()[..parameter.bytes.min(8) as usize].to_vec()),
            })
            .collect();
        if !parameters.is_empty() {
            assumed.push("the values of all parameters".to_owned());
        }
        Self {
            grid: cluster,
            block,
            cluster,
            dynamic_smem,
            registers: None,
            assume_zeros: false,
            arguments,
            outs: Vec::new(),
            assumed,
        }
    }

    /// The same with the shape that a file says.
    pub(crate) fn shaped(mut self, shape: &LaunchFile) -> Result<Self, LaunchError> {
        if let Some(block) = three(shape.block.as_deref(), "block")? {
            self.block = block;
        }
        if let Some(cluster) = three(shape.cluster.as_deref(), "cluster")? {
            (self.cluster, self.grid) = (cluster, cluster);
        }
        if let Some(grid) = three(shape.grid.as_deref(), "grid")? {
            self.grid = grid;
        }
        self.checked()
    }

    /// Whether such a cluster exists.
    ///
    /// # Errors
    /// When it is too large.
    pub fn checked(self) -> Result<Self, LaunchError> {
        let product = |of: [u32; 3]| of.iter().fold(1u64, |all, size| all.saturating_mul(u64::from(*size)));
        let (threads, ctas) = (product(self.block), product(self.cluster));
        if threads > THREADS_OF_CTA.into() {
            return Err(LaunchError(format!("a CTA has at most {THREADS_OF_CTA} threads, not {threads}")));
        }
        if ctas > CTAS_OF_CLUSTER.into() {
            return Err(LaunchError(format!("a cluster has at most {CTAS_OF_CLUSTER} CTAs, not {ctas}")));
        }
        if product(self.grid) > u64::from(u32::MAX) {
            return Err(LaunchError(format!("a grid of {:?} has more than 2^32 - 1 CTAs", self.grid)));
        }
        if self.grid.iter().zip(self.cluster).any(|(grid, cluster)| grid % cluster != 0) {
            return Err(LaunchError(format!(
                "clusters of {:?} do not divide a grid of {:?}",
                self.cluster, self.grid
            )));
        }
        if self.dynamic_smem > MOST_SHARED {
            return Err(LaunchError(format!(
                "a CTA has at most {MOST_SHARED} bytes of shared memory, not {}",
                self.dynamic_smem
            )));
        }
        Ok(self)
    }
}

/// What is read of files while arguments are, and which files are written.
struct Reading<'r> {
    data: &'r mut dyn FnMut(&str) -> Result<Vec<u8>, LaunchError>,
    outs: &'r mut Vec<OutFile>,
    /// The argument, and its field.
    place: (usize, Option<usize>),
}

impl Reading<'_> {
    /// What a buffer begins with, and what it is an array of.
    fn contents(&mut self, given: &ArgumentFile) -> Result<(Option<Vec<u8>>, Option<Form>), LaunchError> {
        let (data, form) = match (&given.data, given.fill) {
            (Some(path), _) => {
                let file = (self.data)(path)?;
                let (data, form) =
                    array::read(file).map_err(|LaunchError(why)| LaunchError(format!("`{path}`: {why}")))?;
                (Some(data), form)
            }
            (None, Some(0)) => (Some(Vec::new()), None),
            (None, Some(byte)) => (Some(vec![byte; given.bytes.unwrap_or(0).min(1 << 28) as usize]), None),
            (None, None) => (None, None),
        };
        let dtype = given.dtype.as_deref().map(Dtype::named).transpose()?;
        if let (Some(said), Some(form), Some(path)) = (dtype, &form, &given.data)
            && said.bytes != form.dtype.bytes
        {
            return Err(LaunchError(format!(
                "`{path}` has elements of type `{}`, and `dtype` is `{}`",
                form.dtype.name, said.name
            )));
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

    /// Notes that a buffer of so many bytes is written to a file.
    fn write(&mut self, given: &ArgumentFile, form: Option<Form>, bytes: u64) -> Result<(), LaunchError> {
        let Some(name) = given.out.clone() else { return Ok(()) };
        if bytes > MOST_WRITTEN as u64 {
            return Err(LaunchError(format!(
                "`{name}`: buffers of at most {} MiB are written, and this has {bytes} bytes",
                MOST_WRITTEN >> 20
            )));
        }
        let mut form = form.unwrap_or(Form { dtype: Dtype::bytes(), shape: Vec::new() });
        let is_flat = given.shape.is_none() && (form.shape.is_empty() || form.bytes() as u64 != bytes);
        if is_flat {
            form.shape = vec![bytes as usize / form.dtype.bytes];
        }
        if form.bytes() as u64 > bytes {
            return Err(LaunchError(format!(
                "`{name}`: {:?} elements of type `{}` take {} bytes, and the buffer has {bytes}",
                form.shape,
                form.dtype.name,
                form.bytes()
            )));
        }
        let (argument, field) = self.place;
        self.outs.push(OutFile { argument, field, name, form });
        Ok(())
    }
}

fn argument(
    given: &ArgumentFile,
    parameter: &Parameter,
    all: &[ArgumentFile],
    reading: &mut Reading<'_>,
) -> Result<Argument, LaunchError> {
    let fits = |bytes: usize| {
        if bytes == parameter.bytes as usize {
            Ok(())
        } else {
            Err(LaunchError(format!("it has {bytes} bytes, but the parameter has {}", parameter.bytes)))
        }
    };
    match given.ty.as_str() {
        "buffer" => {
            fits(8)?;
            let (data, form) = reading.contents(given)?;
            let bytes = match (given.bytes, &data, &form) {
                (Some(bytes), ..) => bytes,
                (None, Some(data), _) if given.data.is_some() => data.len() as u64,
                (None, _, Some(form)) if given.shape.is_some() => form.bytes() as u64,
                (None, Some(data), _) => data.len() as u64,
                (None, None, _) => {
                    return Err(LaunchError(
                        "a buffer has `bytes`, `data`, or `dtype` and `shape`".to_owned(),
                    ));
                }
            };
            if bytes > 1 << 34 {
                return Err(LaunchError("a buffer has at most 2^34 bytes".to_owned()));
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
            let bytes =
                bytes.ok_or_else(|| LaunchError("`hex` is pairs of hexadecimal digits".to_owned()))?;
            fits(bytes.len())?;
            Ok(Argument::Bytes(bytes))
        }
        "opaque" => Ok(Argument::Opaque),
        "struct" => {
            let (mut end, mut fields) = (0u32, Vec::new());
            for (index, field) in given.fields.iter().enumerate() {
                reading.place.1 = Some(index);
                let (bytes, align) = field_size(field)?;
                let offset = end.next_multiple_of(align);
                let place =
                    Parameter { offset: 0, bytes, align, is_array: false, ty: None, ..parameter.clone() };
                fields.push((offset, bytes, argument(field, &place, &[], reading)?));
                end = offset + bytes;
            }
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
            let value = given.value.ok_or_else(|| LaunchError("a number has a `value`".to_owned()))?;
            let bytes = number(ty, value)?;
            fits(bytes.len())?;
            Ok(Argument::Bytes(bytes))
        }
    }
}

/// The bytes of a field of a struct, and what its start is a multiple of.
fn field_size(field: &ArgumentFile) -> Result<(u32, u32), LaunchError> {
    Ok(match field.ty.as_str() {
        "buffer" => (8, 8),
        "tensor_map" => (128, 64),
        "bytes" => ((field.hex.as_deref().unwrap_or_default().len() as u32) / 2, 1),
        "struct" | "opaque" => {
            return Err(LaunchError(format!("a `{}` is no field of a struct", field.ty)));
        }
        ty => {
            let bytes = number(ty, field.value.unwrap_or(Number::Integer(0)))?.len() as u32;
            (bytes, bytes)
        }
    })
}

fn number(ty: &str, value: Number) -> Result<Vec<u8>, LaunchError> {
    let (integer, float) = match value {
        Number::Integer(value) => (Some(value), value as f64),
        Number::Float(value) => (None, value),
    };
    let bytes: usize = match ty {
        "u8" | "i8" | "s8" | "b8" => 1,
        "u16" | "i16" | "s16" | "b16" => 2,
        "u32" | "i32" | "s32" | "b32" => 4,
        "u64" | "i64" | "s64" | "b64" => 8,
        "f32" => return Ok((float as f32).to_le_bytes().to_vec()),
        "f64" => return Ok(float.to_le_bytes().to_vec()),
        // The upper half of a single, rounded to the nearest.
        "bf16" => {
            let bits = (float as f32).to_bits();
            let rounded = bits.wrapping_add(0x7FFF + (bits >> 16 & 1)) >> 16;
            return Ok((rounded as u16).to_le_bytes().to_vec());
        }
        "f16" => return Ok(half(float as f32).to_le_bytes().to_vec()),
        _ => {
            return Err(LaunchError(format!(
                "`{ty}` is no type of an argument: it is `buffer`, `tensor_map`, `bytes`, `struct`, `opaque`, or a number's, `u8` to `f64`"
            )));
        }
    };
    let value = integer.ok_or_else(|| LaunchError(format!("the value of a `{ty}` is an integer")))?;
    let bits = bytes as u32 * 8;
    let least = if ty.starts_with('u') { 0 } else { i64::MIN >> (64 - bits) };
    let fits = value >= least && (bits == 64 || value < 1i64 << bits);
    if !fits {
        return Err(LaunchError(format!("{value} does not fit a `{ty}`")));
    }
    Ok(value.to_le_bytes()[..bytes].to_vec())
}

/// A number of half precision; small ones become zero.
fn half(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 16 & 0x8000) as u16;
    let exponent = (bits >> 23 & 0xFF).cast_signed() - 127 + 15;
    match exponent {
        31.. => sign | 0x7C00,
        1..=30 => {
            let mantissa = bits & 0x7F_FFFF;
            let rounded = exponent.cast_unsigned() << 10 | mantissa >> 13;
            let up = u32::from(mantissa & 0x1FFF > 0x1000 || mantissa & 0x3FFF == 0x3000);
            sign | (rounded + up) as u16
        }
        _ => sign,
    }
}

fn tensor_map(
    given: &ArgumentFile,
    all: &[ArgumentFile],
    reading: &mut Reading<'_>,
) -> Result<Argument, LaunchError> {
    let missing = |what: &str| LaunchError(format!("a tensor map has `{what}`"));
    let element = given.element.as_deref().ok_or_else(|| missing("element"))?;
    let element_type = ElementType::named(element)
        .ok_or_else(|| LaunchError(format!("`{element}` is no type of a tensor's elements")))?;
    let dims = given.dims.clone().ok_or_else(|| missing("dims"))?;
    if dims.is_empty() || dims.len() > 5 || dims.contains(&0) {
        return Err(LaunchError("a tensor has 1 to 5 dimensions, none of them 0".to_owned()));
    }
    let window = window(given, dims.len())?;
    let box_dims = match (&given.box_dims, &window) {
        (None, Some(_)) => Vec::new(),
        (Some(_), Some(_)) => {
            return Err(LaunchError("a tensor map in im2col mode has no `box`".to_owned()));
        }
        (given, None) => given.clone().ok_or_else(|| missing("box"))?,
    };
    let is_box = box_dims.len() == dims.len() && box_dims.iter().all(|dim| (1..=256).contains(dim));
    if !is_box && window.is_none() {
        return Err(LaunchError("`box` has as many dimensions as `dims`, each 1 to 256".to_owned()));
    }
    let steps = given.element_strides.clone().unwrap_or_else(|| vec![1; dims.len()]);
    if steps.len() != dims.len() || steps.iter().any(|step| !(1..=8).contains(step)) {
        return Err(LaunchError("`element_strides` has as many numbers as `dims`, each 1 to 8".to_owned()));
    }
    let fill = given.oob_fill.unwrap_or_default();
    if fill == Fill::Nan && !element_type.is_float() {
        return Err(LaunchError("`oob_fill = \"nan\"` is for elements of floating point".to_owned()));
    }
    let mut strides = Vec::new();
    let mut bytes = u64::from(dims[0]) * u64::from(element_type.bits()) / 8;
    for dim in &dims[1..] {
        strides.push(bytes);
        bytes = bytes.saturating_mul(u64::from(*dim));
    }
    if let Some(given) = &given.strides_bytes {
        if given.len() + 1 != dims.len() {
            return Err(LaunchError("`strides_bytes` has one number less than `dims`".to_owned()));
        }
        strides.clone_from(given);
        let ends = strides.iter().zip(&dims[1..]).map(|(stride, dim)| stride.saturating_mul(u64::from(*dim)));
        bytes = ends.max().unwrap_or(bytes).max(bytes);
    }
    if let Some(base) = given.base
        && all.get(base).is_none_or(|argument| argument.ty != "buffer")
    {
        return Err(LaunchError(format!(
            "`base` is the number of an argument that is a buffer, and {base} is none"
        )));
    }
    let bytes = given.bytes.unwrap_or(bytes);
    if bytes > 1 << 34 {
        return Err(LaunchError("a tensor has at most 2^34 bytes".to_owned()));
    }
    if given.base.is_some() && (given.data.is_some() || given.out.is_some()) {
        return Err(LaunchError(
            "its buffer is that of another argument, which has `data` and `out`".to_owned(),
        ));
    }
    let (data, form) = reading.contents(given)?;
    let form = form.or_else(|| {
        // As NumPy has it, where the elements are whole bytes and lie one behind the other.
        let dtype = Dtype::named(element).ok().filter(|it| it.bytes as u32 * 8 == element_type.bits())?;
        let shape: Vec<usize> = dims.iter().rev().map(|dim| *dim as usize).collect();
        Some(Form { dtype, shape })
    });
    reading.write(given, form, bytes)?;
    let map = TensorMap {
        element: element_type,
        base: 0,
        dims,
        strides,
        box_dims,
        steps,
        fill,
        window,
        swizzle: given.swizzle.unwrap_or(Swizzle::None),
        interleave: given.interleave.unwrap_or_default(),
    };
    Ok(Argument::TensorMap { map, base: given.base, bytes, data })
}

/// What a tensor map says of im2col mode, if it says something.
fn window(given: &ArgumentFile, rank: usize) -> Result<Option<Window>, LaunchError> {
    let all = (&given.lower_corner, &given.upper_corner, given.channels_per_pixel, given.pixels_per_column);
    let (lower, upper, channels, pixels) = match all {
        (None, None, None, None) => return Ok(None),
        (Some(lower), Some(upper), Some(channels), Some(pixels)) => (lower, upper, channels, pixels),
        _ => {
            return Err(LaunchError(
                "a tensor map in im2col mode has `lower_corner`, `upper_corner`, `channels_per_pixel` and \
                 `pixels_per_column`"
                    .to_owned(),
            ));
        }
    };
    // What the driver takes: so many bits of each offset.
    let bits = match rank {
        3 => 16,
        4 => 8,
        5 => 5,
        _ => return Err(LaunchError("a tensor map in im2col mode has 3 to 5 dimensions".to_owned())),
    };
    let range = -(1 << (bits - 1))..1 << (bits - 1);
    let fits = |corner: &Vec<i32>| corner.len() + 2 == rank && corner.iter().all(|it| range.contains(it));
    if !fits(lower) || !fits(upper) {
        return Err(LaunchError(format!(
            "`lower_corner` and `upper_corner` have two numbers less than `dims`, each of {bits} bits"
        )));
    }
    if !(1..=256).contains(&channels) || !(1..=1024).contains(&pixels) {
        return Err(LaunchError(
            "`channels_per_pixel` is 1 to 256, and `pixels_per_column` 1 to 1024".to_owned(),
        ));
    }
    let (lower, upper) = (lower.clone(), upper.clone());
    Ok(Some(Window { lower, upper, channels, pixels }))
}

/// A launch file to fill in.
pub(crate) fn template(
    name: &str,
    directives: &Directives,
    parameters: &[Parameter],
    dynamic: bool,
) -> String {
    let declared = declaration(name).map(|declared| format!(" # {declared}")).unwrap_or_default();
    let mut text = format!("kernel = {name:?}{declared}\n");
    let cluster = directives.cluster.unwrap_or([1, 1, 1]);
    text.push_str(&format!("grid = {cluster:?}\n"));
    text.push_str(&format!("block = {:?}\n", directives.block.unwrap_or([128, 1, 1])));
    text.push_str(&format!("cluster = {cluster:?}\n"));
    text.push_str(&format!("dynamic_smem = {}\n", if dynamic { MOST_SHARED } else { 0 }));
    for (index, parameter) in parameters.iter().enumerate() {
        text.push_str(&format!("\n[[arg]] # {index}: {}\n", parameter.name));
        let plain = parameter.ty.map(|ty| ty.to_string()).unwrap_or_default().replace(['b', 's'], "u");
        text.push_str(&match parameter.ty {
            _ if parameter.is_array && parameter.bytes == 128 => {
                "type = \"tensor_map\"\nelement = \"f16\"\ndims = [1024, 1024]\nbox = [64, 128]\nswizzle = \"128B\"\n"
                    .to_owned()
            }
            _ if parameter.is_array => format!("type = \"bytes\"\nhex = \"{}\"\n", "00".repeat(parameter.bytes as usize)),
            Some(Type::U64 | Type::B64 | Type::S64) => "type = \"buffer\"\nbytes = 1048576\n".to_owned(),
            Some(Type::F32) => "type = \"f32\"\nvalue = 1.0\n".to_owned(),
            Some(Type::F64) => "type = \"f64\"\nvalue = 1.0\n".to_owned(),
            _ => format!("type = \"{plain}\"\nvalue = 1024\n"),
        });
    }
    text
}
