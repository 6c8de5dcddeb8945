//! `FIELD=VALUE ...`: what `encode` and `decode` are told of a descriptor and its surroundings.
//!
//! The words of the command line are joined with blanks into one text, so that a report can show
//! the whole and point at the word that is wrong.

use std::fmt;
use std::str::FromStr;

use ptx_descriptor::field::quoted;
use ptx_descriptor::idesc_check::Multiply;
use ptx_descriptor::{EncodeError, Features, Field, Layout, Problem, Value, Values};
use ptx_isa::targets::{PtxVersion, Target};
use ptx_isa::vocabulary::{CtaGroup, Kind, ScaleVectorSize};
use ptx_text::source::{Span, Spanned};
use rustc_hash::FxHashMap;
use serde::Serialize;
use strum::IntoEnumIterator;

/// The text and its words.
#[derive(Debug)]
pub(crate) struct Expression {
    text: String,
    assignments: Vec<Assignment>,
    bare: Vec<Spanned<String>>,
}

/// `name=value`
#[derive(Clone, Debug)]
struct Assignment {
    name: Spanned<String>,
    value: Spanned<String>,
    used: bool,
}

/// Something in the expression makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExpressionError {
    /// What is wrong, as a sentence without its full stop.
    pub message: String,
    /// The words, joined with blanks, and a blank.
    pub text: String,
    /// Places in the text, and what is wrong there.
    pub labels: Vec<Label>,
    /// What can be written instead.
    pub help: Option<String>,
}

/// A place in an expression.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Label {
    /// Bytes of the text.
    pub span: Span,
    /// What is wrong there.
    pub text: String,
}

impl fmt::Display for ExpressionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ExpressionError {}

/// What most words come to.
pub(crate) type Result<T> = std::result::Result<T, ExpressionError>;

impl Expression {
    /// The expression that the words of the command line make; bare words only if `bare` says so.
    pub(crate) fn parse(words: &[String], bare: bool) -> Result<Self> {
        let mut expression = Self { text: words.join(" "), assignments: Vec::new(), bare: Vec::new() };
        let mut first_by_name: FxHashMap<String, Span> = FxHashMap::default();
        let mut offset = 0;
        for word in expression.text.clone().split(char::is_whitespace) {
            let start = offset as u32;
            offset += word.len() + 1;
            let span = Span::new(start, start + word.len() as u32);
            match word.split_once('=') {
                _ if word.is_empty() => {}
                None if bare => expression.bare.push(Spanned::new(word.to_owned(), span)),
                None => {
                    let help = format!("write `{word}=VALUE`");
                    return Err(expression.error("a field without a value", span, "no `=` here", Some(help)));
                }
                Some((name, value)) => {
                    let middle = start + name.len() as u32;
                    let name = Spanned::new(name.to_owned(), Span::new(start, middle));
                    let value = Spanned::new(value.to_owned(), Span::new(middle + 1, span.end));
                    if value.value.is_empty() {
                        let message = format!("`{}` without a value", name.value);
                        return Err(expression.error(message, span, "nothing behind `=`", None));
                    }
                    if let Some(first) = first_by_name.insert(name.value.clone(), name.span) {
                        let message = format!("`{}` is given twice", name.value);
                        let mut error = expression.error(message, name.span, "a second time", None);
                        error.labels.push(label(first, "first here"));
                        return Err(error);
                    }
                    expression.assignments.push(Assignment { name, value, used: false });
                }
            }
        }
        Ok(expression)
    }

    #[cold]
    fn error(
        &self,
        message: impl Into<String>,
        span: Span,
        text: impl Into<String>,
        help: Option<String>,
    ) -> ExpressionError {
        ExpressionError {
            message: message.into(),
            // The blank is what `end` points at.
            text: format!("{} ", self.text),
            labels: vec![label(span, text)],
            help,
        }
    }

    /// Behind the text, where something could be added.
    fn end(&self) -> Span {
        let end = self.text.len() as u32;
        Span::new(end, end + 1)
    }

