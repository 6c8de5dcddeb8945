//! Tensor maps: what a launch says of a tensor, in the 128 bytes that a kernel is given.
//!
//! What the bits of a real one mean is the driver's secret. These are laid out for the machine, and
//! recognised by their first bytes: a kernel only hands them on, or changes fields by
//! `tensormap.replace`.

use super::addresses::{self, Element, Im2col, Tensor, Tile};
use crate::isa::generic::TensormapField;

/// How the bytes of a box lie in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
pub enum Swizzle {
    /// As they are.
    #[serde(rename = "none")]
    None,
    /// Over 32 bytes.
    #[serde(rename = "32B")]
    Bytes32,
    /// Over 64 bytes.
    #[serde(rename = "64B")]
    Bytes64,
    /// Over 128 bytes.
    #[serde(rename = "128B")]
    Bytes128,
    /// Over 128 bytes, in units of 32.
    #[serde(rename = "128B_ATOM_32B")]
    Bytes128Atom32,
    /// The same, with halves of units exchanged.
    #[serde(rename = "128B_ATOM_32B_FLIP_8B")]
    Bytes128Atom32Flip8,
    /// Over 128 bytes, in units of 64.
    #[serde(rename = "128B_ATOM_64B")]
    Bytes128Atom64,
}

/// How elements are interleaved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
pub enum Interleave {
    /// Not.
    #[default]
    #[serde(rename = "none")]
    None,
    /// By 16 bytes.
    #[serde(rename = "16B")]
    Bytes16,
    /// By 32 bytes.
    #[serde(rename = "32B")]
    Bytes32,
}

/// What stands for elements that are out of bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
pub enum Fill {
    /// Zeros.
    #[default]
    #[serde(rename = "zero")]
    Zero,
    /// A NaN that `fma.oob` takes for zero (`CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA`).
    #[serde(rename = "nan")]
    Nan,
}

/// What a map in im2col mode says instead of a box. Corners have a number for each dimension but the first, the
/// channels, and the last, the images.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// Where the box that the filter's corner walks in starts, from the start of the image on.
    pub lower: Vec<i32>,
    /// Where it ends, from the end of the image on.
    pub upper: Vec<i32>,
    /// Channels of a pixel.
    pub channels: u32,
    /// Pixels of a column.
    pub pixels: u32,
    /// Whether pixels are taken along W alone. Then corners have a number for W only.
    pub wide: Option<Wide>,
}

/// How many pixels a copy along W alone takes (`CUtensorMapIm2ColWideMode`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
pub enum Wide {
    /// As many as a column has: `.im2col::w`.
    W,
    /// 128: `.im2col::w::128`.
    W128,
}

impl Window {
    /// Pixels that a copy takes.
    pub fn taken(&self) -> u32 {
        if self.wide == Some(Wide::W128) { 128 } else { self.pixels }
    }
}

impl Interleave {
    /// Bytes of a slice of channels, which are together in the tensor and in a box.
    pub const fn slice_bytes(self) -> Option<u32> {
        match self {
            Self::None => None,
            Self::Bytes16 => Some(16),
            Self::Bytes32 => Some(32),
        }
    }
}

impl Swizzle {
    /// As a launch file names it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Bytes32 => "32B",
            Self::Bytes64 => "64B",
            Self::Bytes128 => "128B",
            Self::Bytes128Atom32 => "128B_ATOM_32B",
            Self::Bytes128Atom32Flip8 => "128B_ATOM_32B_FLIP_8B",
            Self::Bytes128Atom64 => "128B_ATOM_64B",
        }
    }

    /// The one that a launch file names so.
    pub fn named(name: &str) -> Option<Self> {
        SWIZZLES.into_iter().find(|it| it.name() == name)
    }

    /// All names.
    pub fn names() -> [&'static str; 7] {
        SWIZZLES.map(Self::name)
    }

    const fn of_addresses(self) -> addresses::Swizzle {
        match self {
            Self::None => addresses::Swizzle::None,
            Self::Bytes32 => addresses::Swizzle::Bytes32,
            Self::Bytes64 => addresses::Swizzle::Bytes64,
            Self::Bytes128 => addresses::Swizzle::Bytes128,
            Self::Bytes128Atom32 => addresses::Swizzle::Bytes128Atom32,
            Self::Bytes128Atom32Flip8 => addresses::Swizzle::Bytes128Atom32Flip8,
            Self::Bytes128Atom64 => addresses::Swizzle::Bytes128Atom64,
        }
    }
}

