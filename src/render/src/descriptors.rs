//! Descriptors for people: a line for each multiply and copy, and one for each of its words.

use std::io::{self, Write};

use ptx_check::analysis::description::{Description, Matrix, Multiply, Word};
use ptx_check::descriptor::Values;
use ptx_check::descriptor::field::FieldValue;
use ptx_check::source::Source;

pub(crate) fn render(source: &Source, description: &Description, out: &mut dyn Write) -> io::Result<()> {
    let place = source.position(description.span.start);
    write!(out, "{}:{}:{}: {}", source.name(), place.line, place.column, description.instruction)?;
    match &description.multiply {
        Some(multiply) => writeln!(out, " .{}: {}", multiply.kind, shapes(multiply))?,
        None => writeln!(out)?,
    }
    let width = description.words.iter().map(|word| word.name.len()).max().unwrap_or(0);
    for word in &description.words {
        let fields: Vec<String> = word.fields.iter().filter_map(field).collect();
        let made = made(source, word);
        let line = format!("    {:width$} {:18} {}{made}", word.name, word.value, fields.join(" "));
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

/// What is multiplied: `M = 128, N = 256, K = 16; A bf16 K-major, B bf16 K-major, D f32`.
fn shapes(multiply: &Multiply) -> String {
    let size = |name: &str, size: Option<u32>| {
        format!("{name} = {}", size.map_or_else(|| "?".to_owned(), |size| size.to_string()))
    };
    let sizes = [size("M", multiply.m), size("N", multiply.n), size("K", multiply.k)].join(", ");
    let mut matrices = vec![matrix("A", &multiply.a), matrix("B", &multiply.b)];
    matrices.extend(multiply.d.map(|d| format!("D {d}")));
    matrices.extend(multiply.scale.map(|scale| format!("scales {scale}")));
    let sparse = if multiply.sparse { "; A is sparse" } else { "" };
    format!("{sizes}; {}{sparse}", matrices.join(", "))
}

fn matrix(name: &str, matrix: &Matrix) -> String {
    let mut text = name.to_owned();
    text += &matrix.element.map_or_else(|| " ?".to_owned(), |element| format!(" {element}"));
    text += &matrix.major.map_or_else(String::new, |major| format!(" {major}-major"));
    if matrix.in_tensor_memory {
        text += " in Tensor Memory";
    }
    text
}

/// A field as `encode` takes it; options that are not set go without saying.
fn field(value: &FieldValue<'_>) -> Option<String> {
    let FieldValue { field, raw } = *value;
    let unset = match field.values {
        Values::Flag => raw == 0,
        Values::Named(_) | Values::Number(_) => field.number_of(raw) == Some(0),
        Values::Fixed(_) | Values::Scaled { .. } | Values::Address => false,
    };
    (!unset).then(|| format!("{}={}", field.name, field.show(raw)))
}

/// The lines where the value was made.
fn made(source: &Source, word: &Word) -> String {
    let lines: Vec<String> =
        word.origins.iter().map(|origin| source.position(origin.start).line.to_string()).collect();
    match &lines[..] {
        [] => String::new(),
        [line] => format!(" (made in line {line})"),
        lines => format!(" (made in lines {})", lines.join(", ")),
    }
}
