//! One long text on several threads.
//!
//! A text is cut behind functions, by the look of it, and each piece is read as if it were a text of
//! its own, with the offsets of the whole. When every piece ended outside of everything, behind a function,
//! the cuts were right: the parser, reading on, would have been where it starts. A mistake within a piece
//! changes nothing of that, unless it has to do with its braces. Then the trees are put together. Otherwise
//! this says nothing, and the text has to be read in one piece.

use std::cell::RefCell;

use crate::ast::{Counts, Function, Module, Operand, Slice, StatementKind};
use crate::builder::Builder;
use crate::generated::ModuleParser;
use crate::lexer::LexError;
use crate::opcodes;
use crate::parser::{Parsed, SyntaxError};
use crate::plain::Tokens;
use crate::source::Source;
use crate::structure::Structure;
use crate::threads;

/// Bytes that are worth a thread.
pub(crate) const WORTH: usize = 512 * 1024;

/// What stands behind a function and never within one.
const STARTS: &[&str] =
    &[".visible", ".weak", ".extern", ".common", ".entry", ".func", ".section", ".file", ".alias"];

/// Offsets at which the text is cut into at most `pieces` pieces: each behind a `}` at the start of a
/// line, where no line comment can be.
pub(crate) fn cuts(text: &str, pieces: usize, worth: usize) -> Vec<u32> {
    let pieces = pieces.min(text.len() / worth.max(1));
    let mut cuts = Vec::new();
    for piece in 1..pieces {
        let from = (text.len() / pieces * piece).max(cuts.last().map_or(0, |&last| last as usize));
        // A piece that starts late is no worse than one less.
        let until = text.len().min(from + text.len() / pieces);
        let window = text.as_bytes().get(from..until).unwrap_or_default();
        let found = memchr::memmem::find_iter(window, b"\n}")
            .map(|at| from + at + 2)
            .find(|&cut| text.get(cut..).is_some_and(starts_item));
        cuts.extend(found.map(|cut| cut as u32));
    }
    cuts
}

/// Whether an item of a module seems to start here.
fn starts_item(text: &str) -> bool {
    let rest = behind_comments(text);
    STARTS.iter().any(|start| rest.starts_with(start))
}

/// What stands behind blanks and line comments.
fn behind_comments(text: &str) -> &str {
    let mut rest = text.trim_start();
    for _ in 0..32 {
        let Some(comment) = rest.strip_prefix("//") else { break };
        rest = comment.find('\n').map_or("", |end| &comment[end..]).trim_start();
    }
    rest
}

/// Reads the pieces between `cuts`; `None` when one does not end where an item does.
pub(crate) fn parse_pieces(source: &Source, cuts: &[u32]) -> Option<Parsed> {
    let text = source.text();
    let (&first, rest) = cuts.split_first()?;
    // A `;` behind a function is read otherwise than one at the start of a text.
    let may_start =
        |cut: &u32| text.get(*cut as usize..).is_some_and(|it| behind_comments(it).starts_with('.'));
    if !cuts.iter().all(may_start) {
        return None;
    }
    let ends = rest.iter().copied().chain([text.len() as u32]);
    // The first piece gets the room for all.
    let pieces: Vec<(u32, u32)> = std::iter::once((0, first)).chain(cuts.iter().copied().zip(ends)).collect();
    let mut pieces = threads::map(pieces, |(start, end)| parse_piece(text, start, end)).into_iter();
    let Parsed { mut module, mut errors } = pieces.next()??;
    for piece in pieces {
        let piece = piece?;
        append(text, &mut module, piece.module)?;
        errors.extend(piece.errors);
    }
    errors.sort_by_key(SyntaxError::span);
    Some(Parsed { module, errors })
}

