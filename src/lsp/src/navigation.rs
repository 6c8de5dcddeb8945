//! Where a name is declared and used, and giving it another.

use ptx_check::diagnostic::Edit;
use ptx_check::resolve::symbols::{RegisterId, Resolution, SymbolId, SymbolKind, Symbols};
use ptx_check::source::{Source, Span};
use ptx_check::syntax::ast::OperandKind;
use ptx_check::syntax::parser;

use crate::snapshot::Snapshot;

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entity {
    /// A declaration: with all of its registers, if it makes several.
    Symbol(SymbolId),
    /// One register of a declaration that makes several.
    Member(RegisterId),
}

/// A place that names an entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Occurrence {
    pub(crate) span: Span,
    pub(crate) is_declaration: bool,
}

/// The name at `offset` and what it stands for.
pub(crate) fn entity(snapshot: &Snapshot, offset: u32) -> Option<(Span, Entity)> {
    let (span, resolution) = snapshot.name(offset)?;
    let entity = match resolution {
        Resolution::Symbol(id) => Entity::Symbol(id),
        Resolution::Register(id) => {
            let symbol = snapshot.document.unit.symbols.register_symbol(id);
            match snapshot.document.unit.symbols.symbol(symbol).kind {
                SymbolKind::Register { count: Some(_), .. } => Entity::Member(id),
                _ => Entity::Symbol(symbol),
            }
        }
        Resolution::Special(_) | Resolution::Undeclared => return None,
    };
    Some((span, entity))
}

/// Where the name at `offset` is declared; a function at its body.
pub(crate) fn definition(snapshot: &Snapshot, offset: u32) -> Option<Span> {
    let (_, entity) = entity(snapshot, offset)?;
    let symbol = match entity {
        Entity::Symbol(id) => snapshot.document.unit.symbols.symbol(id),
        Entity::Member(id) => snapshot.document.unit.symbols.register(id),
    };
    if let SymbolKind::Function { .. } = symbol.kind {
        let name = snapshot.slice(symbol.span);
        let body = snapshot
            .document
            .unit
            .module
            .bodies()
            .find(|(_, function)| snapshot.slice(function.name) == name);
        return Some(body.map_or(symbol.span, |(_, function)| function.name));
    }
    Some(symbol.span)
}

/// Every place that names the entity, in source order.
pub(crate) fn occurrences(snapshot: &Snapshot, entity: Entity) -> Vec<Occurrence> {
    let symbols = &snapshot.document.unit.symbols;
    let module = &snapshot.document.unit.module;
    let mut found = Vec::new();
    let mut declare = |span| found.push(Occurrence { span, is_declaration: true });
    let function = match entity {
        Entity::Symbol(id) => {
            let symbol = symbols.symbol(id);
            if let SymbolKind::Function { .. } = symbol.kind {
                // Prototypes and the body are one function.
                let name = snapshot.slice(symbol.span);
                let all = module.functions.iter().map(|it| it.name);
                all.filter(|span| snapshot.slice(*span) == name).for_each(&mut declare);
                Some(name)
            } else {
                declare(symbol.span);
                None
            }
        }
        Entity::Member(id) => {
            declare(symbols.register(id).span);
            None
        }
    };
    let names = |resolution: Resolution| match (entity, resolution) {
        (Entity::Member(wanted), Resolution::Register(id)) => wanted == id,
        (Entity::Symbol(wanted), Resolution::Register(id)) => wanted == symbols.register_symbol(id),
        (Entity::Symbol(wanted), Resolution::Symbol(id)) => {
            wanted == id
                || function.is_some_and(|name| {
                    let other = symbols.symbol(id);
                    matches!(other.kind, SymbolKind::Function { .. }) && snapshot.slice(other.span) == name
                })
        }
        _ => false,
    };
    let mut uses: Vec<Span> = Vec::new();
    for (index, operand) in module.operands.iter().enumerate() {
        if operand.kind() == OperandKind::Name && names(symbols.operand(index as u32)) {
            uses.push(operand.span());
        }
    }
    for (index, instruction) in module.instructions.iter().enumerate() {
        if let Some(guard) = module.guard(instruction)
            && names(symbols.guard(index as u32))
        {
            uses.push(guard.name);
        }
    }
    found.extend(uses.into_iter().map(|span| Occurrence { span, is_declaration: false }));
    found.sort();
    found.dedup_by_key(|occurrence| occurrence.span);
    found
}

