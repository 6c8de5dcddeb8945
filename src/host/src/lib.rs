//! PTX where people write it: in the `asm` statements of C++, LLVM IR, Python, Mojo and Rust.
//!
//! ```text
//! a file ─► its language's front ─► statements: literals, operands, clobbers, with spans
//!    ─► template: escapes, joins, placeholders ─► fragments of one PTX text, and a map
//! ```
//!
//! A front knows one language and no PTX: it finds the statements. [`extract`] turns them into one
//! text of PTX in which each is a function: its operands are registers, declared by their
//! constraints, its template is the body. So everything behind this stage sees PTX, and says what it
//! has to say about places in that text; the [`SpanMap`] alone knows which characters of the file
//! those are.
//!
//! A string that is a whole module is a text of its own.
//!
//! What a front cannot know - a macro of another file, a field of a formatted string - is a hole of the text.
//! [`Holes`] tell where these are, and which names stand for operands: whoever judges a statement that has one
//! reports only what is wrong whatever fills it.

use std::path::Path;

use ptx_text::source::{Source, Span};

mod constraints;
mod cpp;
mod fragment;
mod holes;
mod llvm;
mod map;
mod mlir;
mod modules;
mod outside;
mod python;
mod reading;
mod rust;
mod template;

pub use constraints::integer_letters;
pub use fragment::{Binding, Extract, Fragment, Host, fragment_at};
pub use holes::{Hole, HoleKind, Holes};
pub use map::SpanMap;
pub use outside::Outside;
pub use template::PlaceholderError;
use template::{Escapes, Placeholders};

/// A language that PTX is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, strum::EnumIter)]
pub enum Language {
    /// C and C++, CUDA's above all.
    Cpp,
    /// Python, as far as it has programs of GPUs.
    Python,
    /// LLVM IR.
    Llvm,
    /// MLIR, with the dialects that have assembly.
    Mlir,
    /// Rust.
    Rust,
    /// Mojo, which is read as Python is.
    Mojo,
}

impl Language {
    /// The language of a file, by its name; none for PTX and what is not known.
    pub fn of(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        <Self as strum::IntoEnumIterator>::iter().find(|it| it.extensions().contains(&extension.as_str()))
    }

    /// What people call them.
    pub fn names() -> impl Iterator<Item = &'static str> {
        <Self as strum::IntoEnumIterator>::iter().map(Self::name)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Cpp => "C++, CUDA",
            Self::Python => "Python",
            Self::Llvm => "LLVM IR",
            Self::Mlir => "MLIR",
            Self::Rust => "Rust",
            Self::Mojo => "Mojo",
        }
    }

    /// How the names of its files end.
    pub fn extensions(self) -> &'static [&'static str] {
        match self {
            Self::Cpp => {
                &["cu", "cuh", "c", "h", "cc", "hh", "cpp", "hpp", "cxx", "hxx", "inl", "ipp", "tpp"]
            }
            Self::Python => &["py"],
            Self::Llvm => &["ll", "llir"],
            Self::Mlir => &["mlir", "ttir", "ttgir"],
            Self::Rust => &["rs"],
            Self::Mojo => &["mojo", "🔥"],
        }
    }

    /// What starts a comment that ends with its line.
    pub fn line_comment(self) -> &'static str {
        match self {
            Self::Cpp | Self::Mlir | Self::Rust => "//",
            Self::Python | Self::Mojo => "#",
            Self::Llvm => ";",
        }
    }

    /// Whether a file may have PTX in it at all: it has one of the words that its statements need, or
    /// one that is meant for this tool. That is all that most files cost.
    pub fn concerns(self, text: &[u8]) -> bool {
        self.may_have_ptx(text) || memchr::memmem::find(text, MARK.as_bytes()).is_some()
    }

    fn may_have_ptx(self, text: &[u8]) -> bool {
        let has =
            |words: &[&str]| words.iter().any(|word| memchr::memmem::find(text, word.as_bytes()).is_some());
        match self {
            Self::Cpp => has(&["asm"]) || modules::may_be_in(text),
            Self::Python => has(&python::WORDS),
            Self::Llvm => has(&["asm"]),
            Self::Mlir => has(&mlir::WORDS),
            Self::Rust => has(&["asm!"]) || modules::may_be_in(text) || cpp::may_be_in(text),
            // What stands in its strings is found by the same words as in Python's.
            Self::Mojo => has(&[python::MOJO]) || has(&python::WORDS),
        }
    }

    fn find(self, source: &Source) -> Found {
        match self {
            Self::Cpp => cpp::find(source),
            Self::Python | Self::Mojo => python::find(source, self),
            Self::Llvm => llvm::find(source),
            Self::Mlir => mlir::find(source),
            Self::Rust => rust::find(source),
        }
    }
}

