//! Elements of buffers: what they are called in a launch, and what they hold in the end of a run.

use std::path::Path;

use ptx_numbers::Format;

use crate::array::{ArrayOf, Form};
use crate::launch::{Launch, LaunchError};
use crate::{Kernel, KernelReport, Output};

/// An element of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element {
    /// Which argument names the buffer, from 0.
    pub argument: usize,
    /// Which field, if that is a struct, from 0.
    pub field: Option<usize>,
    /// Its first byte in the buffer.
    pub offset: u64,
    /// How many bytes it has: 1 to 8.
    pub bytes: u32,
}

/// The index of an element in an array.
pub(super) fn index_of(shape: &[usize], element: u64) -> Vec<u64> {
    let (mut left, mut index) = (element, Vec::new());
    for size in shape.iter().skip(1).rev() {
        index.push(left % (*size).max(1) as u64);
        left /= (*size).max(1) as u64;
    }
    index.push(left);
    index.reverse();
    index
}

/// The element of an array that a text names, such as `c.npy[17, 3]`.
///
/// # Errors
/// When there is no such array or no such element, with what can be written.
pub fn element(kernel: &Kernel<'_>, launch: &Launch, text: &str) -> Result<(Element, Form), LaunchError> {
    let usage = "an element is named like `c.npy[17, 3]`: a file or a parameter of the launch, and an index";
    let inner = text.trim().strip_suffix(']').and_then(|it| it.rsplit_once('['));
    let (name, index) = inner.ok_or_else(|| LaunchError(format!("`{text}` names no element; {usage}")))?;
    let index: Option<Vec<u64>> = index.split(',').map(|it| it.trim().parse().ok()).collect();
    let index = index.ok_or_else(|| LaunchError(format!("`{text}` has no index of numbers; {usage}")))?;
    let name = name.trim();
    let is_meant = |array: &&ArrayOf| {
        let of = |file: &Option<String>| {
            file.as_ref()
                .is_some_and(|file| file == name || Path::new(file).file_name().is_some_and(|it| it == name))
        };
        let parameter = kernel.program.parameters.get(array.argument);
        of(&array.out)
            || of(&array.data)
            || array.field.is_none() && parameter.is_some_and(|it| it.name == name)
    };
    // What is written to a file of this name comes first.
    let mut meant = launch.arrays.iter().filter(is_meant);
    let array = meant.clone().find(|array| array.out.as_deref() == Some(name)).or_else(|| meant.next());
    let array = array.ok_or_else(|| {
        let mut names: Vec<String> =
            launch.arrays.iter().flat_map(|it| it.out.iter().chain(&it.data)).cloned().collect();
        let parameters = launch.arrays.iter().filter(|it| it.field.is_none());
        names.extend(
            parameters.filter_map(|it| Some(kernel.program.parameters.get(it.argument)?.name.clone())),
        );
        names.dedup();
        LaunchError(format!("the launch has no array `{name}`; there are `{}`", names.join("`, `")))
    })?;
    let form = &array.form;
    let fits = index.len() == form.shape.len().max(1)
        && index.iter().zip(&form.shape).all(|(at, size)| *at < *size as u64);
    if !fits {
        let shape: Vec<String> = form.shape.iter().map(usize::to_string).collect();
        return Err(LaunchError(format!(
            "`{name}` has the shape ({}), and `{text}` is no element of it",
            shape.join(", ")
        )));
    }
    let flat = index.iter().zip(&form.shape).fold(0, |all, (at, size)| all * *size as u64 + at);
    let bytes = form.dtype.bytes as u32;
    let element =
        Element { argument: array.argument, field: array.field, offset: flat * u64::from(bytes), bytes };
    Ok((element, form.clone()))
}

/// Whether the values that a buffer has in the end are kept: those of arrays without `out` are not.
pub fn is_kept(report: &KernelReport, element: Element) -> bool {
    report.outputs.iter().any(|it| (it.argument, it.field) == (element.argument, element.field))
}

/// The value of an element in the end of a run, as people write it; nothing if it is not known, or not kept.
pub fn value(report: &KernelReport, element: Element, form: &Form) -> Option<String> {
    let is_it = |it: &&Output| (it.argument, it.field) == (element.argument, element.field);
    let output = report.outputs.iter().find(is_it)?;
    let range = element.offset as usize..element.offset as usize + element.bytes as usize;
    if output.unknown.iter().any(|it| it.start < range.end && range.start < it.end) {
        return None;
    }
    let bytes = output.bytes.get(range)?;
    let bits = bytes.iter().rev().fold(0_u64, |all, byte| all << 8 | u64::from(*byte));
    let unused = 64 - 8 * element.bytes.clamp(1, 8);
    let float = |format: Format| format.decode(bits as u32).to_string();
    Some(match form.dtype.name {
        "f64" => f64::from_bits(bits).to_string(),
        "f32" | "tf32" => f32::from_bits(bits as u32).to_string(),
        "f16" => float(Format::F16),
        "bf16" => float(Format::Bf16),
        "e4m3" => float(Format::E4m3),
        "e5m2" => float(Format::E5m2),
        "ue8m0" => float(Format::Ue8m0),
        "bool" => (bits != 0).to_string(),
        name if name.starts_with('i') => ((bits << unused).cast_signed() >> unused).to_string(),
        _ => bits.to_string(),
    })
}
