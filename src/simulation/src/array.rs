//! Arrays in files: what a buffer begins with, and what it holds in the end.
//!
//! A file that ends in `.npy` has the type and the shape of its array in a header (`NumPy` Enhancement Proposal 1,
//! "A Simple File Format for `NumPy` Arrays"); any other file is bytes.

use std::ops::Range;
use std::path::Path;

use super::launch::LaunchError;
use super::report::Output;

const MAGIC: &[u8] = b"\x93NUMPY";

/// The type of an array's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dtype {
    /// What it is called here: `f32`.
    pub name: &'static str,
    /// What `NumPy` calls it in full: `float32`; what it has no type for is unsigned.
    pub numpy: &'static str,
    /// What stands in a header, behind the order of bytes: `f4`.
    code: &'static str,
    /// Bytes of an element.
    pub bytes: usize,
}

const DTYPES: [Dtype; 18] = [
    dtype("u8", "uint8", "u1", 1),
    dtype("u16", "uint16", "u2", 2),
    dtype("u32", "uint32", "u4", 4),
    dtype("u64", "uint64", "u8", 8),
    dtype("i8", "int8", "i1", 1),
    dtype("i16", "int16", "i2", 2),
    dtype("i32", "int32", "i4", 4),
    dtype("i64", "int64", "i8", 8),
    dtype("f16", "float16", "f2", 2),
    dtype("f32", "float32", "f4", 4),
    dtype("f64", "float64", "f8", 8),
    dtype("bool", "bool", "b1", 1),
    // What follows has no type in `NumPy`: the bits as they are.
    dtype("bf16", "bfloat16", "u2", 2),
    dtype("tf32", "tfloat32", "f4", 4),
    dtype("e4m3", "float8_e4m3fn", "u1", 1),
    dtype("e5m2", "float8_e5m2", "u1", 1),
    dtype("ue8m0", "float8_e8m0fnu", "u1", 1),
    dtype("e2m1", "float4_e2m1fn", "u1", 1),
];

/// That of truth values.
const BOOL: Dtype = DTYPES[11];

const fn dtype(name: &'static str, numpy: &'static str, code: &'static str, bytes: usize) -> Dtype {
    Dtype { name, numpy, code, bytes }
}

impl Dtype {
    /// The type with a name: `f32`, `s32`, `float32`.
    ///
    /// # Errors
    /// When there is none, with the names that there are.
    pub fn named(name: &str) -> Result<Self, LaunchError> {
        let plain = match name.strip_prefix(['s', 'b']) {
            Some(bits) if bits.parse::<u32>().is_ok() => format!("i{bits}"),
            _ => name.to_owned(),
        };
        DTYPES.into_iter().find(|it| it.name == plain || it.numpy == name).ok_or_else(|| {
            let names: Vec<&str> = DTYPES.iter().map(|it| it.name).collect();
            LaunchError(format!("`{name}` is no type of an array; there are {}", names.join(", ")))
        })
    }

    /// That of bytes.
    pub const fn bytes() -> Self {
        DTYPES[0]
    }
}

/// The type and the shape of an array, as a header says them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    /// Of its elements.
    pub dtype: Dtype,
    /// Elements along each axis, the outermost first.
    pub shape: Vec<usize>,
}

impl Form {
    /// Bytes of such an array.
    pub fn bytes(&self) -> usize {
        self.shape.iter().fold(self.dtype.bytes, |all, size| all.saturating_mul(*size))
    }

    fn header(&self) -> Vec<u8> {
        let order = if self.dtype.bytes == 1 { '|' } else { '<' };
        let sizes: Vec<String> = self.shape.iter().map(usize::to_string).collect();
        let comma = if sizes.len() == 1 { "," } else { "" };
        let mut text = format!(
            "{{'descr': '{order}{}', 'fortran_order': False, 'shape': ({}{comma}), }}",
            self.dtype.code,
            sizes.join(", ")
        );
        // The data starts at a multiple of 64.
        let before = MAGIC.len() + 4;
        text.push_str(&" ".repeat((before + text.len() + 1).next_multiple_of(64) - before - text.len() - 1));
        text.push('\n');
        let mut header = MAGIC.to_vec();
        header.extend([1, 0]);
        header.extend((text.len() as u16).to_le_bytes());
        header.extend(text.bytes());
        header
    }
}