fn parse_piece(text: &str, start: u32, end: u32) -> Option<Parsed> {
    let piece = text.get(..end as usize)?;
    let sized_for = if start == 0 { text } else { piece.get(start as usize..)? };
    let mut structure = Structure::from(piece, start);
    let builder = RefCell::new(Builder::new(piece, sized_for));
    let result = ModuleParser::new().parse(&builder, Tokens::new(&mut structure, &builder));
    let Builder { module, mut errors, .. } = builder.into_inner();
    // Behind a function nothing waits for what may follow.
    let is_function = || module.statements.last().is_some_and(|it| it.kind() == StatementKind::FunctionClose);
    let is_last = end as usize == text.len();
    let ends = is_last || structure.ended_between_items() && is_function();
    let may_be_here = |error: &SyntaxError| match error {
        SyntaxError::Unexpected { .. } | SyntaxError::UnexpectedEnd { .. } => true,
        // In the whole text the comment may end.
        SyntaxError::InvalidToken { error, .. } => is_last || *error != LexError::UnterminatedComment,
        SyntaxError::StrayBrace { .. }
        | SyntaxError::UnclosedBrace { .. }
        | SyntaxError::TooDeep { .. }
        | SyntaxError::TooMany { .. } => false,
    };
    errors.append(&mut structure.errors);
    (result.is_ok() && ends && errors.iter().all(may_be_here)).then_some(Parsed { module, errors })
}

/// Puts the tree of the next piece behind `module`; `None` when there are too many of something.
fn append(text: &str, module: &mut Module, mut piece: Module) -> Option<()> {
    let before = Counts::of(module);
    let operands = std::mem::take(&mut piece.operands);
    let mut all = std::mem::take(&mut module.operands);
    let behind = move |operand: Operand| operand.behind(before.operands);
    let ((), is_appended) = threads::join(
        || all.extend(operands.into_iter().map(behind)),
        || append_others(text, module, piece, before),
    );
    module.operands = all;
    is_appended
}

/// The same for all but the operands.
fn append_others(text: &str, module: &mut Module, piece: Module, before: Counts) -> Option<()> {
    let Module {
        statements,
        instructions,
        opcodes: met,
        declarations,
        declarators,
        functions,
        operands: _,
        directives,
        lists,
        locations,
        inlined,
        files,
        sections,
        versions,
        targets,
        address_sizes,
    } = piece;
    let by = |slice: Slice, len: u32| Slice { start: slice.start + len, len: slice.len };
    // Slices that were never set are those of a module's start.
    let if_set = |slice: Slice, len: u32| if slice == Slice::default() { slice } else { by(slice, len) };
    for (to, from) in [
        (&mut module.versions, versions),
        (&mut module.targets, targets),
        (&mut module.address_sizes, address_sizes),
    ] {
        to.extend(from.into_iter().map(|mut header| {
            header.operands = by(header.operands, before.operands);
            header.statement += before.statements;
            header
        }));
    }
    module.statements.reserve(statements.len());
    for statement in statements {
        module.statements.push(statement.behind(&before)?);
    }
    let numbers = opcodes::merge(text, &mut module.opcodes, &met);
    module.instructions.extend(instructions.into_iter().map(|mut raw| {
        raw.operands = by(raw.operands, before.operands);
        raw.number = numbers.get(raw.number as usize).copied().unwrap_or_default();
        raw
    }));
    module.functions.extend(functions.into_iter().map(|function| Function {
        returns: if_set(function.returns, before.declarations),
        parameters: if_set(function.parameters, before.declarations),
        directives: by(function.directives, before.directives),
        body: if_set(function.body, before.statements),
        ..function
    }));
    module.declarations.extend(declarations.into_iter().map(|mut declaration| {
        declaration.declarators = by(declaration.declarators, before.declarators);
        declaration
    }));
    module.declarators.extend(declarators.into_iter().map(|mut declarator| {
        declarator.dimensions = by(declarator.dimensions, before.operands);
        declarator.initializer = declarator.initializer.map(|index| index + before.operands);
        declarator
    }));
    module.directives.extend(directives.into_iter().map(|mut directive| {
        directive.operands = by(directive.operands, before.operands);
        directive
    }));
    module.lists.extend(lists.into_iter().map(|list| by(list, before.operands)));
    module.locations.extend(locations.into_iter().map(|mut location| {
        location.inlined = location.inlined.map(|index| index + before.inlined);
        location
    }));
    module.inlined.extend(inlined);
    module.files.extend(files);
    module.sections.extend(sections);
    Some(())
}
