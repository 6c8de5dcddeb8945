//! What the code around assembly declares that the assembly may name.

use super::Language;
use ptx_text::source::{Source, Span};

/// The code of a file around its assembly.
#[derive(Clone, Debug)]
pub struct Outside {
    source: Source,
    language: Language,
    /// The statements of assembly, in order.
    statements: Vec<Span>,
}

/// What stands in front of variables of a module, in C++.
const OF_MODULES: [&str; 5] = ["__device__", "__shared__", "__constant__", "__managed__", "extern"];

/// Further from a name its declaration does not start.
const FAR: usize = 512;

impl Outside {
    pub(super) fn new(source: &Source, language: Language, statements: &[Span]) -> Self {
        Self { source: source.clone(), language, statements: statements.to_vec() }
    }

    /// Whether a name may be one of a variable that the code declares: PTX has it as well.
    pub fn may_declare(&self, name: &str) -> bool {
        let text = self.source.text();
        memchr::memmem::find_iter(text.as_bytes(), name.as_bytes()).any(|at| {
            let is_of_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
            let (before, behind) = (&text[..at], &text[at + name.len()..]);
            let is_whole = !before.ends_with(is_of_name) && !behind.starts_with(is_of_name);
            is_whole && !self.is_in_statement(at as u32) && self.is_declaration(before)
        })
    }

    fn is_in_statement(&self, at: u32) -> bool {
        let behind = self.statements.partition_point(|span| span.start <= at);
        behind.checked_sub(1).is_some_and(|index| at < self.statements[index].end)
    }

    /// Whether a name behind a text may be declared there for all of a module.
    fn is_declaration(&self, before: &str) -> bool {
        if self.language != Language::Cpp {
            return true;
        }
        let mut from = before.len().saturating_sub(FAR);
        while !before.is_char_boundary(from) {
            from += 1;
        }
        let near = &before[from..];
        let declaration = &near[near.rfind([';', '{', '}']).map_or(0, |at| at + 1)..];
        // What stands in its parentheses are parameters.
        let is_parameter = declaration.matches('(').count() > declaration.matches(')').count();
        !is_parameter && OF_MODULES.into_iter().any(|word| declaration.contains(word))
    }
}