/// The bytes of the array in a file, and its form if the file says it.
///
/// # Errors
/// When it is the file of an array whose bytes are not in the order of C and of this machine.
pub fn read(file: Vec<u8>) -> Result<(Vec<u8>, Option<Form>), LaunchError> {
    if !file.starts_with(MAGIC) {
        return Ok((file, None));
    }
    let broken = || LaunchError("its header is not that of an array of NumPy".to_owned());
    let length = |range: Range<usize>| {
        let bytes = file.get(range)?;
        Some(bytes.iter().rev().fold(0usize, |all, byte| all << 8 | usize::from(*byte)))
    };
    let (start, len) = match file.get(6) {
        Some(1) => (10, length(8..10)),
        _ => (12, length(8..12)),
    };
    let end = len.and_then(|len| len.checked_add(start)).ok_or_else(broken)?;
    let text = file.get(start..end).and_then(|it| std::str::from_utf8(it).ok()).ok_or_else(broken)?;
    let value = |key: &str| {
        let (_, rest) = text.split_once(&format!("'{key}'"))?;
        Some(rest.trim_start().strip_prefix(':')?.trim_start())
    };
    let descr = value("descr").and_then(|it| it.strip_prefix('\'')?.split_once('\'')).ok_or_else(broken)?.0;
    let code = descr.trim_start_matches(['<', '|', '=']);
    let dtype = DTYPES.into_iter().find(|it| it.code == code).ok_or_else(|| {
        LaunchError(format!("its elements are `{descr}`: arrays of numbers in the order `<` are read"))
    })?;
    if value("fortran_order").is_some_and(|it| it.starts_with("True")) {
        return Err(LaunchError(
            "it is in Fortran's order: write `numpy.ascontiguousarray(a)`, or pass its transpose".to_owned(),
        ));
    }
    let shape = value("shape").and_then(|it| it.strip_prefix('(')?.split_once(')')).ok_or_else(broken)?.0;
    let sizes = shape.split(',').map(str::trim).filter(|size| !size.is_empty());
    let shape: Vec<usize> = sizes.map(str::parse).collect::<Result<_, _>>().map_err(|_| broken())?;
    let form = Form { dtype, shape };
    let data = file.get(end..).unwrap_or_default();
    if data.len() < form.bytes() {
        return Err(LaunchError(format!(
            "its header promises {} bytes, and {} follow",
            form.bytes(),
            data.len()
        )));
    }
    Ok((data[..form.bytes()].to_vec(), Some(form)))
}

/// What a buffer of a launch is an array of, and what it is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayOf {
    /// Which argument is the buffer, from 0, and which field if that is a struct.
    pub argument: usize,
    /// The field of the struct, from 0.
    pub field: Option<usize>,
    /// The file that it begins with.
    pub data: Option<String>,
    /// The file that gets what it holds in the end.
    pub out: Option<String>,
    /// Whether the launch says what it begins with.
    pub is_given: bool,
    /// The type of its elements, and how many there are.
    pub form: Form,
}

/// A file that a buffer is written to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutFile {
    /// Which argument is the buffer, from 0, and which field if that is a struct.
    pub argument: usize,
    /// The field of the struct, from 0.
    pub field: Option<usize>,
    /// The file.
    pub name: String,
    /// What the buffer is an array of.
    pub form: Form,
}

impl OutFile {
    /// Whether the file says what it is an array of.
    fn has_header(&self) -> bool {
        Path::new(&self.name).extension().is_some_and(|it| it.eq_ignore_ascii_case("npy"))
    }

    /// The bytes of the file.
    pub fn contents(&self, output: &Output) -> Vec<u8> {
        if !self.has_header() {
            return output.bytes.clone();
        }
        let mut file = self.form.header();
        file.extend_from_slice(&output.bytes[..output.bytes.len().min(self.form.bytes())]);
        file
    }

    /// The name of the file that says which elements are not known: `c.unknown.npy` beside `c.npy`.
    pub fn mask_name(&self) -> String {
        let stem = self.name.strip_suffix(".npy").unwrap_or(&self.name);
        format!("{stem}.unknown.npy")
    }

    /// The bytes of that file: an array of the same shape, true where an element is not known.
    pub fn mask(&self, output: &Output) -> Vec<u8> {
        let form = if self.has_header() {
            Form { dtype: BOOL, shape: self.form.shape.clone() }
        } else {
            Form { dtype: BOOL, shape: vec![output.bytes.len()] }
        };
        let size = if self.has_header() { self.form.dtype.bytes } else { 1 };
        let mut mask = vec![0; form.bytes()];
        for range in &output.unknown {
            let (first, last) = (range.start / size, range.end.div_ceil(size));
            let most = mask.len();
            mask[first.min(most)..last.min(most)].fill(1);
        }
        let mut file = form.header();
        file.extend(mask);
        file
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_comes_back() {
        for (name, shape) in [("f32", vec![3, 5]), ("u8", vec![7]), ("f16", vec![]), ("i64", vec![2, 0, 4])] {
            let form = Form { dtype: Dtype::named(name).unwrap(), shape };
            let data: Vec<u8> = (0..form.bytes()).map(|it| it as u8).collect();
            let mut file = form.header();
            assert!(file.len().is_multiple_of(64), "{}", file.len());
            file.extend(&data);
            assert_eq!(read(file), Ok((data, Some(form))));
        }
    }

    #[test]
    fn what_is_no_array_of_numbers_is_said() {
        let form = Form { dtype: Dtype::named("float32").unwrap(), shape: vec![2, 2] };
        let header = String::from_utf8_lossy(&form.header()[10..]).into_owned();
        let with = |from: &str, to: &str| {
            let text = header.replace(from, to);
            let mut file = MAGIC.to_vec();
            file.extend([1, 0]);
            file.extend((text.len() as u16).to_le_bytes());
            file.extend(text.bytes());
            file.extend([0; 16]);
            read(file).unwrap_err().0
        };
        assert!(with("False", "True").contains("Fortran"));
        assert!(with("<f4", ">f4").contains("`>f4`"));
        assert!(with("(2, 2)", "(2, 3)").contains("promises 24 bytes, and 16 follow"));
        assert!(with("'shape'", "'form'").contains("header"));
        assert_eq!(read(b"plain".to_vec()), Ok((b"plain".to_vec(), None)));
        assert!(Dtype::named("f33").unwrap_err().0.contains("f16, f32, f64"));
    }
}