    /// The value given for `name`.
    fn take(&mut self, name: &str) -> Option<Spanned<String>> {
        let assignment = self.assignments.iter_mut().find(|assignment| assignment.name.value == name)?;
        assignment.used = true;
        Some(assignment.value.clone())
    }

    /// The value given for `name`, which has to be one of these.
    pub(crate) fn choose<T: Copy>(&mut self, name: &str, choices: &[(&str, T)]) -> Result<Option<T>> {
        let Some(value) = self.take(name) else { return Ok(None) };
        if let Some(&(_, chosen)) = choices.iter().find(|(word, _)| word.eq_ignore_ascii_case(&value.value)) {
            return Ok(Some(chosen));
        }
        let words: Vec<&str> = choices.iter().map(|&(word, _)| word).collect();
        let message = format!("`{name}` cannot be `{}`", value.value);
        Err(self.error(
            message,
            value.span,
            format!("expected {}", quoted(&words)),
            suggest(&value.value, &words),
        ))
    }

    /// The value given for `name`, read as its type reads itself.
    pub(crate) fn read<T: FromStr<Err: fmt::Display>>(&mut self, name: &str) -> Result<Option<T>> {
        self.read_by(name, str::parse)
    }

    /// The same, read by a function.
    fn read_by<T, E: fmt::Display>(
        &mut self,
        name: &str,
        parse: impl FnOnce(&str) -> std::result::Result<T, E>,
    ) -> Result<Option<T>> {
        let Some(value) = self.take(name) else { return Ok(None) };
        let message = format!("`{name}` cannot be `{}`", value.value);
        let read = parse(&value.value).map(Some);
        read.map_err(|error| self.error(message, value.span, error.to_string(), None))
    }

    /// `kind=`; required.
    pub(crate) fn kind(&mut self) -> Result<Kind> {
        self.optional_kind()?.ok_or_else(|| {
            let kinds: Vec<&str> = kinds().map(|(name, _)| name).collect();
            let help = format!("add `kind=KIND`, KIND being {}", quoted(&kinds));
            self.error("the layout depends on the kind", self.end(), "no `kind` is given", Some(help))
        })
    }

    /// `kind=`
    pub(crate) fn optional_kind(&mut self) -> Result<Option<Kind>> {
        let kinds: Vec<(&str, Kind)> = kinds().collect();
        self.choose("kind", &kinds)
    }

    /// `target=` and `version=`: what the descriptors can say.
    pub(crate) fn features(&mut self) -> Result<Features> {
        let target = self.read_by("target", Target::known)?;
        let version = self.read_by("version", PtxVersion::released)?;
        let version = version.unwrap_or(PtxVersion::LATEST);
        Ok(target.map_or(Features::ANY, |target| Features::of(target, version)))
    }

    /// The multiply around an instruction descriptor.
    pub(crate) fn multiply(&mut self, kind: Kind) -> Result<Multiply> {
        const YES_NO: &[(&str, bool)] = &[("no", false), ("yes", true), ("0", false), ("1", true)];
        let sizes: Vec<(&str, ScaleVectorSize)> = ScaleVectorSize::iter()
            .map(|size| (<&str>::from(size).trim_start_matches("scale_vec::"), size))
            .collect();
        Ok(Multiply {
            ws: self.choose("ws", YES_NO)?,
            cta_group: self.choose("cta-group", &[("1", CtaGroup::One), ("2", CtaGroup::Two)])?,
            sparse: self.choose("sp", YES_NO)?,
            ashift: self.choose("ashift", YES_NO)?.unwrap_or(false),
            scale_vector_size: self.choose("scale-vec", &sizes)?,
            ..Multiply::any(kind, self.features()?)
        })
    }

    /// `m=` or `n=` where they are no fields.
    pub(crate) fn size(&mut self, name: &str) -> Result<Option<u32>> {
        let Some(value) = self.take(name) else { return Ok(None) };
        let size = number(&value.value).and_then(|number| u32::try_from(number).ok());
        size.map(Some).ok_or_else(|| {
            let message = format!("`{name}` cannot be `{}`", value.value);
            self.error(message, value.span, "expected a number", None)
        })
    }