/// The part of the name at `offset` that a renaming would replace, or why there can be none.
pub(crate) fn renamable(snapshot: &Snapshot, offset: u32) -> Result<(Span, Entity), String> {
    let Some((span, entity)) = entity(snapshot, offset) else {
        return Err(match snapshot.used_name(offset) {
            Some((_, Resolution::Special(_))) => "a special register keeps its name".to_owned(),
            Some((_, Resolution::Undeclared)) => "the name is not declared here".to_owned(),
            _ => "there is no name here".to_owned(),
        });
    };
    match entity {
        Entity::Member(id) => {
            let symbol = snapshot.document.unit.symbols.register(id);
            let family = snapshot.slice(symbol.span);
            let SymbolKind::Register { count: Some(count), .. } = symbol.kind else {
                return Err("the register has no declaration".to_owned());
            };
            Err(format!(
                "`{}` is one of the {count} registers that `{family}<{count}>` declares together; rename `{family}` \
                 at its declaration to rename all of them",
                snapshot.slice(span)
            ))
        }
        Entity::Symbol(_) => Ok((without_component(snapshot, span), entity)),
    }
}

/// `%v` of `%v.x`
fn without_component(snapshot: &Snapshot, span: Span) -> Span {
    let text = snapshot.slice(span);
    let base = text.split('.').next().unwrap_or(text);
    Span::new(span.start, span.start + base.len() as u32)
}

/// The edits that give the name at `offset` another.
pub(crate) fn rename(snapshot: &Snapshot, offset: u32, name: &str) -> Result<Vec<Edit>, String> {
    let (_, entity) = renamable(snapshot, offset)?;
    if !is_identifier(name) {
        return Err(format!("`{name}` is not a name in PTX"));
    }
    let Entity::Symbol(id) = entity else { return Err("there is no name here".to_owned()) };
    let symbol = snapshot.document.unit.symbols.symbol(id);
    let family = matches!(symbol.kind, SymbolKind::Register { count: Some(_), .. });
    let old = snapshot.slice(symbol.span).len() as u32;
    let edits: Vec<Edit> = occurrences(snapshot, entity)
        .into_iter()
        .map(|occurrence| {
            let base = without_component(snapshot, occurrence.span);
            // Of a register of a family, all but its number.
            let span = if family { Span::new(base.start, base.start + old) } else { base };
            Edit { span, text: name.to_owned() }
        })
        .collect();
    verify(snapshot, &edits).map(|()| edits)
}

fn is_identifier(name: &str) -> bool {
    let rest = match name.as_bytes() {
        [b'A'..=b'Z' | b'a'..=b'z', rest @ ..] => rest,
        [b'_' | b'$' | b'%', rest @ ..] if !rest.is_empty() => rest,
        _ => return false,
    };
    rest.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$'))
}

/// Resolves the renamed text and compares: every name has to mean what it meant.
fn verify(snapshot: &Snapshot, edits: &[Edit]) -> Result<(), String> {
    let text = apply(snapshot.document.unit.source.text(), edits);
    let clash = || "the new name would clash with another that is visible there".to_owned();
    let source = Source::new("renamed", text).map_err(|error| error.to_string())?;
    let module = parser::parse(&source).module;
    let symbols = Symbols::new(&source, &module);
    let (old, new) = (&snapshot.document.unit.symbols, &symbols);
    let same_size = module.operands.len() == snapshot.document.unit.module.operands.len()
        && module.instructions.len() == snapshot.document.unit.module.instructions.len()
        && new.all().count() == old.all().count();
    if !same_size {
        return Err(clash());
    }
    let operands = (0..module.operands.len() as u32).all(|index| old.operand(index) == new.operand(index));
    let guards = (0..module.instructions.len() as u32).all(|index| old.guard(index) == new.guard(index));
    if !operands || !guards {
        return Err(clash());
    }
    // Two declarations of one name in one scope resolve, but do not assemble.
    let name = edits.first().map(|edit| edit.text.as_str()).unwrap_or_default();
    let renamed: Vec<u32> = edits.iter().map(|edit| edit.span.start).collect();
    let taken = old.all().any(|(_, symbol)| {
        snapshot.slice(symbol.span) == name
            && !renamed.contains(&symbol.span.start)
            && edits.iter().any(|edit| same_function(snapshot, edit.span.start, symbol.span.start))
    });
    if taken { Err(format!("`{name}` is declared already")) } else { Ok(()) }
}

/// Whether both offsets stand in the same function, or one of them in none.
fn same_function(snapshot: &Snapshot, one: u32, other: u32) -> bool {
    let function = |offset: u32| {
        let statements = &snapshot.document.unit.module.statements;
        snapshot.document.unit.module.functions.iter().position(|function| {
            let body = &statements[function.body.range()];
            let start = function.name.end;
            let end = body.last().map_or(start, |it| it.span.end);
            start <= offset && offset <= end
        })
    };
    match (function(one), function(other)) {
        (Some(one), Some(other)) => one == other,
        _ => true,
    }
}

/// The text with edits that do not overlap, in source order.
pub(crate) fn apply(text: &str, edits: &[Edit]) -> String {
    let mut result = String::with_capacity(text.len());
    let mut at = 0;
    for edit in edits {
        let range = edit.span.range();
        result.push_str(text.get(at..range.start).unwrap_or_default());
        result.push_str(&edit.text);
        at = range.end;
    }
    result.push_str(text.get(at..).unwrap_or_default());
    result
}