const SWIZZLES: [Swizzle; 7] = [
    Swizzle::None,
    Swizzle::Bytes32,
    Swizzle::Bytes64,
    Swizzle::Bytes128,
    Swizzle::Bytes128Atom32,
    Swizzle::Bytes128Atom32Flip8,
    Swizzle::Bytes128Atom64,
];
const INTERLEAVES: [Interleave; 3] = [Interleave::None, Interleave::Bytes16, Interleave::Bytes32];

/// Bytes of a tensor map.
pub const BYTES: usize = 128;
const MAGIC: [u8; 8] = *b"ptxtcmap";

/// The type of a tensor's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementType {
    /// Bytes: also what has eight bits in one.
    U8,
    /// Unsigned, 16 bits.
    U16,
    /// Unsigned, 32 bits.
    U32,
    /// Signed, 32 bits.
    S32,
    /// Unsigned, 64 bits.
    U64,
    /// Signed, 64 bits.
    S64,
    /// Half precision.
    F16,
    /// Single precision.
    F32,
    /// The same, whose reductions flush subnormal numbers to zero.
    F32Ftz,
    /// Double precision.
    F64,
    /// The upper half of a single.
    Bf16,
    /// Singles of 19 bits.
    Tf32,
    /// The same, whose reductions flush subnormal numbers to zero.
    Tf32Ftz,
    /// Four bits, as dense in shared memory.
    B4x16,
    /// Four bits, of which 16 take 16 bytes of shared memory.
    B4x16P64,
    /// Six bits, of which 16 take 16 bytes of shared memory.
    B6x16P32,
}

/// By the number that `tensormap.replace` has for the type.
const ELEMENT_TYPES: [ElementType; 16] = [
    ElementType::U8,
    ElementType::U16,
    ElementType::U32,
    ElementType::S32,
    ElementType::U64,
    ElementType::S64,
    ElementType::F16,
    ElementType::F32,
    ElementType::F32Ftz,
    ElementType::F64,
    ElementType::Bf16,
    ElementType::Tf32,
    ElementType::Tf32Ftz,
    ElementType::B4x16,
    ElementType::B4x16P64,
    ElementType::B6x16P32,
];

impl ElementType {
    /// The types by the names that a launch file has for them.
    const NAMES: [(&'static str, Self); 27] = [
        ("u8", Self::U8),
        ("s8", Self::U8),
        ("b8", Self::U8),
        ("u16", Self::U16),
        ("s16", Self::U16),
        ("b16", Self::U16),
        ("u32", Self::U32),
        ("s32", Self::S32),
        ("b32", Self::U32),
        ("u64", Self::U64),
        ("s64", Self::S64),
        ("b64", Self::U64),
        ("f16", Self::F16),
        ("bf16", Self::Bf16),
        ("f32", Self::F32),
        ("f32_ftz", Self::F32Ftz),
        ("tf32", Self::Tf32),
        ("tf32_ftz", Self::Tf32Ftz),
        ("f64", Self::F64),
        ("e4m3", Self::U8),
        ("e5m2", Self::U8),
        ("f8", Self::U8),
        ("ue8m0", Self::U8),
        ("b4x16", Self::B4x16),
        ("e2m1", Self::B4x16),
        ("b4x16_p64", Self::B4x16P64),
        ("b6x16_p32", Self::B6x16P32),
    ];

    /// All names.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Self::NAMES.iter().map(|(name, _)| *name)
    }

