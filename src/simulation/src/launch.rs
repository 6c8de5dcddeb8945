//! What a kernel is launched with: said in a file, or assumed.

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::array::{self, ArrayOf, Dtype, Form, OutFile};
use super::memory::Memory;
use super::program::Parameter;
use super::tensor_map::{ElementType, Fill, Interleave, Swizzle, TensorMap, Window};
use crate::isa::hierarchy::{CTAS_OF_CLUSTER, THREADS_OF_CTA};
use crate::resolve::launch_bounds::{Said, known};
use crate::resolve::unit::Unit;
use crate::syntax::ast::Function;

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
    /// What is assumed of all that the file leaves open, as in a launch that was tried; or whether results are computed
    /// that no source vouches for, which is the default.
    pub assume: Option<Assume>,
    /// The arguments.
    #[serde(default, rename = "arg")]
    pub arguments: Vec<ArgumentFile>,
}

/// What a launch file says of assumptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assume {
    /// Whether results are computed whose arithmetic no source covers.
    Arithmetic(bool),
    /// Values that the file leaves open.
    Values(AssumeFile),
}

impl<'de> Deserialize<'de> for Assume {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// Mistakes within the table keep their places.
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = Assume;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("`true`, `false`, or a table of `number` and `contents`")
            }

            fn visit_bool<E>(self, believes: bool) -> Result<Assume, E> {
                Ok(Assume::Arithmetic(believes))
            }

            fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<Assume, M::Error> {
                AssumeFile::deserialize(MapAccessDeserializer::new(map)).map(Assume::Values)
            }
        }

        deserializer.deserialize_any(Either)
    }
}

/// What is assumed of the values that a launch file leaves open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AssumeFile {
    /// The value of integers among the parameters.
    pub number: u64,
    /// The contents of buffers.
    pub contents: AssumedContents,
}

/// What is assumed of the contents of buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AssumedContents {
    /// Numbers that rise from element to element: lengths, and also offsets.
    Rising,
    /// Zeros.
    Zeros,
    /// Ones.
    Ones,
    /// The value of the integers among the parameters.
    Equal,
    /// The index of the element in its buffer: names of experts, pages, or tiles.
    Indices,
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
    /// The first byte of a field in its struct; without it, the next one at which the type may start.
    pub offset: Option<u32>,
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
    /// Global memory as it is when the kernel is launched.
    pub memory: Memory,
    /// What is assumed of values that nothing else gives.
    pub assumes: Option<AssumeFile>,
    /// Whether results are computed whose arithmetic no source covers.
    pub believes: bool,
    /// The files that buffers are written to in the end.
    pub outs: Vec<OutFile>,
    /// What buffers are arrays of.
    pub arrays: Vec<ArrayOf>,
    /// What of it nobody has said.
    pub assumed: Vec<String>,
}

/// How large a launch is. What is left out, the kernel's directives say, or it is 1; 128 threads for `block`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaunchShape {
    /// CTAs.
    pub grid: Option<[u32; 3]>,
    /// Threads of a CTA.
    pub block: Option<[u32; 3]>,
    /// CTAs of a cluster.
    pub cluster: Option<[u32; 3]>,
    /// Bytes of dynamic shared memory.
    pub dynamic_smem: u32,
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
    /// Memory that is there when the kernel is launched.
    Placed {
        /// Its address.
        address: u64,
        /// Its size.
        bytes: u64,
        /// The tensor map over it that is passed instead of the address; its base is filled in.
        map: Option<TensorMap>,
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

/// A step on the way to a value in a launch file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// A key of a table.
    Name(&'static str),
    /// An element of an array.
    Index(usize),
}

/// Which value of a launch file is wrong, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// Why.
    pub error: LaunchError,
    /// Where in the file: `arg`, 2, `box`. The last keys may be missing from the file.
    pub keys: Vec<Key>,
    /// What can be written instead, in words.
    pub help: Option<String>,
}

impl Misfit {
    fn new(message: impl Into<String>) -> Self {
        Self { error: LaunchError(message.into()), keys: Vec::new(), help: None }
    }

    #[must_use]
    fn help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }

    /// The same for a value further out.
    #[must_use]
    fn below(mut self, keys: &[Key]) -> Self {
        self.keys.splice(0..0, keys.iter().copied());
        self
    }

    #[must_use]
    fn at(self, name: &'static str) -> Self {
        self.below(&[Key::Name(name)])
    }
}

impl From<LaunchError> for Misfit {
    fn from(error: LaunchError) -> Self {
        Self { error, keys: Vec::new(), help: None }
    }
}