    /// Whether the expression says that the field `sparse` is set.
    pub(crate) fn sparse(&self) -> bool {
        let assignment = self.assignments.iter().find(|assignment| assignment.name.value == "sparse");
        assignment.is_some_and(|assignment| matches!(assignment.value.value.as_str(), "1" | "yes"))
    }

    /// The bare words.
    pub(crate) fn bare(&self) -> &[Spanned<String>] {
        &self.bare
    }

    /// A complaint about a bare word.
    pub(crate) fn refuse(&self, word: &Spanned<String>, message: &str, expected: &[&str]) -> ExpressionError {
        let label = format!("expected {}", quoted(expected));
        self.error(message, word.span, label, suggest(&word.value, expected))
    }

    /// A complaint about the value of an assignment, or about its absence.
    pub(crate) fn complain(
        &self,
        name: &str,
        message: impl Into<String>,
        text: impl Into<String>,
    ) -> ExpressionError {
        self.error(message, self.place(name), text, None)
    }

    /// The value given for `name`, or else the end of the expression.
    fn place(&self, name: &str) -> Span {
        let assignment = self.assignments.iter().find(|assignment| assignment.name.value == name);
        assignment.map_or_else(|| self.end(), |assignment| assignment.value.span)
    }

    /// Complains about assignments that nobody has asked for; `known` are the names that mean something.
    pub(crate) fn finish(&self, what: &str, known: &[&str]) -> Result<()> {
        let Some(assignment) = self.assignments.iter().find(|assignment| !assignment.used) else {
            return Ok(());
        };
        Err(self.unknown(&assignment.name, what, known))
    }

    fn unknown(&self, name: &Spanned<String>, what: &str, known: &[&str]) -> ExpressionError {
        let help = suggest(&name.value, known).unwrap_or_else(|| format!("there are {}", quoted(known)));
        let message = format!("{what} has no field `{}`", name.value);
        self.error(message, name.span, "no such field", Some(help))
    }

    /// The word that the fields of the expression make.
    ///
    /// A field that was not given is zero, or has its only value; one of the `required` has to be
    /// given where it has several. `expected` may know better than a field what it takes.
    pub(crate) fn word(
        &mut self,
        layout: &'static Layout,
        context: &[&str],
        required: &[&str],
        expected: &dyn Fn(&Field) -> String,
    ) -> Result<u64> {
        let known: Vec<&str> = layout.names().into_iter().chain(context.iter().copied()).collect();
        // A misspelt field comes first, or the report would be that the field is missing.
        for assignment in self.assignments.iter().filter(|assignment| !assignment.used) {
            if layout.settable(&assignment.name.value).is_none() {
                return Err(self.unknown(&assignment.name, layout.title, &known));
            }
        }
        let mut word = layout.blank();
        for field in layout.fields.iter().filter(|field| layout.settable(field.name).is_some()) {
            if let Some(value) = self.take(field.name) {
                let raw = field
                    .encode(read_value(field, &value.value), layout.table)
                    .map_err(|error| self.value_error(&error, &value, expected))?;
                word |= field.put(raw);
            } else if let Values::Named(&[(raw, _)]) = field.values {
                word |= field.put(raw);
            } else if required.contains(&field.name) {
                let help = format!("add `{}=VALUE`, VALUE being {}", field.name, expected(field));
                let message = format!("{} needs `{}`: {}", layout.title, field.name, field.meaning);
                return Err(self.error(
                    message,
                    self.end(),
                    format!("no `{}` is given", field.name),
                    Some(help),
                ));
            }
        }
        Ok(word)
    }

    fn value_error(
        &self,
        error: &EncodeError,
        value: &Spanned<String>,
        expected: &dyn Fn(&Field) -> String,
    ) -> ExpressionError {
        let (field, help) = match error {
            EncodeError::NotAllowed { field, table, .. }
            | EncodeError::OutOfRange { field, table, .. }
            | EncodeError::Misaligned { field, table, .. } => {
                let nearest = suggest(&value.value, &field.choices());
                (field, Some(nearest.unwrap_or_else(|| format!("see {table} of the PTX ISA"))))
            }
            EncodeError::Missing { field, .. } => (field, None),
            EncodeError::NoSuchField { .. } => {
                return self.error(error.to_string(), value.span, "no such field", None);
            }
        };
        let text = if field.is_fixed() {
            String::from("this kind has no such option")
        } else {
            format!("expected {}", expected(field))
        };
        self.error(error.to_string(), value.span, text, help)
    }

