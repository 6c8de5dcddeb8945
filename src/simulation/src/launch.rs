//! What a kernel is launched with: said in a [file], by a program, or assumed.

use super::array::{ArrayOf, OutFile};
use super::memory::Memory;
use super::program::Parameter;
use super::tensor_map::TensorMap;
use crate::isa::hierarchy::{CTAS_OF_CLUSTER, THREADS_OF_CTA};
use crate::resolve::launch_bounds::{Said, known};
use crate::resolve::unit::Unit;
use crate::syntax::ast::Function;

mod file;
mod maps;
mod number;
mod reading;

pub use file::{ArgumentFile, Assume, AssumeFile, AssumedContents, LaunchFile};
pub use number::{Number, NumberError, NumberType};

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
    /// Whether it is a cooperative launch: all CTAs are there at once, and may wait for each other by
    /// `cooperative_groups::this_grid().sync()`.
    pub cooperative: bool,
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
    /// Whether it is a cooperative launch.
    pub cooperative: bool,
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
    /// The address of a buffer that holds fields as a struct has them; zeros are between them.
    Pointer {
        /// Its size.
        bytes: u64,
        /// Where its fields are, and how many bytes they have.
        fields: Vec<(u32, u32, Argument)>,
    },
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

/// Refuses a field of a struct that starts before the one before it has ended.
///
/// # Errors
/// When it does.
pub fn field_starts(index: usize, offset: u32, end: u32) -> Result<(), LaunchError> {
    if offset >= end {
        return Ok(());
    }
    Err(LaunchError(format!(
        "field {index} starts at byte {offset}, but the field before it ends at byte {end}"
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

impl Launch {
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
            cooperative: shape.cooperative,
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