/// Bytes of shared memory that a CTA can have.
pub const MOST_SHARED: u32 = 227 * 1024;
/// CTAs of a grid along each axis, and threads of a CTA along z (CUDA C++ Programming Guide, "Compute Capabilities").
const MOST_GRID: [u32; 3] = [(1 << 31) - 1, 65_535, 65_535];
const MOST_BLOCK_Z: u32 = 64;
/// Larger buffers are not written to files.
pub(crate) const MOST_WRITTEN: usize = 1 << 26;
/// What a kernel's directives say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Directives {
    /// Threads of a CTA, or the most that it may have: so many are launched.
    pub block: Option<[u32; 3]>,
    /// CTAs of a cluster.
    pub cluster: Option<[u32; 3]>,
    /// Registers of a thread.
    pub registers: Option<u32>,
    /// Threads of a CTA, in each direction, and the most that there may be together.
    required_block: Option<[u32; 3]>,
    most_threads: Option<u64>,
    /// The most CTAs of a cluster.
    most_cluster: Option<u32>,
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
            required_block: value(bounds.required_threads),
            most_threads: value(bounds.most_threads).map(product),
            most_cluster: known(bounds.most_cluster).map(|it| it.value),
        }
    }

    /// Refuses a shape that contradicts them: such a launch fails (PTX ISA, "Performance-Tuning Directives" and "Cluster
    /// Dimension Directives").
    pub(crate) fn refuse(&self, block: [u32; 3], cluster: [u32; 3]) -> Result<(), Misfit> {
        let (threads, ctas) = (product(block), product(cluster));
        let of_block = match (self.required_block, self.most_threads) {
            (Some(needed), _) if needed != block => {
                Some(format!("the kernel has CTAs of {needed:?} threads (`.reqntid`), not of {block:?}"))
            }
            (_, Some(most)) if threads > most => {
                Some(format!("the kernel has CTAs of at most {most} threads (`.maxntid`), not of {threads}"))
            }
            _ => None,
        };
        if let Some(why) = of_block {
            return Err(Misfit::new(why).at("block"));
        }
        if let Some(needed) = self.cluster.filter(|needed| *needed != cluster) {
            let why = format!("the kernel has clusters of {needed:?}, not of {cluster:?}");
            return Err(Misfit::new(why)
                .at("cluster")
                .help(format!("write `cluster = {needed:?}`, or leave it out")));
        }
        match self.most_cluster {
            Some(most) if ctas > most.into() => Err(Misfit::new(format!(
                "the kernel has clusters of at most {most} CTAs (`.maxclusterrank`), not of {ctas}"
            ))
            .at("cluster")),
            _ => Ok(()),
        }
    }
}

/// How many there are in all directions; as many as can be counted, if there are more.
fn product(of: [u32; 3]) -> u64 {
    of.iter().fold(1, |all: u64, size| all.saturating_mul(u64::from(*size)))
}

/// Whether there are as many arguments as parameters.
fn check_count(parameters: &[Parameter], arguments: usize) -> Result<(), Misfit> {
    if arguments == parameters.len() {
        return Ok(());
    }
    let of = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    Err(Misfit::new(format!(
        "the kernel has {}, but the launch has {}",
        of(parameters.len(), "parameter"),
        of(arguments, "argument")
    )))
}

/// Three numbers of which the last ones may be left out.
pub(crate) fn three(given: Option<&[u32]>, what: &str) -> Result<Option<[u32; 3]>, LaunchError> {
    let Some(given) = given else { return Ok(None) };
    if given.is_empty() || given.len() > 3 || given.contains(&0) {
        return Err(LaunchError(format!("`{what}` is one to three numbers greater than 0")));
    }
    Ok(Some(std::array::from_fn(|axis| given.get(axis).copied().unwrap_or(1))))
}

/// The types of numbers, as a launch file names them.
const NUMBERS: [&str; 20] = [
    "u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "s8", "s16", "s32", "s64", "b8", "b16", "b32",
    "b64", "f16", "bf16", "f32", "f64",
];