    /// Complains about a word that the expression makes.
    pub(crate) fn judge(&self, layout: &Layout, problems: &[Problem]) -> Result<()> {
        let [first, rest @ ..] = problems else { return Ok(()) };
        let mut error = self.error(
            format!("`{}` cannot be {} here", first.field.name, first.field.show(first.raw)),
            self.place(first.field.name),
            first.expected(),
            Some(format!("see {} of the PTX ISA", first.reference)),
        );
        if !rest.is_empty() {
            error.message = format!("{} would be wrong in {} places", layout.title, problems.len());
            error
                .labels
                .extend(rest.iter().map(|problem| label(self.place(problem.field.name), problem.expected())));
            let mut references: Vec<&str> = problems.iter().map(|problem| problem.reference).collect();
            references.dedup();
            error.help = Some(format!("see {} of the PTX ISA", references.join(", ")));
        }
        Err(error)
    }
}

/// The kinds without `kind::`.
fn kinds() -> impl Iterator<Item = (&'static str, Kind)> {
    Kind::iter().map(|kind| (<&str>::from(kind).trim_start_matches("kind::"), kind))
}

fn label(span: Span, text: impl Into<String>) -> Label {
    Label { span, text: text.into() }
}

/// Names are names even where they look like numbers, as `96` among the values of K.
fn read_value<'v>(field: &Field, text: &'v str) -> Value<'v> {
    match field.values {
        Values::Named(_) => Value::Name(text),
        Values::Fixed(_) | Values::Flag | Values::Number(_) | Values::Scaled { .. } | Values::Address => {
            number(text).map_or(Value::Name(text), Value::Number)
        }
    }
}

/// A number in decimal, hexadecimal (`0x`) or binary (`0b`) notation.
pub(crate) fn number(text: &str) -> Option<u64> {
    wide_number(text).and_then(|number| u64::try_from(number).ok())
}

fn wide_number(text: &str) -> Option<u128> {
    let lower = text.to_ascii_lowercase().replace('_', "");
    if let Some(digits) = lower.strip_prefix("0x") {
        u128::from_str_radix(digits, 16).ok()
    } else if let Some(digits) = lower.strip_prefix("0b") {
        u128::from_str_radix(digits, 2).ok()
    } else {
        lower.parse().ok()
    }
}

/// The known word that is meant, if one is near.
fn suggest(wanted: &str, known: &[&str]) -> Option<String> {
    let wanted = wanted.to_lowercase();
    let distance = |word: &&&str| {
        // `atype` stands for `a`, `transpose_b` for `transpose-b`.
        let plain = wanted.replace('_', "-");
        strsim::damerau_levenshtein(word, &plain)
            .min(strsim::damerau_levenshtein(word, plain.trim_end_matches("type").trim_end_matches('-')))
    };
    let nearest = known.iter().min_by_key(distance)?;
    let near = distance(&nearest) <= 2.max(wanted.len() / 3) && distance(&nearest) < nearest.len();
    near.then(|| format!("did you mean `{nearest}`?"))
}

/// A word of the command line that should be a number is none, or too large.
pub(crate) fn word_error(text: &str, width: u32) -> ExpressionError {
    let expression = Expression { text: text.to_owned(), assignments: Vec::new(), bare: Vec::new() };
    let span = Span::new(0, text.len() as u32);
    let help = Some(String::from("write it like `0x08400490`"));
    match wide_number(text) {
        None => {
            expression.error("this is not a word", span, format!("expected a number of {width} bits"), help)
        }
        Some(_) => expression.error(format!("this word has more than {width} bits"), span, "too large", None),
    }
}
