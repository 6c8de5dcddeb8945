//! Launches as files say them.

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::{LaunchError, LaunchShape, Number, three};
use crate::tensor_map::{Fill, Interleave, Swizzle, Wide};

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
    /// Whether it is a cooperative launch, as of a kernel that calls `cooperative_groups::this_grid().sync()`.
    #[serde(default)]
    pub cooperative: bool,
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

impl LaunchFile {
    /// How large the launch is, as far as the file says it.
    ///
    /// # Errors
    /// When that is no size.
    pub fn shape(&self) -> Result<LaunchShape, LaunchError> {
        Ok(LaunchShape {
            grid: three(self.grid.as_deref(), "grid")?,
            block: three(self.block.as_deref(), "block")?,
            cluster: three(self.cluster.as_deref(), "cluster")?,
            dynamic_smem: self.dynamic_smem,
            cooperative: self.cooperative,
        })
    }
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
    /// In im2col mode: `W` or `W128`, where pixels are taken along W alone.
    pub wide: Option<Wide>,
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
    /// The fields of a struct, or of what a buffer holds, in their order.
    #[serde(default)]
    pub fields: Vec<ArgumentFile>,
}