    /// A type of so many bits, in global and in shared memory.
    pub(crate) const fn of_bits(bits: u32, shared_bits: u32) -> Self {
        match (bits, shared_bits) {
            (4, 4) => Self::B4x16,
            (4, _) => Self::B4x16P64,
            (6, _) => Self::B6x16P32,
            (8, _) => Self::U8,
            (32, _) => Self::F32,
            (64, _) => Self::F64,
            _ => Self::F16,
        }
    }

    /// The first name that a launch file has for it.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, ty)| *ty == self).map_or("u8", |(name, _)| *name)
    }

    /// The type that a launch file names.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, ty)| *ty)
    }

    /// Bits in global memory.
    pub const fn bits(self) -> u32 {
        match self {
            Self::B4x16 | Self::B4x16P64 => 4,
            Self::B6x16P32 => 6,
            Self::U8 => 8,
            Self::U16 | Self::F16 | Self::Bf16 => 16,
            Self::U32 | Self::S32 | Self::F32 | Self::F32Ftz | Self::Tf32 | Self::Tf32Ftz => 32,
            Self::U64 | Self::S64 | Self::F64 => 64,
        }
    }

    /// Whether it is of floating point.
    pub const fn is_float(self) -> bool {
        match self {
            Self::F16 | Self::F32 | Self::F32Ftz | Self::F64 | Self::Bf16 | Self::Tf32 | Self::Tf32Ftz => {
                true
            }
            Self::U8
            | Self::U16
            | Self::U32
            | Self::S32
            | Self::U64
            | Self::S64
            | Self::B4x16
            | Self::B4x16P64
            | Self::B6x16P32 => false,
        }
    }

    /// How it lies in shared memory.
    pub(crate) const fn of_addresses(self) -> Element {
        Element { bits: self.bits(), is_padded: self.shared_bits() != self.bits() }
    }

    /// Bits in shared memory.
    pub const fn shared_bits(self) -> u32 {
        match self {
            Self::B4x16P64 | Self::B6x16P32 => 8,
            _ => self.bits(),
        }
    }
}

/// Elements that are padded in shared memory come in boxes of so many.
const PADDED: u32 = 128;

/// Why the driver makes no such map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfit {
    /// Which part of it is wrong, as a launch file calls it.
    pub key: &'static str,
    /// Why.
    pub why: String,
}

impl std::fmt::Display for Unfit {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.why)
    }
}

impl std::error::Error for Unfit {}

fn unfit(key: &'static str, why: impl Into<String>) -> Result<(), Unfit> {
    Err(Unfit { key, why: why.into() })
}

/// A tensor map. The innermost dimension comes first.
///
/// Where channels are interleaved, the 16 or 32 bytes of a slice of them are no dimension. The first dimension is W, then
/// H and D as far as there are, the slices, the images. An H100 takes one slice, whatever the box says of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorMap {
    /// What it is made of.
    pub element: ElementType,
    /// The address of the first element.
    pub base: u64,
    /// Elements.
    pub dims: Vec<u32>,
    /// Bytes from one element to the next, but for the innermost dimension.
    pub strides: Vec<u64>,
    /// Elements of a box; none in im2col mode.
    pub box_dims: Vec<u32>,
    /// Of each dimension, every so many-th element is taken: 1 to 8. That of the first counts only where elements are
    /// interleaved.
    pub steps: Vec<u32>,
    /// What is out of bounds.
    pub fill: Fill,
    /// The column of im2col mode.
    pub window: Option<Window>,
    /// How the box lies in shared memory.
    pub swizzle: Swizzle,
    /// How elements are interleaved.
    pub interleave: Interleave,
}