/// What `type` can be.
fn types() -> String {
    let kinds = ["buffer", "tensor_map", "bytes", "struct", "opaque"];
    let all: Vec<String> = kinds.iter().chain(&NUMBERS).map(|name| format!("`{name}`")).collect();
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

    /// A launch by a program, in memory that is there.
    pub(crate) fn by_program(
        said: &Directives,
        parameters: &[Parameter],
        shape: &LaunchShape,
        arguments: Vec<Argument>,
        memory: Memory,
    ) -> Result<Self, Misfit> {
        check_count(parameters, arguments.len()).map_err(|misfit| misfit.at("arg"))?;
        Self { arguments, memory, ..Self::of_shape(said, shape) }.fitting()?.fitting_kernel(said)
    }

    /// A launch without arguments.
    fn of_shape(said: &Directives, shape: &LaunchShape) -> Self {
        let mut assumed = Vec::new();
        let block = shape.block.or(said.block).unwrap_or_else(|| {
            assumed.push("128 threads in a CTA".to_owned());
            [128, 1, 1]
        });
        let cluster = shape.cluster.or(said.cluster).unwrap_or([1, 1, 1]);
        Self {
            grid: shape.grid.unwrap_or(cluster),
            block,
            cluster,
            dynamic_smem: shape.dynamic_smem,
            registers: None,
            assume_zeros: false,
            arguments: Vec::new(),
            memory: Memory::default(),
            assumes: None,
            believes: true,
            outs: Vec::new(),
            arrays: Vec::new(),
            assumed,
        }
    }

    fn fitting_kernel(self, said: &Directives) -> Result<Self, Misfit> {
        said.refuse(self.block, self.cluster).map(|()| self)
    }

    /// Clusters of the grid.
    pub fn clusters(&self) -> u32 {
        u32::try_from(super::run::clusters(self)).unwrap_or(u32::MAX)
    }

    /// Whether such a cluster exists.
    ///
    /// # Errors
    /// When it is too large.
    pub fn checked(self) -> Result<Self, LaunchError> {
        self.fitting().map_err(|misfit| misfit.error)
    }

    /// The same, saying which key is wrong.
    fn fitting(self) -> Result<Self, Misfit> {
        let (threads, ctas) = (product(self.block), product(self.cluster));
        if threads > THREADS_OF_CTA.into() {
            let why = format!("a CTA has at most {THREADS_OF_CTA} threads, not {threads}");
            return Err(Misfit::new(why).at("block"));
        }
        if self.block[2] > MOST_BLOCK_Z {
            let why = format!("a CTA has at most {MOST_BLOCK_Z} threads along z, not {}", self.block[2]);
            return Err(Misfit::new(why).at("block"));
        }
        if ctas > CTAS_OF_CLUSTER.into() {
            let why = format!("a cluster has at most {CTAS_OF_CLUSTER} CTAs, not {ctas}");
            return Err(Misfit::new(why).at("cluster"));
        }
        for (axis, (size, most)) in ["x", "y", "z"].into_iter().zip(self.grid.into_iter().zip(MOST_GRID)) {
            if size > most {
                let why = format!("a grid has at most {most} CTAs along {axis}, not {size}");
                return Err(Misfit::new(why).at("grid"));
            }
        }
        if product(self.grid) > u64::from(u32::MAX) {
            let why =
                format!("a grid of {:?} has more than 2^32 - 1 CTAs, which cannot be run here", self.grid);
            return Err(Misfit::new(why).at("grid"));
        }
        if self.grid.iter().zip(self.cluster).any(|(grid, cluster)| grid % cluster != 0) {
            let why = format!("clusters of {:?} do not divide a grid of {:?}", self.cluster, self.grid);
            return Err(Misfit::new(why)
                .at("grid")
                .help("each size of `grid` is a multiple of the same size of `cluster`"));
        }
        if self.dynamic_smem > MOST_SHARED {
            let why =
                format!("a CTA has at most {MOST_SHARED} bytes of shared memory, not {}", self.dynamic_smem);
            return Err(Misfit::new(why).at("dynamic_smem"));
        }
        Ok(self)
    }
}

/// What is read of files while arguments are, and which files are written.
struct Reading<'r> {
    data: &'r mut dyn FnMut(&str) -> Result<Vec<u8>, LaunchError>,
    outs: &'r mut Vec<OutFile>,
    arrays: &'r mut Vec<ArrayOf>,
    /// The argument, and its field.
    place: (usize, Option<usize>),
}

