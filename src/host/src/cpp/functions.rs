//! The functions of a file, as far as their heads say which processor runs them.
//!
//! ```text
//! __device__ int lane() { asm("mov.u32 %0, %%laneid;" : "=r"(x)); }   // a GPU's
//! inline void spin() { asm volatile("pause"); }                       // nobody says
//! ```
//!
//! Blocks are counted token by token, as the preprocessor's branches allow: each branch starts where the first of
//! its `#if` did.

use rustc_hash::FxHashSet;

use super::tokens::Directive;
use ptx_text::source::Span;

/// Which processor runs what stands at a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Processor {
    /// Nobody says.
    #[default]
    Unknown,
    /// A GPU.
    Gpu,
    /// A GPU and the host, each what is compiled for it.
    Both,
}

/// What words in front of a function say.
#[allow(clippy::struct_excessive_bools, reason = "each is a word that stands there or does not")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Head {
    is_device: bool,
    is_host: bool,
    /// The same from names of macros that other files define.
    may_be_device: bool,
    may_be_host: bool,
    /// Whether it has parameters.
    has_parameters: bool,
    /// Whether it is that of a class or namespace.
    is_scope: bool,
}

impl Head {
    fn processor(self) -> Processor {
        let may_be_device = self.may_be_device && self.has_parameters && !self.is_scope;
        match (self.is_device || may_be_device, self.is_host || may_be_device && self.may_be_host) {
            (true, false) => Processor::Gpu,
            (true, true) => Processor::Both,
            (false, _) => Processor::Unknown,
        }
    }
}

/// A block that is open.
#[derive(Clone, Copy, Debug)]
struct Block {
    processor: Processor,
    /// Whether it is that of a function, or in one.
    is_in_function: bool,
    /// What stood in front of it, and in how many parentheses.
    head: Head,
    parentheses: u32,
}

/// Where in the blocks of a file a reader is.
#[derive(Clone, Debug, Default)]
struct Place {
    blocks: Vec<Block>,
    /// How many more are open than are known.
    deeper: u32,
    head: Head,
    parentheses: u32,
    /// The head of a block that has just ended: it goes on behind an initializer, `: a{0} {`.
    ended: Option<Head>,
}

/// No function has more blocks in each other that matter.
const MOST_OPEN: usize = 48;

/// No more branches of the preprocessor stand in each other.
const MOST_BRANCHES: usize = 256;

/// Follows the functions of a file.
#[derive(Debug, Default)]
pub(super) struct Functions<'s> {
    place: Place,
    /// Where the branches of the preprocessor that are open have started.
    branches: Vec<Place>,
    /// How many more of them are open.
    deeper: u32,
    /// What is read beside the body of a macro, while that is read: it has functions of its own.
    outside: Option<Place>,
    /// The macros of the file that stand for `__device__`, among others, and for `__host__`.
    of_device: FxHashSet<&'s str>,
    of_host: FxHashSet<&'s str>,
}

/// What makes a function one of a GPU.
const DEVICE: [&str; 2] = ["__device__", "__global__"];
const HOST: &str = "__host__";

impl<'s> Functions<'s> {
    /// A macro is defined, from its name on.
    pub(super) fn define(&mut self, text: &'s str, definition: Span) {
        let definition = text[definition.range()].trim_start();
        let has = |word: &str| memchr::memmem::find(definition.as_bytes(), word.as_bytes()).is_some();
        if DEVICE.into_iter().any(has) {
            let is_of_name = |c: char| c.is_alphanumeric() || c == '_';
            let name = definition.split(|c: char| !is_of_name(c)).next().unwrap_or_default();
            self.of_device.insert(name);
            if has(HOST) {
                self.of_host.insert(name);
            }
        }
    }

    /// The body of a macro starts, or ends.
    pub(super) fn enter_macro(&mut self) {
        if self.outside.is_none() {
            self.outside = Some(std::mem::take(&mut self.place));
        }
    }

    pub(super) fn leave_macro(&mut self) {
        if let Some(place) = self.outside.take() {
            self.place = place;
        }
    }