impl TensorMap {
    /// A map over elements that lie next to each other, with boxes of so many elements. The innermost dimension comes
    /// first. Nothing is swizzled.
    pub fn tiled(element: ElementType, base: u64, dims: Vec<u32>, box_dims: Vec<u32>) -> Self {
        let map = Self {
            element,
            base,
            strides: Vec::new(),
            steps: vec![1; dims.len()],
            dims,
            box_dims,
            fill: Fill::Zero,
            window: None,
            swizzle: Swizzle::None,
            interleave: Interleave::None,
        };
        map.packed()
    }

    /// The same with the strides of elements that lie next to each other.
    #[must_use]
    pub fn packed(self) -> Self {
        let mut bits = self.inner_bits();
        let outer = self.dims.iter().take(self.dims.len().saturating_sub(1));
        let strides = outer.map(|dim| {
            bits = bits.saturating_mul(u64::from(*dim));
            bits.div_ceil(8)
        });
        Self { strides: strides.collect(), ..self }
    }

    /// Whether its channels are interleaved.
    pub fn is_interleaved(&self) -> bool {
        self.interleave != Interleave::None
    }

    /// Bits from one to the next along the innermost dimension.
    fn inner_bits(&self) -> u64 {
        self.interleave.slice_bytes().map_or(self.element.bits().into(), |bytes| 8 * u64::from(bytes))
    }

    /// Bytes from its base to the end of its last element.
    pub fn bytes(&self) -> u64 {
        let row =
            u64::from(self.dims.first().copied().unwrap_or(0)).saturating_mul(self.inner_bits()).div_ceil(8);
        let others = self.dims.iter().skip(1).zip(&self.strides);
        others.fold(row, |all, (dim, stride)| {
            all.saturating_add(u64::from(dim.saturating_sub(1)).saturating_mul(*stride))
        })
    }

    /// What the driver refuses (CUDA Driver API, `cuTensorMapEncodeTiled` and `cuTensorMapEncodeIm2col`).
    ///
    /// # Errors
    /// With what is wrong, and what would be right.
    pub fn check(&self) -> Result<(), Unfit> {
        let Self { element, base, dims, strides, steps, swizzle, interleave, .. } = self;
        let rank = dims.len();
        let is_padded = matches!(element, ElementType::B4x16P64 | ElementType::B6x16P32);
        let align = if is_padded || *interleave == Interleave::Bytes32 { 32 } else { 16 };
        if !(1..=5).contains(&rank) || dims.contains(&0) {
            return unfit("dims", "a tensor has 1 to 5 dimensions, none of them 0");
        }
        let whole = match element {
            ElementType::B4x16 => 2,
            ElementType::B4x16P64 | ElementType::B6x16P32 => PADDED,
            _ => 1,
        };
        if !dims[0].is_multiple_of(whole) {
            let name = element.name();
            let why = format!(
                "the inner dimension of a tensor of `{name}` is a multiple of {whole}, not {}",
                dims[0]
            );
            return unfit("dims", why);
        }
        if !base.is_multiple_of(align) {
            return unfit(
                "base",
                format!("the address of the tensor is a multiple of {align}, not {base:#x}"),
            );
        }
        if strides.len() + 1 != rank {
            let why =
                format!("a tensor of {rank} dimensions has {} strides, not {}", rank - 1, strides.len());
            return unfit("strides_bytes", why);
        }
        if let Some(stride) = strides.iter().find(|it| !it.is_multiple_of(align) || **it >= 1 << 40) {
            let why = format!("strides are multiples of {align} bytes below 2^40, not {stride}");
            return unfit("strides_bytes", why);
        }
        if steps.len() != rank || steps.iter().any(|step| !(1..=8).contains(step)) {
            return unfit("element_strides", "element strides are as many as dimensions, each 1 to 8");
        }
        if self.fill == Fill::Nan && !element.is_float() {
            return unfit("oob_fill", "NaN is for elements of floating point only");
        }
        if *interleave != Interleave::None && rank < 3 {
            return unfit("interleave", "a tensor with interleaved elements has 3 to 5 dimensions");
        }
        if *interleave != Interleave::None && *element == ElementType::B6x16P32 {
            return unfit("interleave", "elements of six bits are not interleaved");
        }
        if *interleave == Interleave::Bytes32 && *swizzle != Swizzle::Bytes32 {
            return unfit("swizzle", "with an interleave of 32 bytes goes a swizzle of 32 bytes");
        }
        if is_padded && matches!(swizzle, Swizzle::Bytes32 | Swizzle::Bytes64 | Swizzle::Bytes128Atom32Flip8)
        {
            let why = "elements that are padded in shared memory have no swizzle, or one over 128 bytes that flips nothing";
            return unfit("swizzle", why);
        }
        let (key, what, elements) = if let Some(window) = &self.window {
            self.check_window(window)?;
            ("channels_per_pixel", "the channels of a pixel have", window.channels)
        } else {
            let dims = &self.box_dims;
            if dims.len() != rank || dims.iter().any(|dim| !(1..=256).contains(dim)) {
                return unfit("box", "a box has as many dimensions as the tensor, each 1 to 256");
            }
            ("box", "the inner dimension of a box has", dims[0])
        };
        if is_padded && elements != PADDED {
            let why = format!("{what} {PADDED} elements of `{}`, not {elements}", element.name());
            return unfit(key, why);
        }
        let inner = u64::from(elements) * u64::from(element.shared_bits()) / 8;
        if self.window.is_none() && (inner == 0 || !inner.is_multiple_of(16)) {
            return unfit(key, format!("{what} a multiple of 16 bytes, not {inner}"));
        }
        match swizzle.of_addresses().span() {
            Some(span) if !self.is_interleaved() && inner > u64::from(span) => {
                let why = format!(
                    "{what} {inner} bytes, but a swizzle of {span} bytes has room for {span}: make it narrower, or the \
                     swizzle wider"
                );
                unfit(key, why)
            }
            _ => Ok(()),
        }
    }

