//! Which names can be used at a place.

use ptx_check::source::Span;
use ptx_check::syntax::ast::{Declaration, StateSpace, StatementKind, Type};

use crate::snapshot::Snapshot;

/// A declared name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Name<'s> {
    pub(crate) text: &'s str,
    pub(crate) kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// One register, or `count` of them for `%r<count>`.
    Register {
        ty: Option<Type>,
        count: Option<u32>,
        vector: u8,
    },
    Variable(StateSpace),
    Label,
    Function,
}

impl Name<'_> {
    /// Whether it is a scalar register of one of these types.
    pub(crate) fn is_register(&self, types: &[Type]) -> bool {
        match self.kind {
            Kind::Register { ty: Some(ty), vector: 1, .. } => types.contains(&ty),
            _ => false,
        }
    }
}

/// Whether `offset` stands between the braces of a function.
pub(crate) fn in_function(snapshot: &Snapshot, offset: u32) -> bool {
    let statements = &snapshot.document.unit.module.statements;
    let before = statements.partition_point(|statement| statement.span.end <= offset);
    let nearest = statements[..before].iter().rev().find_map(|statement| match statement.kind() {
        StatementKind::FunctionOpen(_) | StatementKind::UnknownFunctionOpen => Some(true),
        StatementKind::FunctionClose => Some(false),
        _ => None,
    });
    nearest.unwrap_or(false)
}

/// The names that are visible at `offset`, the innermost scope first.
pub(crate) fn visible(snapshot: &Snapshot, offset: u32) -> Vec<Name<'_>> {
    let module = &snapshot.document.unit.module;
    let mut scopes: Vec<Vec<Name<'_>>> = vec![Vec::new()];
    // Labels are known before they stand: the scope has ended when its brace closes.
    let mut depth_behind = 0usize;
    for statement in &module.statements {
        let behind = statement.span.end > offset;
        match statement.kind() {
            StatementKind::FunctionOpen(_)
            | StatementKind::UnknownFunctionOpen
            | StatementKind::BlockOpen
                if behind =>
            {
                if scopes.len() == 1 {
                    break;
                }
                depth_behind += 1;
            }
            StatementKind::FunctionClose | StatementKind::BlockClose if behind => {
                if depth_behind == 0 {
                    // The innermost scope ends; labels of the outer ones may still come.
                    break;
                }
                depth_behind -= 1;
            }
            StatementKind::Label if depth_behind == 0 => {
                push(&mut scopes, Name { text: snapshot.slice(statement.span), kind: Kind::Label });
            }
            _ if behind => {}
            StatementKind::FunctionOpen(index) => {
                let function = &module.functions[index as usize];
                push(&mut scopes, Name { text: snapshot.slice(function.name), kind: Kind::Function });
                scopes.push(Vec::new());
                for slice in [function.returns, function.parameters] {
                    for declaration in &module.declarations[slice.range()] {
                        declare(snapshot, declaration, &mut scopes);
                    }
                }
            }
            StatementKind::Prototype(index) => {
                let text = snapshot.slice(module.functions[index as usize].name);
                push(&mut scopes, Name { text, kind: Kind::Function });
            }
            StatementKind::UnknownFunctionOpen | StatementKind::BlockOpen => scopes.push(Vec::new()),
            StatementKind::FunctionClose | StatementKind::BlockClose => {
                scopes.pop();
            }
            StatementKind::Declaration(index) => {
                declare(snapshot, &module.declarations[index as usize], &mut scopes);
            }
            _ => {}
        }
    }
    let mut seen: Vec<(&str, bool)> = Vec::new();
    let mut names = Vec::new();
    for name in scopes.into_iter().rev().flatten() {
        // `%r<10>` and `%r` stand side by side.
        let key = (name.text, matches!(name.kind, Kind::Register { count: Some(_), .. }));
        if !seen.contains(&key) {
            seen.push(key);
            names.push(name);
        }
    }
    names
}

fn push<'s>(scopes: &mut [Vec<Name<'s>>], name: Name<'s>) {
    if let Some(scope) = scopes.last_mut() {
        scope.push(name);
    }
}

fn declare<'s>(snapshot: &'s Snapshot, declaration: &Declaration, scopes: &mut [Vec<Name<'s>>]) {
    for declarator in &snapshot.document.unit.module.declarators[declaration.declarators.range()] {
        let span: Span = declarator.name;
        let kind = match declaration.space {
            StateSpace::Reg => {
                Kind::Register { ty: declaration.ty, count: declarator.count, vector: declaration.vector }
            }
            space => Kind::Variable(space),
        };
        push(scopes, Name { text: snapshot.slice(span), kind });
    }
}
