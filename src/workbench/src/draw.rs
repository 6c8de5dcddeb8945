//! Pictures of descriptors and of instructions, from words.

use std::fmt;

use ptx_descriptor::idesc_check::{self, Facts};
use ptx_descriptor::shared_memory::{self, Matrix};
use ptx_descriptor::{Known, instruction, zero_column_mask};
use ptx_draw::mma::{Multiply, Shown};
use ptx_draw::opcode::{MultiplyWords, Words};
use ptx_draw::smem::{Access, Operand};
use ptx_draw::window::{Numbers, Window};
use ptx_draw::{DrawError, Picture, copies, mma, registers, smem as operands, words};
use ptx_isa::element_types::ElementType;
use ptx_isa::vocabulary::{CtaGroup, Kind, Operation, Qualifier, Slot};
use strum::IntoEnumIterator;

use crate::encode::sub_masks;
use crate::expression::{Expression, ExpressionError, Result, number, word_error};

/// What words draw; pictures of files need more.
pub const WHATS: [&str; 7] = ["smem", "idesc", "zero-mask", "mma", "ld", "st", "cp"];

/// A picture, and whether something is wrong with what it shows.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// The picture.
    pub picture: Picture,
    /// Whether something is wrong with what it shows.
    pub is_wrong: bool,
}

impl From<Picture> for Drawn {
    fn from(picture: Picture) -> Self {
        Self { picture, is_wrong: false }
    }
}

/// What was asked for cannot be drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoPicture {
    /// A word makes no sense.
    Word(ExpressionError),
    /// The words make sense, but there is nothing to draw.
    Nothing(DrawError),
}

impl From<ExpressionError> for NoPicture {
    fn from(error: ExpressionError) -> Self {
        Self::Word(error)
    }
}

impl From<DrawError> for NoPicture {
    fn from(error: DrawError) -> Self {
        Self::Nothing(error)
    }
}

