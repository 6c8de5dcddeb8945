//! The word that fields make.

use ptx_descriptor::canonical::{Major, PackedMatrix, base_offset};
use ptx_descriptor::shared_memory::{self, Matrix, SharedMemoryDescriptor, SwizzleMode};
use ptx_descriptor::zero_column_mask::{self, ZeroColumnMask};
use ptx_descriptor::{Field, Known, Layout, Problem, Reason, idesc_check, instruction};
use ptx_isa::element_types::ElementType;
use ptx_isa::mma_shapes;
use ptx_isa::vocabulary::Kind;
use ptx_text::source::Spanned;
use strum::IntoEnumIterator;

use crate::decode::{Descriptor, Judged};
use crate::expression::{Expression, Result};

/// Fields without which an instruction descriptor says nothing, unless the kind has one value only.
const REQUIRED: &[&str] = &["dtype", "a", "b", "m", "n", "scale"];

/// The word of a descriptor, and a remark for people.
///
/// `words` are `FIELD=VALUE`; what is left out is zero. With [`Encoding::Matrix`] they say a packed matrix, such as
/// `bf16 128x64 k-major swizzle=128b`, whose strides are computed.
///
/// ```
/// use ptx_workbench::{Descriptor, Encoding, encode};
///
/// let words: Vec<String> = "kind=f16 dtype=f32 a=bf16 b=bf16 m=128 n=256".split(' ').map(str::to_owned).collect();
/// let (judged, _) = encode(Encoding::Fields(Descriptor::Idesc), &words)?;
/// assert_eq!(judged.hexadecimal(), "0x08400490");
/// # Ok::<(), ptx_workbench::ExpressionError>(())
/// ```
///
/// # Errors
/// When a field is unknown, lacks or cannot have its value, or when the word would be wrong.
pub fn encode(encoding: Encoding, words: &[String]) -> Result<(Judged, Option<String>)> {
    let mut expression = Expression::parse(words, encoding == Encoding::Matrix)?;
    match encoding {
        Encoding::Fields(Descriptor::Idesc) => idesc(&mut expression),
        Encoding::Fields(Descriptor::Smem) => smem(&mut expression),
        Encoding::Fields(Descriptor::ZeroMask) => zero_mask(&mut expression),
        Encoding::Matrix => packed(&mut expression),
    }
}

/// What the words say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// The fields of a descriptor.
    Fields(Descriptor),
    /// A matrix in shared memory, packed as tightly as its descriptor allows.
    Matrix,
}

fn judged(
    expression: &Expression,
    layout: &'static Layout,
    word: u64,
    problems: &[Problem],
) -> Result<(Judged, Option<String>)> {
    expression.judge(layout, problems)?;
    Ok((Judged { layout, word, problems: Vec::new(), masks: None }, None))
}

fn idesc(expression: &mut Expression) -> Result<(Judged, Option<String>)> {
    let kind = expression.kind()?;
    let multiply = expression.multiply(kind)?;
    let generation = multiply.features.generation;
    let layout = instruction::Format { kind, generation, sparse: expression.sparse() }.layout();
    let context = &["kind", "ws", "cta-group", "sp", "ashift", "scale-vec", "target", "version"];
    // M and N take less than their fields have room for.
    let expected = |field: &Field| {
        let zero = Known::new(field.mask(), 0);
        let problems = idesc_check::check(&multiply, zero);
        let sizes = problems.iter().find_map(|problem| match &problem.reason {
            Reason::M { allowed, .. } | Reason::N { allowed, .. } => Some(mma_shapes::list(allowed)),
            _ => None,
        });
        sizes.unwrap_or_else(|| field.expected())
    };
    let word = expression.word(layout, context, REQUIRED, &expected)?;
    judged(expression, layout, word, &idesc_check::check(&multiply, (word as u32).into()))
}

fn smem(expression: &mut Expression) -> Result<(Judged, Option<String>)> {
    let features = expression.features()?;
    let layout = shared_memory::layout(features.wide_addresses);
    let word = expression.word(layout, &["target", "version"], &["start", "swizzle"], &Field::expected)?;
    judged(expression, layout, word, &shared_memory::check(&Matrix::any(features), word.into()))
}

fn zero_mask(expression: &mut Expression) -> Result<(Judged, Option<String>)> {
    let (m, n) = (expression.size("m")?, expression.size("n")?);
    let layout = zero_column_mask::layout();
    let word = expression.word(layout, &["m", "n"], &[], &Field::expected)?;
    let (found, note) = judged(expression, layout, word, &zero_column_mask::check(m, word.into()))?;
    Ok((Judged { masks: sub_masks(expression, word, m, n)?, ..found }, note))
}

