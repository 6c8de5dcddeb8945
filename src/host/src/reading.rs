//! Whether what a template says is PTX.
//!
//! Host files have assembly of other machines as well, and what is written wrong is no PTX either. What tells them
//! apart is what stands in the template first; what nothing there says, what is around it may.

use std::borrow::Cow;
use std::path::Path;

use super::Language;
use super::holes::Holes;
use super::map::Mapped;
use super::template;
use ptx_isa::generic::{self, Modifier};
use ptx_text::source::{Source, Span};

/// What a template says of the machine that it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// It is PTX beyond doubt.
    Ptx,
    /// It is written as PTX is: `griddepcontrol.wait_all;`. In a program of a GPU, it is meant to be.
    Similar,
    /// All that it says other machines say as well: `trap;`.
    Shared,
    /// It is assembly, and nothing says of which machine: `brkpnt;`.
    Unknown,
    /// Another machine's, or none.
    Other,
}

/// Directives that PTX has and other assemblers have not.
const DIRECTIVES: &[&str] =
    &[".reg", ".shared", ".pragma", ".branchtargets", ".callprototype", ".calltargets"];

/// A template without its comments.
struct Template<'t> {
    text: &'t str,
    holes: &'t Holes,
}

impl Template<'_> {
    /// Whether a part of the text has a part that is not known.
    fn is_open(&self, part: &str) -> bool {
        let start = (part.as_ptr() as usize - self.text.as_ptr() as usize) as u32;
        self.holes.has_text(Span::new(start, start + part.len() as u32))
    }
}

/// What a template is.
pub(super) fn read(template: &Mapped) -> Reading {
    let text = match template.text() {
        text if text.contains("/*") || text.contains("//") => Cow::Owned(template::uncommented(text)),
        text => Cow::Borrowed(text),
    };
    let template = Template { text: &text, holes: template.holes() };
    let text = template.text;
    // Between statements, lines may end without a semicolon, where one is forgotten.
    for statement in text.split([';', '\n', '{', '}']) {
        if words(statement).next().is_some_and(|word| is_word_of_ptx(word, &template)) {
            return Reading::Ptx;
        }
    }
    // Where it starts a line, other assemblers have comments behind it.
    if text.trim_ascii_start().starts_with([';', '#']) {
        return Reading::Other;
    }
    let mut found = None;
    for statement in text.split(';') {
        let mut words =
            words(statement.trim_start_matches(|c: char| c.is_ascii_whitespace() || "{}".contains(c)));
        let Some(word) = words.next() else { continue };
        let reading = read_word(word, words.next().is_some(), &template);
        found = match (found, reading) {
            (_, None) => found,
            (None, reading) => reading,
            (Some(found), Some(reading)) => Some(found.beside(reading)),
        };
    }
    found.unwrap_or(Reading::Other)
}

impl Reading {
    /// What two statements of a template say together.
    fn beside(self, other: Self) -> Self {
        match (self, other) {
            (Self::Other, _) | (_, Self::Other) => Self::Other,
            (Self::Unknown, _) | (_, Self::Unknown) => Self::Unknown,
            (Self::Similar, _) | (_, Self::Similar) => Self::Similar,
            (Self::Shared | Self::Ptx, _) => Self::Shared,
        }
    }
}

/// The words of a statement behind its guards and labels.
fn words(statement: &str) -> impl Iterator<Item = &str> {
    statement
        .split_ascii_whitespace()
        .skip_while(|word| word.starts_with('@') || word.ends_with(':') && !word.ends_with("::"))
}

/// What a statement is that starts with a word; none where that says nothing.
fn read_word(word: &str, has_operands: bool, template: &Template<'_>) -> Option<Reading> {
    // What comes from elsewhere may be anything.
    if word.split('.').next().is_some_and(|first| template.is_open(first)) {
        return None;
    }
    // The operands of a vector go on behind a brace, and a directive says nothing of machines.
    if word.starts_with(['%', '[', ',', '(', '_', '.', '$']) {
        return None;
    }
    // Operands may stand directly behind it.
    let is_of_opcode = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b':' | b'$');
    let (word, behind) = word.split_at(word.bytes().position(|it| !is_of_opcode(it)).unwrap_or(word.len()));
    let has_operands = has_operands || !behind.is_empty();
    let is_followed = behind.is_empty() || behind.starts_with(['{', '[', '(', '%']);
    if !word.starts_with(|first: char| first.is_ascii_alphabetic()) || !is_followed {
        return Some(Reading::Other);
    }
    Some(if is_of_amd(word) {
        Reading::Other
    } else if !has_operands && generic::stands_alone(word) {
        Reading::Shared
    } else if is_similar(word) {
        Reading::Similar
    } else {
        Reading::Unknown
    })
}