    /// The same for what im2col mode says instead of a box.
    fn check_window(&self, window: &Window) -> Result<(), Unfit> {
        // So many bits of each offset.
        let bits = match self.dims.len() {
            3 => 16,
            4 | 5 if window.wide.is_some() => 16,
            4 => 8,
            5 => 5,
            _ => return unfit("dims", "a tensor map in im2col mode has 3 to 5 dimensions"),
        };
        if window.wide.is_some() {
            // PTX ISA, "im2col::w and im2col::w::128 modes" and "Interleave layout".
            if self.is_interleaved() {
                return unfit(
                    "interleave",
                    "channels are not interleaved where pixels are taken along W alone",
                );
            }
            if matches!(self.swizzle, Swizzle::None | Swizzle::Bytes128Atom32Flip8) {
                let why = "where pixels are taken along W alone, boxes are swizzled, and nothing is flipped";
                return unfit("swizzle", why);
            }
        }
        // Those that the corner walks along: without the channels, or with interleaved ones without the slices.
        let walked = if window.wide.is_some() { 1 } else { self.dims.len() - 2 };
        let first = usize::from(!self.is_interleaved());
        let between = &self.dims[first..first + walked];
        let range = -(1 << (bits - 1))..1 << (bits - 1);
        for (key, corner) in [("lower_corner", &window.lower), ("upper_corner", &window.upper)] {
            if corner.len() != between.len() || !corner.iter().all(|it| range.contains(it)) {
                let which = match (window.wide, self.is_interleaved()) {
                    (Some(_), _) => "one number, for W,",
                    (None, true) => "a number for each dimension but the last two, each",
                    (None, false) => "a number for each dimension but the first and the last, each",
                };
                let why = format!("a corner has {which} of {} to {}", range.start, range.end - 1);
                return unfit(key, why);
            }
        }
        let corners = window.lower.iter().zip(&window.upper);
        for (dim, (lower, upper)) in between.iter().zip(corners) {
            if i64::from(*dim) + i64::from(*upper) <= i64::from(*lower) {
                let why = format!(
                    "the box that the filter's corner walks in is empty: it goes from {lower} to {upper} after the end of \
                     {dim} elements"
                );
                return unfit("upper_corner", why);
            }
        }
        if !(1..=256).contains(&window.channels) {
            let why = format!("a pixel has 1 to 256 channels, not {}", window.channels);
            return unfit("channels_per_pixel", why);
        }
        if !(1..=1024).contains(&window.pixels) {
            return unfit(
                "pixels_per_column",
                format!("a column has 1 to 1024 pixels, not {}", window.pixels),
            );
        }
        Ok(())
    }