/// The masks that the word generates, if M and N are given.
pub(crate) fn sub_masks(
    expression: &Expression,
    word: u64,
    m: Option<u32>,
    n: Option<u32>,
) -> Result<Option<Vec<Vec<bool>>>> {
    let (Some(m), Some(n)) = (m, n) else { return Ok(None) };
    let Ok(mask) = ZeroColumnMask::decode(Some(m), word) else { return Ok(None) };
    if n > mma_shapes::MAX_N {
        return Err(expression.complain(
            "n",
            format!("`n` is {n}, but at most 256 is possible"),
            "too large",
        ));
    }
    let masks = mask.sub_masks(m, n);
    masks.map(Some).ok_or_else(|| {
        let message = format!("there is no mask for M = {m} and N = {n}");
        expression.complain("m", message, "M is 32, 64 or 128, and N divides into 128 / M parts")
    })
}

/// A packed matrix, given as bare words.
fn packed(expression: &mut Expression) -> Result<(Judged, Option<String>)> {
    const MAJORS: &[(&str, Major)] =
        &[("k-major", Major::K), ("mn-major", Major::Mn), ("m-major", Major::Mn), ("n-major", Major::Mn)];
    let features = expression.features()?;
    let kind = expression.optional_kind()?;
    let (mut element, mut size, mut major) = (None, None, None);
    for word in expression.bare().to_vec() {
        let found: Option<ElementType> = word.value.parse().ok();
        if let Some(found) = found {
            element = Some(found);
        } else if let Some(found) = shape(&word) {
            size = Some(found);
        } else if let Some(&(_, found)) =
            MAJORS.iter().find(|(name, _)| name.eq_ignore_ascii_case(&word.value))
        {
            major = Some(found);
        } else {
            let types = ElementType::iter().map(ElementType::name);
            let expected: Vec<&str> = types.chain(["128x64", "k-major", "mn-major"]).collect();
            return Err(expression.refuse(&word, "this says nothing about a matrix", &expected));
        }
    }
    let absent = |what: &str, example: &str| {
        expression.complain(
            "",
            format!("the matrix needs its {what}"),
            format!("add {what}, such as `{example}`"),
        )
    };
    let element = element.ok_or_else(|| absent("type", "bf16"))?;
    let (mn, k) = size.ok_or_else(|| absent("size", "128x64"))?;
    let major = major.ok_or_else(|| absent("major-ness", "k-major"))?;
    // Elements of 6 bits have no packed form; those of 4 bits fill a byte under some kinds.
    let element_bits = match (kind, element) {
        (Some(kind), _) => element.container_bits(kind),
        (None, ElementType::E2m3 | ElementType::E3m2) => element.container_bits(Kind::F8f6f4),
        (None, _) => element.bits(),
    };
    let layout = shared_memory::layout(features.wide_addresses);
    let given = expression.word(layout, &["kind", "target", "version"], &[], &Field::expected)?;
    let field = |name: &str| layout.field(name).map_or(0, |field| field.get(given));
    let swizzle = layout.field("swizzle").and_then(|swizzle| swizzle.name_of(field("swizzle")));
    let swizzle = swizzle.and_then(|name| name.parse().ok()).unwrap_or(SwizzleMode::None);
    let start = field("start") << 4;
    let matrix = PackedMatrix { element_bits, mn, k, major, swizzle };
    let strides = matrix.layout().map_err(|error| {
        let message = format!("no {major} {element} matrix of {mn}x{k} packs with swizzling `{swizzle}`");
        expression.complain("swizzle", message, error.to_string())
    })?;
    for name in ["lbo", "sbo", "lbo-mode"] {
        if field(name) != 0 {
            let message = format!("`{name}` and `--matrix` contradict each other");
            return Err(expression.complain(name, message, "follows from the matrix"));
        }
    }
    if !start.is_multiple_of(strides.start_alignment) && field("base-offset") == 0 {
        let base = base_offset(start, swizzle);
        let message = format!("the matrix does not start on a boundary of {} bytes", strides.start_alignment);
        let text = format!("start there, or say `base-offset={base}` if the pattern starts here");
        return Err(expression.complain("start", message, text));
    }
    let descriptor = SharedMemoryDescriptor {
        lbo: strides.lbo,
        sbo: strides.sbo,
        base_offset: field("base-offset") as u8,
        ..SharedMemoryDescriptor::new(start, swizzle)
    };
    let context = Matrix { transposed: Some(major == Major::Mn), element_bits: Some(element_bits), features };
    let word = match descriptor.encode(&context) {
        Ok(word) => word,
        Err(instruction::DescriptorError::Field(error)) => {
            return Err(expression.complain(
                "start",
                error.to_string(),
                "the strides do not fit the descriptor",
            ));
        }
        Err(instruction::DescriptorError::Problems(problems)) => {
            expression.judge(layout, &problems)?;
            given
        }
    };
    let note = format!(
        "start={start:#x} lbo={} sbo={} swizzle={swizzle}; {} bytes in atoms of {}",
        strides.lbo, strides.sbo, strides.bytes, strides.atom
    );
    let (found, _) = judged(expression, layout, word, &[])?;
    Ok((found, Some(note)))
}

/// `128x64`
fn shape(word: &Spanned<String>) -> Option<(u32, u32)> {
    let (mn, k) = word.value.split_once('x')?;
    Some((mn.parse().ok()?, k.parse().ok()?))
}