impl Reading<'_> {
    /// What a buffer begins with, and what it is an array of.
    fn contents(&mut self, given: &ArgumentFile) -> Result<(Option<Vec<u8>>, Option<Form>), Misfit> {
        let (data, form) = match (&given.data, given.fill) {
            (Some(path), _) => {
                let file = (self.data)(path).map_err(|error| Misfit::from(error).at("data"))?;
                let (data, form) = array::read(file)
                    .map_err(|LaunchError(why)| Misfit::new(format!("`{path}`: {why}")).at("data"))?;
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
    fn write(&mut self, given: &ArgumentFile, form: Option<Form>, bytes: u64) -> Result<(), Misfit> {
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
            is_given: given.data.is_some() || given.fill.is_some(),
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
        "buffer" => {
            fits(8)?;
            let (data, form) = reading.contents(given)?;
            let bytes = match (given.bytes, &data, &form) {
                (Some(bytes), ..) => bytes,
                (None, Some(data), _) if given.data.is_some() => data.len() as u64,
                (None, _, Some(form)) if given.shape.is_some() => form.bytes() as u64,
                (None, Some(data), _) => data.len() as u64,
                (None, None, _) => {
                    return Err(Misfit::new("a buffer has `bytes`, `data`, or `dtype` and `shape`"));
                }
            };
            if bytes > 1 << 34 {
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
            let (mut end, mut fields) = (0u32, Vec::new());
            for (index, field) in given.fields.iter().enumerate() {
                reading.place.1 = Some(index);
                let below = |misfit: Misfit| misfit.below(&[Key::Name("fields"), Key::Index(index)]);
                let (bytes, align) = field_size(field).map_err(below)?;
                let offset = field.offset.unwrap_or_else(|| end.next_multiple_of(align));
                if offset < end {
                    return Err(below(
                        Misfit::new(format!(
                            "field {index} starts at byte {offset}, but the field before it ends at byte {end}"
                        ))
                        .at("offset"),
                    ));
                }
                let place =
                    Parameter { offset: 0, bytes, align, is_array: false, ty: None, ..parameter.clone() };
                fields.push((offset, bytes, argument(field, &place, &[], reading).map_err(below)?));
                end = offset.saturating_add(bytes);
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
            if !NUMBERS.contains(&ty) {
                return Err(Misfit::new(format!("`{ty}` is no type of an argument"))
                    .at("type")
                    .help(types()));
            }
            let value = given.value.ok_or_else(|| Misfit::new(format!("a `{ty}` has a `value`")))?;
            let bytes = number(ty, value)?;
            fits(bytes.len())?;
            Ok(Argument::Bytes(bytes))
        }
    }
}

/// The bytes of a field of a struct, and what its start is a multiple of.
fn field_size(field: &ArgumentFile) -> Result<(u32, u32), Misfit> {
    Ok(match field.ty.as_str() {
        "buffer" => (8, 8),
        "tensor_map" => (128, 64),
        "bytes" => ((field.hex.as_deref().unwrap_or_default().len() as u32) / 2, 1),
        "struct" | "opaque" => {
            let why = format!("a `{}` is no field of a struct", field.ty);
            return Err(Misfit::new(why).at("type"));
        }
        ty => {
            let bytes = number(ty, field.value.unwrap_or(Number::Integer(0)))?.len() as u32;
            (bytes, bytes)
        }
    })
}

fn number(ty: &str, value: Number) -> Result<Vec<u8>, Misfit> {
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
            return Err(Misfit::new(format!("`{ty}` is no type of an argument")).at("type").help(types()));
        }
    };
    let value =
        integer.ok_or_else(|| Misfit::new(format!("the value of a `{ty}` is an integer")).at("value"))?;
    let bits = bytes as u32 * 8;
    let least = if ty.starts_with('u') { 0 } else { i64::MIN >> (64 - bits) };
    let fits = value >= least && (bits == 64 || value < 1i64 << bits);
    if !fits {
        let most = if ty.starts_with('i') || ty.starts_with('s') {
            u64::MAX >> (65 - bits)
        } else {
            u64::MAX >> (64 - bits)
        };
        return Err(Misfit::new(format!("{value} does not fit a `{ty}`"))
            .at("value")
            .help(format!("a `{ty}` is {least} to {most}")));
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
) -> Result<Argument, Misfit> {
    let missing = |what: &str| Misfit::new(format!("a tensor map has `{what}`"));
    let element = given.element.as_deref().ok_or_else(|| missing("element"))?;
    let element_type = ElementType::named(element).ok_or_else(|| {
        let all: Vec<String> = ElementType::names().map(|name| format!("`{name}`")).collect();
        Misfit::new(format!("`{element}` is no type of a tensor's elements"))
            .at("element")
            .help(format!("`element` is one of {}", all.join(", ")))
    })?;
    let dims = given.dims.clone().ok_or_else(|| missing("dims"))?;
    if dims.is_empty() || dims.len() > 5 || dims.contains(&0) {
        return Err(Misfit::new("a tensor has 1 to 5 dimensions, none of them 0").at("dims"));
    }
    let window = window(given, dims.len())?;
    let box_dims = match (&given.box_dims, &window) {
        (None, Some(_)) => Vec::new(),
        (Some(_), Some(_)) => {
            return Err(Misfit::new("a tensor map in im2col mode has no `box`").at("box"));
        }
        (given, None) => given.clone().ok_or_else(|| missing("box"))?,
    };
    let is_box = box_dims.len() == dims.len() && box_dims.iter().all(|dim| (1..=256).contains(dim));
    if !is_box && window.is_none() {
        return Err(Misfit::new("`box` has as many dimensions as `dims`, each 1 to 256").at("box"));
    }
    let steps = given.element_strides.clone().unwrap_or_else(|| vec![1; dims.len()]);
    if steps.len() != dims.len() || steps.iter().any(|step| !(1..=8).contains(step)) {
        return Err(
            Misfit::new("`element_strides` has as many numbers as `dims`, each 1 to 8").at("element_strides")
        );
    }
    let fill = given.oob_fill.unwrap_or_default();
    if fill == Fill::Nan && !element_type.is_float() {
        return Err(Misfit::new("`oob_fill = \"nan\"` is for elements of floating point").at("oob_fill"));
    }
    let mut strides = Vec::new();
    let mut bytes = u64::from(dims[0]) * u64::from(element_type.bits()) / 8;
    for dim in &dims[1..] {
        strides.push(bytes);
        bytes = bytes.saturating_mul(u64::from(*dim));
    }
    if let Some(given) = &given.strides_bytes {
        if given.len() + 1 != dims.len() {
            return Err(Misfit::new("`strides_bytes` has one number less than `dims`").at("strides_bytes"));
        }
        strides.clone_from(given);
        let ends = strides.iter().zip(&dims[1..]).map(|(stride, dim)| stride.saturating_mul(u64::from(*dim)));
        bytes = ends.max().unwrap_or(bytes).max(bytes);
    }
    if let Some(base) = given.base
        && all.get(base).is_none_or(|argument| argument.ty != "buffer")
    {
        return Err(Misfit::new(format!(
            "`base` is the number of an argument that is a buffer, from 0, and {base} is none"
        ))
        .at("base"));
    }
    let bytes = given.bytes.unwrap_or(bytes);
    if bytes > 1 << 34 {
        return Err(Misfit::new("a tensor has at most 2^34 bytes").at("dims"));
    }
    if given.base.is_some() && (given.data.is_some() || given.out.is_some()) {
        let why = "its buffer is that of another argument, which has `data` and `out`";
        return Err(Misfit::new(why).at("base"));
    }
    let (data, form) = reading.contents(given)?;
    let form = form.or_else(|| {
        // As NumPy has it, where the elements are whole bytes and lie next to each other; two of four bits are a byte.
        let mut shape: Vec<usize> = dims.iter().rev().map(|dim| *dim as usize).collect();
        if element_type.bits() == 4 {
            *shape.last_mut()? /= 2;
            return Some(Form { dtype: Dtype::bytes(), shape });
        }
        let dtype = Dtype::named(element).ok().filter(|it| it.bytes as u32 * 8 == element_type.bits())?;
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
fn window(given: &ArgumentFile, rank: usize) -> Result<Option<Window>, Misfit> {
    let all = (&given.lower_corner, &given.upper_corner, given.channels_per_pixel, given.pixels_per_column);
    let (lower, upper, channels, pixels) = match all {
        (None, None, None, None) => return Ok(None),
        (Some(lower), Some(upper), Some(channels), Some(pixels)) => (lower, upper, channels, pixels),
        _ => {
            return Err(Misfit::new(
                "a tensor map in im2col mode has `lower_corner`, `upper_corner`, `channels_per_pixel` and \
                 `pixels_per_column`",
            ));
        }
    };
    // What the driver takes: so many bits of each offset.
    let bits = match rank {
        3 => 16,
        4 => 8,
        5 => 5,
        _ => return Err(Misfit::new("a tensor map in im2col mode has 3 to 5 dimensions")),
    };
    let range = -(1 << (bits - 1))..1 << (bits - 1);
    let fits = |corner: &Vec<i32>| corner.len() + 2 == rank && corner.iter().all(|it| range.contains(it));
    if !fits(lower) || !fits(upper) {
        return Err(Misfit::new(format!(
            "`lower_corner` and `upper_corner` have two numbers less than `dims`, each of {bits} bits"
        )));
    }
    if !(1..=256).contains(&channels) || !(1..=1024).contains(&pixels) {
        return Err(Misfit::new("`channels_per_pixel` is 1 to 256, and `pixels_per_column` 1 to 1024"));
    }
    let (lower, upper) = (lower.clone(), upper.clone());
    Ok(Some(Window { lower, upper, channels, pixels }))
}