/// What the instructions of AMD's GPUs start with.
const OF_AMD: &[&str] = &["s_", "v_", "ds_", "buffer_", "tbuffer_", "flat_", "global_", "scratch_", "image_"];

fn is_of_amd(word: &str) -> bool {
    OF_AMD.iter().any(|start| word.starts_with(start))
}

/// Whether a word is written as an operation of PTX is with its qualifiers, and as none of another machine.
fn is_similar(word: &str) -> bool {
    if word.contains("::") {
        return true;
    }
    let Some((operation, modifiers)) = word.split_once('.') else { return false };
    let is_known = |word: &str| word.len() > 1 && generic::is_word(word);
    // `fence.i`, `add.4s`, `lr.w.aq`: those of others are short, or count.
    let is_long = |word: &str| word.len() > 2 && word.starts_with(|first: char| first.is_ascii_lowercase());
    if generic::rows_starting_with(operation).is_empty() {
        let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        return operation.len() > 2 && operation.bytes().all(is_word) && modifiers.split('.').any(is_known);
    }
    !may_be_vector(operation) && (modifiers.split('.').any(is_known) || modifiers.split('.').all(is_long))
}

/// Whether an operation is called like one of Arm's for vectors.
fn may_be_vector(operation: &str) -> bool {
    operation.starts_with('v') && operation != "vote"
}