    /// A word of the code.
    pub(super) fn word(&mut self, word: &'s str) {
        self.place.ended = None;
        let head = &mut self.place.head;
        match word {
            HOST => head.is_host = true,
            // `__attribute__((device))`
            "device" | "global" if self.place.parentheses > 1 => head.is_device = true,
            "namespace" | "class" | "struct" | "union" | "enum" if self.place.parentheses == 0 => {
                head.is_scope = true;
            }
            _ if DEVICE.contains(&word) => head.is_device = true,
            _ if word.as_bytes()[0].is_ascii_lowercase() => {}
            _ if self.of_device.contains(word) => {
                head.is_device = true;
                head.is_host |= self.of_host.contains(word);
            }
            _ if word.bytes().any(|byte| byte.is_ascii_lowercase()) => {}
            // `CUTE_DEVICE`, `CUTLASS_HOST_DEVICE`
            _ if word.contains("DEVICE") => {
                head.may_be_device = true;
                head.may_be_host |= word.contains("HOST");
            }
            _ => {}
        }
    }

    /// A sign of the code.
    pub(super) fn sign(&mut self, sign: u8) {
        let place = &mut self.place;
        let ended = place.ended.take();
        if let (b'{' | b',', Some(ended)) = (sign, ended) {
            place.head = ended;
        }
        match sign {
            b'(' => {
                place.head.has_parameters = true;
                place.parentheses += 1;
            }
            b')' => place.parentheses = place.parentheses.saturating_sub(1),
            b'{' => self.open(),
            b'}' => self.close(),
            b';' => {
                place.head = Head::default();
                place.parentheses = 0;
            }
            // `template <class T>` is no class.
            b'>' => place.head.is_scope = false,
            _ => {}
        }
    }

    fn open(&mut self) {
        let place = &mut self.place;
        if place.blocks.len() >= MOST_OPEN {
            place.deeper += 1;
            return;
        }
        let around = place.blocks.last();
        let is_in_function =
            around.is_some_and(|it| it.is_in_function) || place.head.has_parameters && !place.head.is_scope;
        let processor = match place.head.processor() {
            Processor::Unknown => around.map_or(Processor::Unknown, |it| it.processor),
            known => known,
        };
        let (head, parentheses) = (place.head, place.parentheses);
        place.blocks.push(Block { processor, is_in_function, head, parentheses });
        place.head = Head::default();
        place.parentheses = 0;
    }

    fn close(&mut self) {
        let place = &mut self.place;
        if place.deeper > 0 {
            place.deeper -= 1;
            return;
        }
        let Some(block) = place.blocks.pop() else { return };
        (place.head, place.parentheses) = (Head::default(), 0);
        // `void f(int a = {}) {`
        if block.parentheses > 0 {
            (place.head, place.parentheses) = (block.head, block.parentheses);
        } else {
            place.ended = Some(block.head);
        }
    }

    /// A line of the preprocessor.
    pub(super) fn directive(&mut self, directive: Directive) {
        match directive {
            Directive::If if self.branches.len() < MOST_BRANCHES => self.branches.push(self.place.clone()),
            Directive::If => self.deeper += 1,
            Directive::ElseIf | Directive::Else if self.deeper == 0 => {
                if let Some(start) = self.branches.last() {
                    self.place.clone_from(start);
                }
            }
            Directive::EndIf if self.deeper > 0 => self.deeper -= 1,
            Directive::EndIf => {
                self.branches.pop();
            }
            Directive::ElseIf
            | Directive::Else
            | Directive::Define
            | Directive::Undefine
            | Directive::Other => {}
        }
    }

    /// Which processor runs what stands here.
    pub(super) fn processor(&self) -> Processor {
        self.place.blocks.last().map_or(Processor::Unknown, |block| block.processor)
    }

    /// Whether this is a place in a function.
    pub(super) fn is_in_function(&self) -> bool {
        self.place.blocks.last().is_some_and(|block| block.is_in_function)
    }
}
