//! What a module consists of: symbols and foldable regions.

use ptx_check::source::Span;
use ptx_check::syntax::ast::{Declaration, StateSpace, StatementKind};

use crate::snapshot::Snapshot;

/// Something with a name that is worth finding.
#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) name: String,
    pub(crate) kind: ItemKind,
    pub(crate) detail: String,
    /// All of it.
    pub(crate) span: Span,
    /// Its name.
    pub(crate) selection: Span,
    pub(crate) children: Vec<Item>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ItemKind {
    Entry,
    Function,
    Variable,
    Label,
}

/// The functions with their shared variables and labels, and the variables of the module.
pub(crate) fn outline(snapshot: &Snapshot) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    let mut function: Option<Item> = None;
    for statement in &snapshot.document.unit.module.statements {
        match statement.kind() {
            StatementKind::FunctionOpen(index) | StatementKind::Prototype(index) => {
                let it = &snapshot.document.unit.module.functions[index as usize];
                let kind = if it.is_entry { ItemKind::Entry } else { ItemKind::Function };
                let detail = if it.is_entry { ".entry" } else { ".func" };
                let item = Item {
                    name: snapshot.slice(it.name).to_owned(),
                    kind,
                    detail: detail.to_owned(),
                    span: statement.span,
                    selection: it.name,
                    children: Vec::new(),
                };
                match statement.kind() {
                    StatementKind::Prototype(_) => items.push(item),
                    _ => function = Some(item),
                }
            }
            StatementKind::FunctionClose => {
                if let Some(mut item) = function.take() {
                    item.span = item.span.to(statement.span);
                    items.push(item);
                }
            }
            StatementKind::Declaration(index) => {
                let declaration = &snapshot.document.unit.module.declarations[index as usize];
                let list = function.as_mut().map_or(&mut items, |function| &mut function.children);
                variables(snapshot, declaration, statement.span, list);
            }
            StatementKind::Label => {
                if let Some(function) = &mut function {
                    function.children.push(Item {
                        name: snapshot.slice(statement.span).to_owned(),
                        kind: ItemKind::Label,
                        detail: String::new(),
                        span: statement.span,
                        selection: statement.span,
                        children: Vec::new(),
                    });
                }
            }
            _ => {}
        }
    }
    items.extend(function);
    items
}

fn variables(snapshot: &Snapshot, declaration: &Declaration, span: Span, items: &mut Vec<Item>) {
    if matches!(declaration.space, StateSpace::Reg | StateSpace::Sreg | StateSpace::Param) {
        return;
    }
    for declarator in &snapshot.document.unit.module.declarators[declaration.declarators.range()] {
        let ty = declaration.ty.map(|ty| format!(" .{ty}")).unwrap_or_default();
        items.push(Item {
            name: snapshot.slice(declarator.name).to_owned(),
            kind: ItemKind::Variable,
            detail: format!(".{}{ty}", declaration.space),
            span: span.to(declarator.name),
            selection: declarator.name,
            children: Vec::new(),
        });
    }
}

/// From the first to the last line of something that can be shown as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fold {
    pub(crate) first: u32,
    pub(crate) last: u32,
    pub(crate) is_comment: bool,
}

/// Bodies, scopes, sections and runs of comment lines.
pub(crate) fn folds(snapshot: &Snapshot) -> Vec<Fold> {
    let mut folds = Vec::new();
    let mut open = Vec::new();
    let line = |offset| snapshot.text.line_of(offset);
    let mut fold = |first, last, is_comment| {
        if first < last {
            folds.push(Fold { first, last, is_comment });
        }
    };
    for statement in &snapshot.document.unit.module.statements {
        match statement.kind() {
            StatementKind::FunctionOpen(_)
            | StatementKind::UnknownFunctionOpen
            | StatementKind::BlockOpen => {
                open.push(line(statement.span.start));
            }
            StatementKind::FunctionClose | StatementKind::BlockClose => {
                if let Some(first) = open.pop() {
                    // The line of the brace stays.
                    fold(first, line(statement.span.start).saturating_sub(1), false);
                }
            }
            StatementKind::Section(_) => {
                fold(line(statement.span.start), line(statement.span.end).saturating_sub(1), false);
            }
            _ => {}
        }
    }
    let mut first = None;
    for number in 0..=snapshot.text.line_count() {
        let text = snapshot.slice(snapshot.text.line(number)).trim_start();
        let is_comment = number < snapshot.text.line_count() && text.starts_with("//");
        match (is_comment, first) {
            (true, None) => first = Some(number),
            (false, Some(start)) => {
                fold(start, number - 1, true);
                first = None;
            }
            _ => {}
        }
    }
    folds.sort_by_key(|fold| (fold.first, fold.last));
    folds
}