    /// The bytes that a kernel is given.
    pub fn encode(&self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8] = ELEMENT_TYPES.iter().position(|it| *it == self.element).unwrap_or(0) as u8;
        bytes[10] = self.dims.len() as u8;
        bytes[11] = SWIZZLES.iter().position(|it| *it == self.swizzle).unwrap_or(0) as u8;
        bytes[12] = INTERLEAVES.iter().position(|it| *it == self.interleave).unwrap_or(0) as u8;
        bytes[16..24].copy_from_slice(&self.base.to_le_bytes());
        for (index, dim) in self.dims.iter().take(5).enumerate() {
            bytes[24 + index * 4..28 + index * 4].copy_from_slice(&dim.to_le_bytes());
        }
        for (index, stride) in self.strides.iter().take(4).enumerate() {
            bytes[44 + index * 8..52 + index * 8].copy_from_slice(&stride.to_le_bytes());
        }
        for (index, dim) in self.box_dims.iter().take(5).enumerate() {
            bytes[76 + index * 4..80 + index * 4].copy_from_slice(&dim.to_le_bytes());
        }
        for (index, step) in self.steps.iter().take(5).enumerate() {
            bytes[96 + index] = *step as u8;
        }
        bytes[13] = u8::from(self.fill == Fill::Nan);
        if let Some(window) = &self.window {
            bytes[14] = match window.wide {
                None => 1,
                Some(Wide::W) => 2,
                Some(Wide::W128) => 3,
            };
            bytes[76..80].copy_from_slice(&window.channels.to_le_bytes());
            bytes[80..84].copy_from_slice(&window.pixels.to_le_bytes());
            for (corner, at) in [(&window.lower, 104), (&window.upper, 116)] {
                for (index, offset) in corner.iter().take(3).enumerate() {
                    bytes[at + index * 4..at + 4 + index * 4].copy_from_slice(&offset.to_le_bytes());
                }
            }
        }
        bytes
    }

    /// The map that bytes are, if they are one.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        if bytes.len() < BYTES || bytes[..8] != MAGIC {
            return None;
        }
        let rank = usize::from(bytes[10]).min(5);
        let word = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let double = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let wide = match bytes[14] {
            2 => Some(Wide::W),
            3 => Some(Wide::W128),
            _ => None,
        };
        let walked = if wide.is_some() { 1 } else { rank.saturating_sub(2) };
        let corner = |at: usize| -> Option<Vec<i32>> {
            (0..walked).map(|index| Some(word(at + index * 4)?.cast_signed())).collect()
        };
        let window = match bytes[14] {
            0 => None,
            _ => Some(Window {
                lower: corner(104)?,
                upper: corner(116)?,
                channels: word(76)?,
                pixels: word(80)?,
                wide,
            }),
        };
        let boxed = if window.is_some() { 0 } else { rank };
        Some(Self {
            element: *ELEMENT_TYPES.get(usize::from(bytes[8]))?,
            base: double(16)?,
            dims: (0..rank).map(|index| word(24 + index * 4)).collect::<Option<_>>()?,
            strides: (0..rank.saturating_sub(1))
                .map(|index| double(44 + index * 8))
                .collect::<Option<_>>()?,
            box_dims: (0..boxed).map(|index| word(76 + index * 4)).collect::<Option<_>>()?,
            swizzle: *SWIZZLES.get(usize::from(bytes[11]))?,
            interleave: *INTERLEAVES.get(usize::from(bytes[12]))?,
            // A map that a kernel puts together has zeros there first.
            steps: bytes[96..96 + rank].iter().map(|step| u32::from(*step).max(1)).collect(),
            fill: if bytes[13] == 0 { Fill::Zero } else { Fill::Nan },
            window,
        })
    }

    /// Changes a field in the bytes of a map. Bytes that are none are made the map whose fields are all zero: of one
    /// dimension, of bytes. The values are those
    /// of `tensormap.replace`. Whether there is such a field.
    pub(crate) fn replace(bytes: &mut [u8; BYTES], field: TensormapField, ordinal: u32, value: u64) -> bool {
        if bytes[..8] != MAGIC {
            *bytes = [0; BYTES];
            bytes[..8].copy_from_slice(&MAGIC);
            bytes[10] = 1;
        }
        let ordinal = ordinal as usize;
        let (at, len) = match field {
            TensormapField::GlobalAddress => (16, 8),
            TensormapField::GlobalDim if ordinal < 5 => (24 + ordinal * 4, 4),
            TensormapField::GlobalStride if ordinal < 4 => (44 + ordinal * 8, 8),
            TensormapField::BoxDim if ordinal < 5 => (76 + ordinal * 4, 4),
            TensormapField::Rank => {
                bytes[10] = (value as u8).wrapping_add(1);
                return true;
            }
            TensormapField::Elemtype => {
                bytes[8] = value as u8;
                return value < ELEMENT_TYPES.len() as u64;
            }
            TensormapField::SwizzleMode => {
                bytes[11] = value as u8;
                return value < 4;
            }
            TensormapField::InterleaveLayout => {
                bytes[12] = value as u8;
                return value < 3;
            }
            TensormapField::ElementStride if ordinal < 5 => {
                bytes[96 + ordinal] = value as u8;
                return value < 9;
            }
            TensormapField::FillMode => {
                bytes[13] = value as u8;
                return value < 2;
            }
            TensormapField::SwizzleAtomicity => return true,
            TensormapField::GlobalDim
            | TensormapField::GlobalStride
            | TensormapField::BoxDim
            | TensormapField::ElementStride => {
                return false;
            }
        };
        bytes[at..at + len].copy_from_slice(&value.to_le_bytes()[..len]);
        true
    }

    /// The boxes that it describes; nothing if no source says where their bytes lie.
    pub(crate) fn tile(&self) -> Option<Tile> {
        if self.dims.len() != self.box_dims.len() {
            return None;
        }
        let mut sizes = self.box_dims.clone();
        let tensor = self.tensor()?;
        if self.is_interleaved() {
            *sizes.iter_mut().rev().nth(1)? = 1;
            sizes.insert(0, 1);
        }
        Some(Tile {
            tensor,
            sizes,
            steps: self.steps_of_tensor(),
            swizzle: self.swizzle.of_addresses(),
            is_interleaved: self.is_interleaved(),
        })
    }

    /// What it describes. Slices of interleaved channels are elements, and their one dimension comes first.
    fn tensor(&self) -> Option<Tensor> {
        let Self { element, dims, strides, .. } = self;
        if strides.len() + 1 != dims.len() {
            return None;
        }
        let (mut sizes, mut strides) = (dims.clone(), strides.clone());
        let Some(slice) = self.interleave.slice_bytes() else {
            return Some(Tensor { element: element.of_addresses(), sizes, strides });
        };
        // The record of an H100 has elements of whole bytes.
        if dims.len() < 3 || element.bits() < 8 {
            return None;
        }
        sizes.insert(0, 1);
        strides.insert(0, slice.into());
        Some(Tensor { element: Element::bytes(slice), sizes, strides })
    }

    /// By how much the elements of that tensor that are taken lie apart.
    fn steps_of_tensor(&self) -> Vec<u32> {
        let slice = self.is_interleaved().then_some(1);
        slice.into_iter().chain(self.steps.iter().copied()).collect()
    }

    /// The columns that it describes in im2col mode; nothing if no source says where their bytes lie.
    pub(crate) fn im2col(&self) -> Option<Im2col> {
        let window = self.window.as_ref()?;
        let is_plain =
            self.element.shared_bits() == self.element.bits() && (3..=5).contains(&self.dims.len());
        let tensor = self.tensor().filter(|_| is_plain)?;
        Some(Im2col {
            tensor,
            lower: window.lower.clone(),
            upper: window.upper.clone(),
            channels: if self.is_interleaved() { 1 } else { window.channels },
            pixels: window.taken(),
            steps: self.steps_of_tensor(),
            swizzle: self.swizzle.of_addresses(),
            is_interleaved: self.is_interleaved(),
        })
    }

    /// What stands for so many bytes out of bounds; nothing if no source says it.
    pub(crate) fn filled(&self, len: usize) -> Option<Vec<u8>> {
        match (self.fill, self.element) {
            (Fill::Zero, _) => Some(vec![0; len]),
            // An H200 repeats the pattern of halves.
            (Fill::Nan, ElementType::F16 | ElementType::Bf16 | ElementType::F32 | ElementType::F64) => {
                Some([0xF7, 0x7F].into_iter().cycle().take(len).collect())
            }
            (Fill::Nan, _) => None,
        }
    }

    /// Bytes of a box that a copy moves, or of a column: what an mbarrier counts.
    ///
    /// Elements that are padded in shared memory count without their padding. The ISA does not say so; CUTLASS and
    /// `TileLang` expect it, and what they compile runs.
    pub fn box_bytes(&self) -> u64 {
        let is_interleaved = self.is_interleaved();
        let slices = self.box_dims.len().wrapping_sub(2);
        let taken = |(index, dim): (usize, &u32)| {
            let step = self.steps.get(index).copied().unwrap_or(1).max(1);
            u64::from(match index {
                _ if is_interleaved && index == slices => 1,
                0 if !is_interleaved => *dim,
                _ => dim.div_ceil(step),
            })
        };
        let elements: u64 = self.window.as_ref().map_or_else(
            || self.box_dims.iter().enumerate().map(taken).product(),
            |window| u64::from(if is_interleaved { 1 } else { window.channels }) * u64::from(window.taken()),
        );
        elements * self.inner_bits() / 8
    }

    /// Bytes of the innermost row of a box that a copy moves.
    pub fn row_bytes(&self) -> u64 {
        u64::from(self.box_dims.first().copied().unwrap_or(0)) * self.inner_bits() / 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_comes_back() {
        let map = TensorMap {
            element: ElementType::Bf16,
            base: 5 << 34,
            dims: vec![256, 128, 3],
            strides: vec![512, 65536],
            box_dims: vec![64, 128, 1],
            swizzle: Swizzle::Bytes128,
            interleave: Interleave::None,
            steps: vec![1, 2, 8],
            fill: Fill::Nan,
            window: None,
        };
        assert_eq!(TensorMap::decode(&map.encode()), Some(map.clone()));
        let window = Window { lower: vec![-1], upper: vec![2], channels: 64, pixels: 100, wide: None };
        for (wide, pixels) in [(None, 100), (Some(Wide::W), 100), (Some(Wide::W128), 128)] {
            let window = Some(Window { wide, ..window.clone() });
            let column = TensorMap { window, box_dims: Vec::new(), ..map.clone() };
            assert_eq!(TensorMap::decode(&column.encode()), Some(column.clone()));
            assert_eq!(column.box_bytes(), 64 * pixels * 2);
        }
        assert_eq!(map.box_bytes(), 64 * 64 * 2);
        assert_eq!(TensorMap::decode(&[0; BYTES]), None);
    }
}
