//! What is assumed of a launch that is not given, and why.

use std::collections::BTreeSet;

use crate::Kernel;
use crate::launch::{Argument, AssumeFile, AssumedContents, Directives, Launch, LaunchShape};
use crate::memory::Memory;
use crate::program::{self, Parameter};
use crate::resolve::unit::Unit;
use crate::syntax::ast::{Function, Type};

/// Bytes of a buffer whose size is assumed: more than the assumed numbers and their products reach. Accesses outside are
/// not reported anyway.
pub(super) const ASSUMED_BUFFER: u64 = 1 << 32;
/// Launches that are tried at most. Three differ in all that is assumed; three more replace those that do not count.
pub(crate) const MOST_SETS: usize = 6;
/// The value of integers, by launch. Multiples of 128 are whole tiles of every GEMM, and 3, 2 and 4 of them are different
/// numbers of iterations; 8 and 16 are for counts of heads, experts and batches, which make too much work otherwise.
const ASSUMED_NUMBERS: [u64; MOST_SETS] = [512, 256, 384, 128, 8, 16];
/// Clusters of the grid along its first axis where one has too much work: more than the tiles of a problem whose sizes are
/// all 512 (4 x 4 x 512 of 128 x 128), so that a cluster has one tile at most.
pub(crate) const MANY_CLUSTERS: u32 = 1 << 16;
/// Parts of the work that a cluster has where it is to have several: one more than four stages, so that each accumulator
/// and each buffer of what is handed on is used again.
pub(crate) const FEW_PARTS: u32 = 5;
/// Threads of a CTA whose kernel does not say: a warpgroup, a warp, and two warpgroups.
const ASSUMED_THREADS: [u32; 3] = [128, 32, 256];

/// A launch that is tried.
#[derive(Clone, Debug)]
pub(crate) struct Hypothesis {
    pub(crate) launch: Launch,
    pub(crate) assumption: Assumption,
}

/// The values that are assumed, the same for all threads that read them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Assumption {
    /// What the numbers among the parameters are.
    pub(crate) number: u64,
    content: AssumedContents,
    /// Whether the shape of the cluster is assumed.
    pub(crate) assumes_cluster: bool,
    /// A value of the parameters that differs from the number: its first byte, and the value.
    pub(crate) other: Option<(u64, u64)>,
}

/// Elements after which rising contents reach the number: as few as a batch has, so that lengths differ and none is larger
/// than what the parameters give for all of them.
const RISES: u64 = 4;

impl Assumption {
    /// That of a set; where it makes too much work, smaller by a factor.
    pub(crate) fn of(set: usize, smaller: u64) -> Self {
        const CONTENTS: [AssumedContents; MOST_SETS] = [
            AssumedContents::Rising,
            AssumedContents::Zeros,
            AssumedContents::Ones,
            AssumedContents::Equal,
            AssumedContents::Ones,
            AssumedContents::Indices,
        ];
        let number = (ASSUMED_NUMBERS[set % MOST_SETS] / smaller.max(1)).max(1);
        Self { number, content: CONTENTS[set % MOST_SETS], assumes_cluster: false, other: None }
    }

    /// That of a launch file.
    pub(crate) const fn said(AssumeFile { number, contents }: AssumeFile) -> Self {
        Self { number, content: contents, assumes_cluster: false, other: None }
    }

    /// What a launch file says for it.
    pub(crate) const fn file(self) -> AssumeFile {
        AssumeFile { number: self.number, contents: self.content }
    }

    /// Zeros everywhere.
    pub(crate) const fn zeros() -> Self {
        Self { number: 0, content: AssumedContents::Zeros, assumes_cluster: false, other: None }
    }

    /// What an element of a buffer holds, at an offset in bytes.
    pub(crate) const fn element(self, at: u64, bytes: u64) -> u64 {
        match self.content {
            AssumedContents::Rising if bytes >= 4 => {
                (at / bytes + 1).wrapping_mul(self.number.div_ceil(RISES))
            }
            AssumedContents::Equal if bytes >= 4 => self.number,
            AssumedContents::Indices if bytes >= 4 => at / bytes,
            AssumedContents::Rising
            | AssumedContents::Ones
            | AssumedContents::Equal
            | AssumedContents::Indices => 1,
            AssumedContents::Zeros => 0,
        }
    }

    /// What a byte among the parameters is.
    pub(crate) const fn flag(self) -> u64 {
        match self.content {
            AssumedContents::Zeros => 0,
            AssumedContents::Rising
            | AssumedContents::Ones
            | AssumedContents::Equal
            | AssumedContents::Indices => 1,
        }
    }

    /// What an instruction results in that is not computed, and what copies bring that are not made.
    pub(crate) const fn result(self) -> u64 {
        match self.content {
            AssumedContents::Rising
            | AssumedContents::Zeros
            | AssumedContents::Equal
            | AssumedContents::Indices => 0,
            AssumedContents::Ones => 1,
        }
    }
}

impl Launch {
    /// The launch that is assumed of a kernel that comes alone, in the shape that is given: one of several.
    pub(crate) fn assumed(
        unit: &Unit,
        function: &Function,
        parameters: &[Parameter],
        dynamic_smem: u32,
        (set, smaller): (usize, u64),
        shape: &LaunchShape,
    ) -> Self {
        let said = Directives::of(unit, function);
        let mut assumed = Vec::new();
        let block = shape.block.or(said.block).unwrap_or_else(|| {
            assumed.push("the number of threads in a CTA".to_owned());
            [ASSUMED_THREADS[set % ASSUMED_THREADS.len()], 1, 1]
        });
        let cluster = shape.cluster.or(said.cluster).unwrap_or([1, 1, 1]);
        let grid = shape.grid.unwrap_or(cluster);
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
            grid,
            block,
            cluster,
            dynamic_smem,
            registers: None,
            cooperative: true,
            assume_zeros: false,
            assumes: None,
            arguments,
            memory: Memory::default(),
            outs: Vec::new(),
            arrays: Vec::new(),
            believes: true,
            assumed,
        }
    }
}

impl Kernel<'_> {
    /// An assumed launch in words: the numbers that chose the ways of threads, and its shape.
    pub(crate) fn described(
        &self,
        Hypothesis { launch, assumption }: &Hypothesis,
        leading: &BTreeSet<u64>,
    ) -> String {
        /// More are not named.
        const MOST: usize = 4;
        let mut words: Vec<String> = Vec::new();
        for word in leading.iter().take(MOST) {
            let is_there =
                |it: &&program::Parameter| (it.offset.into()..u64::from(it.offset + it.bytes)).contains(word);
            let Some(parameter) = self.program.parameters.iter().find(is_there) else { continue };
            let within = word - u64::from(parameter.offset);
            let place = if within > 0 { format!("+{within}") } else { String::new() };
            let other = assumption.other.filter(|(other, _)| other == word);
            let number = other.map_or(assumption.number, |(_, number)| number);
            words.push(format!("`{}{place}` = {number}", parameter.name));
        }
        if leading.len() > MOST {
            words.push(format!("{} more numbers", leading.len() - MOST));
        }
        let shape = |of: [u32; 3]| of.map(|size| size.to_string()).join("x");
        words.push(format!("grid {}", shape(launch.grid)));
        words.push(format!("block {}", shape(launch.block)));
        words.join(", ")
    }
}