impl fmt::Display for NoPicture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(error) => error.fmt(f),
            Self::Nothing(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for NoPicture {}

type Drawing<T> = std::result::Result<T, NoPicture>;

/// The picture that words ask for: one of [`WHATS`] or a statement of PTX, and what else is known.
///
/// ```
/// use ptx_workbench::draw;
///
/// let drawn = draw("ld", &["16x256b".to_owned(), "x4".to_owned()])?;
/// assert_eq!(drawn.picture.title, "tcgen05.ld.16x256b.x4: which register of which thread is which cell");
/// assert!(draw("ld", &["16x256b".to_owned(), "x3".to_owned()]).is_err());
/// # Ok::<(), ptx_workbench::NoPicture>(())
/// ```
///
/// # Errors
/// When a word makes no sense, or there is nothing to draw.
pub fn draw(what: &str, words: &[String]) -> Drawing<Drawn> {
    let is_statement = Words::is_statement(what);
    let first = is_statement.then(|| what.to_owned());
    let all: Vec<String> = first.into_iter().chain(words.iter().cloned()).collect();
    let mut expression = Expression::parse(&all, true)?;
    if is_statement {
        return statement(&mut expression);
    }
    match what {
        "smem" => smem(&mut expression),
        "idesc" => idesc(&mut expression),
        "zero-mask" => zero_mask(&mut expression),
        "mma" => multiply(&mut expression),
        "ld" => moved(&mut expression, false),
        "st" => moved(&mut expression, true),
        "cp" => copied(&mut expression),
        _ => Err(unknown(what, &WHATS)),
    }
}

/// The complaint about a word that is none of `whats`.
pub fn unknown(what: &str, whats: &[&str]) -> NoPicture {
    let expression = match Expression::parse(&[what.to_owned()], true) {
        Ok(expression) => expression,
        Err(error) => return error.into(),
    };
    let Some(word) = expression.bare().first() else {
        let words: Vec<String> = whats.iter().map(|what| format!("`{what}`")).collect();
        return DrawError::helped("nothing to draw is named", format!("there are {}", words.join(", ")))
            .into();
    };
    expression.refuse(word, &format!("there is no picture of `{what}`"), whats).into()
}

/// Whatever instruction a statement is.
fn statement(expression: &mut Expression) -> Drawing<Drawn> {
    let words = Words::of_statement(&statement_of(expression))?;
    match words.operation {
        Operation::Ld | Operation::LdRed => moved(expression, false),
        Operation::St => moved(expression, true),
        Operation::Cp => copied(expression),
        Operation::Mma | Operation::MmaWs => multiply(expression),
        other => {
            let message = format!("there is no picture of `tcgen05.{other}`");
            Err(NoPicture::from(DrawError::helped(message, "`ld`, `st`, `cp` and `mma` have one")))
        }
    }
}

/// The opcode among the bare words.
fn statement_of(expression: &Expression) -> String {
    let opcode = expression.bare().iter().find(|word| Words::is_statement(&word.value));
    opcode.map(|word| word.value.clone()).unwrap_or_default()
}

/// The words of an instruction, whether they stand in an opcode or alone.
fn opcode(expression: &Expression, operation: Operation, slots: &[Slot]) -> Drawing<Words> {
    let statement = statement_of(expression);
    if !statement.is_empty() {
        return Ok(Words::of_statement(&statement)?);
    }
    // Bare words can be pointed at.
    let expected: Vec<&str> =
        slots.iter().flat_map(|slot| slot.qualifiers()).map(Qualifier::spelling).collect();
    for word in expression.bare() {
        let mut parts = word.value.split('.').filter(|part| !part.is_empty());
        if !parts.all(|part| expected.contains(&part)) {
            let message = format!("`{}` is no word of `tcgen05.{operation}`", word.value);
            return Err(expression.refuse(word, &message, &expected).into());
        }
    }
    let bare: Vec<&str> = expression.bare().iter().map(|word| word.value.as_str()).collect();
    Ok(Words::new(operation, bare.into_iter())?)
}

/// The only bare word, a number of so many bits.
fn word(expression: &Expression, width: u32) -> Result<u64> {
    let text = match expression.bare() {
        [] => return Err(expression.complain("", "no word is given", "expected a number like `0x08200490`")),
        [word] => &word.value,
        [_, second, ..] => {
            return Err(expression.refuse(second, "one word is drawn at a time", &["NAME=VALUE"]));
        }
    };
    let word = number(text).filter(|word| word >> (width - 1) <= 1);
    word.ok_or_else(|| word_error(text, width))
}

fn smem(expression: &mut Expression) -> Drawing<Drawn> {
    let operand = operand(expression)?;
    let layout = shared_memory::layout(operand.features.wide_addresses);
    let problems = shared_memory::check(&Matrix::any(operand.features), operand.word.into());
    match operands::picture(&operand) {
        Ok(picture) => Ok(Drawn { picture, is_wrong: !problems.is_empty() }),
        // A word that says no place has fields all the same.
        Err(error) if problems.is_empty() => Err(NoPicture::from(error)),
        Err(error) => {
            let mut picture = words::picture(layout, operand.word, &problems);
            picture.notes.push(format!("Where the matrix lies is not drawn: {error}."));
            Ok(Drawn { picture, is_wrong: true })
        }
    }
}

fn operand(expression: &mut Expression) -> Result<Operand> {
    let word = word(expression, 64)?;
    let features = expression.features()?;
    let types: Vec<(&str, ElementType)> = ElementType::iter().map(|ty| (ty.name(), ty)).collect();
    let element = expression.choose("type", &types)?.unwrap_or(ElementType::F16);
    let kind = expression.optional_kind()?.unwrap_or(kind_of(element));
    let majors = [("k", true), ("mn", false), ("m", false), ("n", false)];
    let is_k_major = expression.choose("major", &majors)?.unwrap_or(true);
    let (rows, columns) = (expression.size("rows")?, expression.size("columns")?);
    let accesses = Access::ALL.map(|access| (access.name(), access));
    let access = expression.choose("access", &accesses)?;
    let known = ["type", "kind", "major", "rows", "columns", "access", "target", "version"];
    expression.finish("the matrix", &known)?;
    Ok(Operand { word, features, element, kind, is_k_major, rows, columns, access })
}

/// The kind that multiplies such elements, one of several perhaps.
const fn kind_of(element: ElementType) -> Kind {
    match element {
        ElementType::F16 | ElementType::Bf16 => Kind::F16,
        ElementType::Tf32 => Kind::Tf32,
        ElementType::E4m3 | ElementType::E5m2 | ElementType::E2m3 | ElementType::E3m2 | ElementType::E2m1 => {
            Kind::F8f6f4
        }
        ElementType::U8 | ElementType::S8 => Kind::I8,
        ElementType::S1z4m11 => Kind::Ti16,
    }
}

fn idesc(expression: &mut Expression) -> Drawing<Drawn> {
    let word = word(expression, 32)?;
    let kind = expression.kind()?;
    let multiply = expression.multiply(kind)?;
    let known = ["kind", "ws", "cta-group", "sp", "ashift", "scale-vec", "target", "version"];
    expression.finish("the multiply", &known)?;
    let bits: Known = (word as u32).into();
    let format = instruction::Format::of(kind, multiply.features.generation, bits);
    let problems = idesc_check::check(&multiply, bits);
    let picture = words::picture(format.layout(), word, &problems);
    Ok(Drawn { picture, is_wrong: !problems.is_empty() })
}

fn zero_mask(expression: &mut Expression) -> Drawing<Drawn> {
    let word = word(expression, 64)?;
    let (m, n) = (expression.size("m")?, expression.size("n")?);
    expression.finish("the mask", &["m", "n"])?;
    let problems = zero_column_mask::check(m, word.into());
    let mut picture = words::picture(zero_column_mask::layout(), word, &problems);
    if let Some(masks) = sub_masks(expression, word, m, n)? {
        picture = words::with_zero_columns(picture, &masks);
    }
    Ok(Drawn { picture, is_wrong: !problems.is_empty() })
}

/// `lanes=` and `columns=`
fn window(expression: &mut Expression) -> Result<Window> {
    let lanes: Option<Numbers> = expression.read("lanes")?;
    let columns: Option<Numbers> = expression.read("columns")?;
    Ok(Window { lanes: lanes.map(|it| it.0), columns: columns.map(|it| it.0) })
}

fn moved(expression: &mut Expression, store: bool) -> Drawing<Drawn> {
    let (operation, packing) =
        if store { (Operation::St, Slot::Unpack) } else { (Operation::Ld, Slot::Pack) };
    let words = opcode(expression, operation, &[Slot::LdShape, Slot::Num, packing])?;
    let (split, window) =
        known(expression, |it| Ok((it.size("split")?, window(it)?)), &["split", "lanes", "columns"])?;
    let moved = words.moved(split)?;
    if moved.store != store {
        let (wanted, other) = if store { ("st", "ld") } else { ("ld", "st") };
        return Err(NoPicture::from(DrawError::new(format!("`tcgen05.{other}` is not `{wanted}`"))));
    }
    Ok(registers::picture(&moved, &window)?.into())
}

fn copied(expression: &mut Expression) -> Drawing<Drawn> {
    let slots = [Slot::CpShape, Slot::WarpMulticast, Slot::DstFormat, Slot::SrcFormat, Slot::CtaGroup];
    let words = opcode(expression, Operation::Cp, &slots)?;
    let window = known(expression, window, &["lanes", "columns"])?;
    let copied = words.copied()?;
    Ok(copies::picture(&copied, &window)?.into())
}

/// Reads what is known, and refuses everything else.
fn known<T>(
    expression: &mut Expression,
    read: impl FnOnce(&mut Expression) -> Result<T>,
    names: &[&str],
) -> Drawing<T> {
    let read = read(expression)?;
    expression.finish("the picture", names)?;
    Ok(read)
}

fn multiply(expression: &mut Expression) -> Drawing<Drawn> {
    let slots = [Slot::Kind, Slot::CtaGroup, Slot::Sparse, Slot::BlockScale, Slot::ScaleVectorSize];
    let words = opcode(expression, Operation::Mma, &slots)?.multiply()?;
    let (multiply, shown, window) = asked(expression, words)?;
    Ok(mma::picture(&multiply, shown, &window)?.into())
}

fn asked(expression: &mut Expression, words: MultiplyWords) -> Result<(Multiply, Option<Shown>, Window)> {
    let kind = match words.kind {
        Some(kind) => kind,
        None => expression.kind()?,
    };
    let said = expression.multiply(kind)?;
    let facts = match expression.size("idesc")? {
        Some(word) => idesc_check::facts(kind, said.features.generation, word.into()),
        None => Facts::default(),
    };
    let m = expression.size("m")?.or(facts.m);
    let n = expression.size("n")?.or(facts.n);
    let k = expression.size("k")?.or(facts.k);
    let types: Vec<(&str, ElementType)> = ElementType::iter().map(|ty| (ty.name(), ty)).collect();
    let a = expression.choose("a", &types)?;
    let (id_a, id_b) = facts.scale_ids.unwrap_or_default();
    let scale_ids = (expression.size("sfa-id")?.unwrap_or(id_a), expression.size("sfb-id")?.unwrap_or(id_b));
    let selector = expression.size("selector")?.or(facts.selector).unwrap_or(0);
    let lane = expression.size("lane")?.unwrap_or(0);
    let shown = expression.choose("show", &Shown::ALL.map(|shown| (shown.name(), shown)))?;
    let window = window(expression)?;
    let known = [
        "kind",
        "m",
        "n",
        "k",
        "cta-group",
        "ws",
        "sp",
        "scale-vec",
        "ashift",
        "a",
        "sfa-id",
        "sfb-id",
        "selector",
        "lane",
        "idesc",
        "show",
        "lanes",
        "columns",
        "target",
        "version",
    ];
    expression.finish("the multiply", &known)?;
    let size = |name: &'static str, size: Option<u32>| {
        size.ok_or_else(|| {
            let message = format!("the layout depends on `{name}`");
            expression.complain("", message, format!("add `{name}=NUMBER`, or `idesc=WORD`"))
        })
    };
    let multiply = Multiply {
        kind,
        cta_group: words.cta_group.or(said.cta_group).unwrap_or(CtaGroup::One),
        ws: words.ws || said.ws.unwrap_or(false),
        sparse: words.sparse || said.sparse.or(facts.sparse).unwrap_or(false),
        m: size("m", m)?,
        n: size("n", n)?,
        k,
        a,
        scale_vector_size: words.scale_vector_size.or(said.scale_vector_size),
        scale_ids,
        selector,
        lane,
    };
    Ok((multiply, shown, window))
}