/// Whether a statement of PTX starts with a word, and none of another machine does.
fn is_word_of_ptx(word: &str, template: &Template<'_>) -> bool {
    if DIRECTIVES.contains(&word) || word.starts_with("tcgen05.") {
        return true;
    }
    let Some((operation, modifiers)) = word.split_once('.').filter(|(operation, _)| !operation.is_empty())
    else {
        return false;
    };
    // One with a word that PTX does not have may be of another machine.
    let is_open = |word: &str| template.is_open(word);
    let meanings = Modifier::meanings;
    let means_something = |modifier: &str| is_open(modifier) || !meanings(modifier).is_empty();
    let rows = generic::rows_starting_with(operation);
    // Arm's vector operations are called like the video operations, and have one type.
    let is_type = |word: &str| meanings(word).iter().any(|it| matches!(it, Modifier::Type(_)));
    let is_vector = operation.starts_with('v')
        && operation != "vote"
        && modifiers.split('.').filter(|word| is_type(word)).count() < 2;
    let is_known = rows.iter().any(|(name, _)| {
        word.strip_prefix(name).is_some_and(|rest| match rest.strip_prefix('.') {
            // `ld.b` is an instruction of LoongArch: one letter, which means something elsewhere, is too little.
            Some(modifiers) => {
                modifiers.split('.').all(means_something) && modifiers.split('.').any(|word| word.len() > 1)
            }
            None => rest.is_empty(),
        })
    });
    if is_known && !is_vector {
        return true;
    }
    // A part of it comes from elsewhere, and the others are words of PTX.
    if is_open(operation) {
        return modifiers.split('.').all(means_something) && !modifiers.split('.').all(is_open);
    }
    // It is written wrong, or newer than the table: no other machine has qualifiers with colons, or
    // types like these behind such a word.
    let is_typed = modifiers.split('.').any(is_type);
    modifiers.contains("::") && !rows.is_empty()
        || is_typed && !is_vector && operation.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// What a file is, beyond its assembly.
#[derive(Clone, Copy, Debug)]
pub(super) struct File {
    /// Whether it is a program of a GPU.
    pub(super) is_of_gpu: bool,
    /// Whether what it has for GPUs is PTX.
    pub(super) has_nothing_but_ptx: bool,
}

/// Words that only programs of GPUs have, in C++.
const WORDS_OF_GPUS: &[&str] =
    &["__device__", "__global__", "__CUDA", "CUTLASS_", "CUTE_", "<cuda", "nvptx", "ptx-kernel"];

/// Words of programs for AMD's GPUs, in C++.
const WORDS_OF_AMD: &[&str] =
    &["__HIP", "hip/", "hipLaunch", "hipStream", "hipError", "USE_ROCM", "USE_HIP", "amdgcn", "AMDGCN"];

/// Words of programs for NVIDIA's GPUs, in other languages, and for AMD's.
const OF_NVIDIA: &[&str] =
    &["nvptx", "nvvm", "nvgpu", "nvidia", "cuda", "cutlass", "cute", "gluon", "triton", "ptx"];
const OF_OTHERS: &[&str] = &["amdgcn", "amdgpu", "rocdl", "rocm", "hip:", "is_hip", "gfx9", "gfx1", "x86_64"];

impl File {
    /// The file that a statement of a language stands in.
    pub(super) fn of(source: &Source, language: Language) -> Self {
        let text = source.text().as_bytes();
        let has =
            |words: &[&str]| words.iter().any(|word| memchr::memmem::find(text, word.as_bytes()).is_some());
        match language {
            Language::Cpp => {
                let extension = Path::new(source.name()).extension().unwrap_or_default();
                let is_cuda = ["cu", "cuh"].into_iter().any(|it| extension.eq_ignore_ascii_case(it));
                Self { is_of_gpu: is_cuda || has(WORDS_OF_GPUS), has_nothing_but_ptx: !has(WORDS_OF_AMD) }
            }
            Language::Python | Language::Llvm | Language::Mlir | Language::Rust | Language::Mojo => {
                let is_of_gpu = has(OF_NVIDIA);
                Self { is_of_gpu, has_nothing_but_ptx: is_of_gpu && !has(OF_OTHERS) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::holes::HoleKind;

    /// What a template is that has `<>` where a part of it is not known.
    fn read(text: &str) -> Reading {
        let mut template = Mapped::default();
        for (index, part) in text.split("<>").enumerate() {
            if index > 0 {
                template.hole("unknown", Span::at(0), HoleKind::Text);
            }
            template.glue(part, Span::at(0));
        }
        super::read(&template)
    }

    #[test]
    fn readings() {
        let all = [
            (
                Reading::Ptx,
                &[
                    "cp.async.wait_all;",
                    "{ .reg .pred p; foo; }",
                    "<>.wait;",
                    "L: @p mbarier.init.b64 [a], 1;",
                ][..],
            ),
            (
                Reading::Similar,
                &[
                    "griddepcontrol.wait_all;",
                    "cp.async.bulk.comit_group;",
                    "tcgen5.wait::ld.sync.aligned;",
                    "elect.one _|p, -1;",
                    "tcgen5.fence\n  {a, b}, [c];",
                    "wgma.fence.sync.aligned; ret;",
                    "wgma.fence.<>.sync;",
                    "tcgn05.st.sync.aligned.x1{%0}, [%1];",
                ],
            ),
            (Reading::Shared, &["trap;", "exit; // done", "ret; trap;"]),
            (Reading::Unknown, &["brkpnt;", "pause", "mov %eax, %0", "int3\n\tret", "ldr x0, [x1]; b.eq 1b"]),
            (
                Reading::Other,
                &[
                    "",
                    "// text",
                    "; text",
                    "# text",
                    "s_waitcnt vmcnt(0)",
                    "v_add_f32 %0, %1, %2",
                    "s_nop 0; trap;",
                    "<>;",
                    "/* add */ <>;",
                    "L:",
                    "27 or",
                    ".byte 0x66",
                ],
            ),
        ];
        for (reading, texts) in all {
            for text in texts {
                assert_eq!(read(text), reading, "{text}");
            }
        }
        for text in [
            "add.w r0, r1",
            "fmla.4s v0, v1, v2",
            "fence.i",
            "b.eq 1b",
            "lr.w.aq t0, (a0)",
            "vadd.u32 q0, q1",
        ] {
            assert_eq!(read(text), Reading::Unknown, "{text}");
        }
    }
}
