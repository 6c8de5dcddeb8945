//! One long text on several threads.
//!
//! A text is cut behind functions, by the look of it, and each piece is read as if it were a text of
//! its own, with the offsets of the whole. When every piece was sound and ended outside of everything,
//! the cuts were right: the parser, reading on, would have been where it starts. Then the trees are
//! put together. Otherwise this says nothing, and the text has to be read in one piece.

use std::cell::RefCell;

use crate::ast::{Function, Module, Slice, Statement};
use crate::builder::Builder;
use crate::grammar::ModuleParser;
use crate::parser::Parsed;
use crate::plain::Tokens;
use crate::source::Source;
use crate::structure::Structure;

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

/// Whether an item of a module seems to start here, behind blanks and line comments.
fn starts_item(text: &str) -> bool {
    let mut rest = text.trim_start();
    for _ in 0..32 {
        let Some(comment) = rest.strip_prefix("//") else { break };
        rest = comment.find('\n').map_or("", |end| &comment[end..]).trim_start();
    }
    STARTS.iter().any(|start| rest.starts_with(start))
}

/// Reads the pieces between `cuts`; `None` when one is broken or does not end where an item does.
pub(crate) fn parse_pieces(source: &Source, cuts: &[u32]) -> Option<Parsed> {
    let text = source.text();
    let (&first, rest) = cuts.split_first()?;
    let ends = rest.iter().copied().chain([text.len() as u32]);
    let pieces: Vec<Option<Module>> = std::thread::scope(|scope| {
        let threads: Vec<_> = cuts
            .iter()
            .zip(ends)
            .map(|(&start, end)| scope.spawn(move || parse_piece(text, start, end)))
            .collect();
        // The first piece gets the room for all.
        let first = parse_piece(text, 0, first);
        std::iter::once(first).chain(threads.into_iter().map(|it| it.join().ok().flatten())).collect()
    });
    let mut pieces = pieces.into_iter();
    let mut module = pieces.next()??;
    for piece in pieces {
        append(&mut module, piece?)?;
    }
    Some(Parsed { module, errors: Vec::new() })
}

fn parse_piece(text: &str, start: u32, end: u32) -> Option<Module> {
    let piece = text.get(..end as usize)?;
    let sized_for = if start == 0 { text } else { piece.get(start as usize..)? };
    let mut structure = Structure::from(piece, start);
    let builder = RefCell::new(Builder::new(piece, sized_for));
    let result = ModuleParser::new().parse(&builder, Tokens::new(&mut structure, &builder));
    let Builder { module, errors, .. } = builder.into_inner();
    let is_sound = result.is_ok() && errors.is_empty() && structure.errors.is_empty();
    (is_sound && structure.ended_between_items()).then_some(module)
}

/// Puts the tree of the next piece behind `module`; `None` when there are too many of something.
fn append(module: &mut Module, piece: Module) -> Option<()> {
    let Module {
        statements,
        instructions,
        declarations,
        declarators,
        functions,
        operands,
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
    let most = [
        module.statements.len() + statements.len(),
        module.instructions.len() + instructions.len(),
        module.declarations.len() + declarations.len(),
    ];
    if most.iter().any(|&len| len > Statement::MAX_INDEX as usize) {
        return None;
    }
    let by = |slice: Slice, len: usize| Slice { start: slice.start + len as u32, len: slice.len };
    // Slices that were never set are those of a module's start.
    let if_set = |slice: Slice, len: usize| if slice == Slice::default() { slice } else { by(slice, len) };
    let before = module.operands.len();
    let statement_count = module.statements.len();
    for (to, from) in [
        (&mut module.versions, versions),
        (&mut module.targets, targets),
        (&mut module.address_sizes, address_sizes),
    ] {
        to.extend(from.into_iter().map(|mut header| {
            header.operands = by(header.operands, before);
            header.statement += statement_count as u32;
            header
        }));
    }
    module.statements.reserve(statements.len());
    for statement in statements {
        let statement = statement.behind(module);
        module.statements.push(statement);
    }
    module.instructions.extend(instructions.into_iter().map(|mut raw| {
        raw.operands = by(raw.operands, before);
        raw
    }));
    module.functions.extend(functions.into_iter().map(|function| Function {
        returns: if_set(function.returns, module.declarations.len()),
        parameters: if_set(function.parameters, module.declarations.len()),
        directives: by(function.directives, module.directives.len()),
        body: if_set(function.body, statement_count),
        ..function
    }));
    module.declarations.extend(declarations.into_iter().map(|mut declaration| {
        declaration.declarators = by(declaration.declarators, module.declarators.len());
        declaration
    }));
    module.declarators.extend(declarators.into_iter().map(|mut declarator| {
        declarator.dimensions = by(declarator.dimensions, before);
        declarator.initializer = declarator.initializer.map(|index| index + before as u32);
        declarator
    }));
    module.directives.extend(directives.into_iter().map(|mut directive| {
        directive.operands = by(directive.operands, before);
        directive
    }));
    module.lists.extend(lists.into_iter().map(|list| by(list, before)));
    module.locations.extend(locations.into_iter().map(|mut location| {
        location.inlined = location.inlined.map(|index| index + module.inlined.len() as u32);
        location
    }));
    module.inlined.extend(inlined);
    module.files.extend(files);
    module.sections.extend(sections);
    module.operands.extend(operands.into_iter().map(|operand| operand.behind(before as u32)));
    Some(())
}