/// What a front finds in a file.
#[derive(Debug, Default)]
struct Found {
    /// The statements, in the order of the file.
    statements: Vec<Statement>,
    /// The modules that stand in strings.
    modules: Vec<modules::Module>,
    /// The comments that may be meant for this tool.
    comments: Vec<Span>,
    /// Texts that have to stay alike: the bodies of each macro that is defined more than once.
    alike: Vec<Vec<Span>>,
    /// How much work it was.
    steps: u64,
}

/// What comments that are meant for this tool contain.
pub const MARK: &str = "ptx-tc:";

/// An `asm` statement.
#[derive(Clone, Debug)]
struct Statement {
    /// All of it.
    span: Span,
    /// What makes it one: `asm`.
    keyword: Span,
    language: Language,
    placeholders: Placeholders,
    template: Vec<Piece>,
    /// In the order of their numbers.
    operands: Vec<Operand>,
    /// Whether it is `volatile`, or has what stands for that.
    is_volatile: bool,
    /// Whether it is said that it changes memory.
    clobbers_memory: bool,
    /// Whether the calls of it are said to be convergent, where that has to be said.
    is_convergent: Option<bool>,
    /// What is to be written behind the keyword to make it `volatile`; none where that is not said
    /// there.
    volatile_keyword: Option<&'static str>,
    /// What has to be inserted to say that it changes memory, and where.
    memory_clobber: Option<(u32, &'static str)>,
    /// What stands around its template says which machine it is for.
    machine: Machine,
    /// Whether it stands in a function or macro, and is not only spoken of.
    is_in_code: bool,
}

/// What is known of the machine that assembly is for, whatever it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Machine {
    /// One that runs PTX: what is none is a mistake.
    Ptx,
    /// A GPU. Which, the file may say.
    Gpu,
    /// Nothing.
    Any,
    /// The preprocessor asks for another machine.
    Guarded,
    /// It has operands or clobbers that only other machines have.
    Other,
}

/// A part of a template.
#[derive(Clone, Copy, Debug)]
enum Piece {
    /// The inside of a literal.
    Text { span: Span, escapes: Escapes },
    /// The end of a line that nobody wrote, in front of a place.
    Line(u32),
    /// Something that is not known.
    Hole(Span),
}

/// An operand of an `asm` statement.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
struct Operand {
    /// All of it.
    span: Span,
    constraint: Constraint,
    /// Its value; and whether that is a number that can be replaced.
    value: (Span, bool),
    is_output: bool,
    /// Whether it is there for what the compiler makes of it, and not only for the template: it is
    /// read and written, or in the place of another.
    is_tied: bool,
    /// Whether the template names it where the preprocessor decides otherwise.
    is_named_otherwise: bool,
    /// Whether no comma separates it from the operand before it.
    lacks_comma: bool,
    /// What it is called in the template, where operands have names.
    name: Option<String>,
    /// The value of a register that is read, where that is a constant.
    known: Option<i128>,
}

impl Operand {
    /// One that is written with its commas.
    fn new(span: Span, constraint: Constraint, is_output: bool) -> Self {
        let value = (span, false);
        Self {
            span,
            constraint,
            value,
            is_output,
            is_tied: false,
            is_named_otherwise: false,
            lacks_comma: false,
            name: None,
            known: None,
        }
    }
}

/// What an operand may be.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Constraint {
    /// A register of this type.
    Register(ptx_text::types::Type),
    /// A constant, with its value if that is known.
    Immediate(Option<i128>),
    /// Nothing that is known: text that is pasted into the template, an address, a register of another
    /// machine.
    Other,
}

/// The PTX in a file of another language; none if the file's name says that it is PTX itself.
pub fn extract(source: &Source) -> Option<Extract> {
    let language = Language::of(Path::new(source.name()))?;
    let found =
        if language.concerns(source.text().as_bytes()) { language.find(source) } else { Found::default() };
    Some(Extract::new(source, language, found))
}
