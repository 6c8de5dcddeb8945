//! The words of a text by what they are, for colours.

use ptx_check::resolve::symbols::{Resolution, SymbolKind};
use ptx_check::source::Span;
use ptx_check::syntax::ast::StatementKind;
use ptx_check::syntax::lexer::{self, Token};

use crate::snapshot::Snapshot;

/// What a word is. The order is that of the legend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumIter, strum::IntoStaticStr)]
#[strum(serialize_all = "camelCase")]
pub(crate) enum Class {
    /// Directives.
    Keyword,
    /// The mnemonic of an instruction.
    Macro,
    /// Qualifiers of an instruction.
    EnumMember,
    /// Types and other attributes of declarations.
    Type,
    /// Registers.
    Variable,
    /// Variables in memory.
    Property,
    Parameter,
    Function,
    Label,
    Number,
    String,
}

/// A word and what it is; no word spans lines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Word {
    pub(crate) span: Span,
    pub(crate) class: Class,
}

/// The words in `span`, in order.
pub(crate) fn words(snapshot: &Snapshot, span: Span) -> Vec<Word> {
    let mut named = names(snapshot, span);
    named.sort_by_key(|word| word.span);
    named.dedup_by_key(|word| word.span.start);
    let text = snapshot.document.unit.source.text();
    // From the start of a statement on, so that no token or comment is cut.
    let start = snapshot.statements(span).next().map_or(0, |(_, statement)| statement.span.start);
    let start = start.min(span.start) as usize;
    let mut words = Vec::new();
    let mut next = 0;
    for (token, range) in lexer::lex(&text[start..]) {
        let place = Span::new((start + range.start) as u32, (start + range.end) as u32);
        if place.start > span.end {
            break;
        }
        let Ok(token) = token else { continue };
        while named.get(next).is_some_and(|word| word.span.end <= place.start) {
            next += 1;
        }
        // An opcode has several words in one token.
        let mut known = false;
        while let Some(word) = named.get(next).filter(|word| word.span.start < place.end) {
            words.push(*word);
            known = true;
            next += 1;
        }
        if !known && let Some(class) = class(token) {
            words.push(Word { span: place, class });
        }
    }
    words.retain(|word| word.span.start < span.end && word.span.end > span.start);
    words
}

/// What a token is by itself.
fn class(token: Token) -> Option<Class> {
    Some(match token {
        Token::Integer | Token::Float => Class::Number,
        Token::String => Class::String,
        Token::DotWord => Class::Type,
        Token::Version
        | Token::Target
        | Token::AddressSize
        | Token::File
        | Token::Loc
        | Token::Section
        | Token::Pragma
        | Token::Alias
        | Token::BranchTargets
        | Token::CallTargets
        | Token::CallPrototype
        | Token::Entry
        | Token::Func
        | Token::Align
        | Token::Attribute
        | Token::Space(_)
        | Token::Linkage(_) => Class::Keyword,
        _ => return None,
    })
}

/// The names and opcodes of the statements that `span` touches.
fn names(snapshot: &Snapshot, span: Span) -> Vec<Word> {
    let mut words = Vec::new();
    let module = &snapshot.document.unit.module;
    for (_, statement) in snapshot.statements(span) {
        let operands = match statement.kind() {
            StatementKind::Instruction(index) => {
                let instruction = &module.instructions[index as usize];
                opcode(snapshot, instruction.opcode, &mut words);
                if let Some(guard) = module.guard(instruction) {
                    let class = resolved(snapshot, snapshot.document.unit.symbols.guard(index));
                    words.push(Word { span: guard.name, class });
                }
                instruction.operands
            }
            StatementKind::BranchTargets(names)
            | StatementKind::CallTargets(names)
            | StatementKind::Alias(names) => module.list(names),
            StatementKind::Label => {
                words.push(Word { span: statement.span, class: Class::Label });
                continue;
            }
            StatementKind::Declaration(index) => {
                let declaration = &module.declarations[index as usize];
                let class = if declaration.space == ptx_check::syntax::ast::StateSpace::Reg {
                    Class::Variable
                } else {
                    Class::Property
                };
                let names = &module.declarators[declaration.declarators.range()];
                words.extend(names.iter().map(|it| Word { span: it.name, class }));
                continue;
            }
            StatementKind::FunctionOpen(index)
            | StatementKind::Prototype(index)
            | StatementKind::CallPrototype(index) => {
                let function = &module.functions[index as usize];
                words.push(Word { span: function.name, class: Class::Function });
                for parameter in [function.returns, function.parameters]
                    .into_iter()
                    .flat_map(|slice| &module.declarations[slice.range()])
                {
                    let names = &module.declarators[parameter.declarators.range()];
                    words.extend(names.iter().map(|it| Word { span: it.name, class: Class::Parameter }));
                }
                continue;
            }
            _ => continue,
        };
        snapshot.leaves(operands, &mut |index, operand| {
            if operand.kind() == ptx_check::syntax::ast::OperandKind::Name {
                let class = resolved(snapshot, snapshot.document.unit.symbols.operand(index));
                words.push(Word { span: operand.span(), class });
            }
        });
    }
    words
}

fn resolved(snapshot: &Snapshot, resolution: Resolution) -> Class {
    match resolution {
        Resolution::Register(_) | Resolution::Special(_) | Resolution::Undeclared => Class::Variable,
        Resolution::Symbol(id) => match snapshot.document.unit.symbols.symbol(id).kind {
            SymbolKind::Register { .. } => Class::Variable,
            SymbolKind::Variable { space: ptx_check::syntax::ast::StateSpace::Param, .. } => Class::Parameter,
            SymbolKind::Variable { .. } => Class::Property,
            SymbolKind::Label { .. } => Class::Label,
            SymbolKind::Function { .. } => Class::Function,
        },
    }
}

/// The mnemonic, and each qualifier by itself. An opcode may be spaced out over lines.
fn opcode(snapshot: &Snapshot, span: Span, words: &mut Vec<Word>) {
    let text = snapshot.slice(span);
    let mut at = 0;
    while at < text.len() {
        let end = text[at + 1..].find('.').map_or(text.len(), |dot| at + 1 + dot);
        let word = text[at..end].trim_end();
        // Comments within an opcode are rare enough to go without colour.
        if !word.contains(|c: char| c.is_whitespace() || c == '/') {
            let span = Span::new(span.start + at as u32, span.start + (at + word.len()) as u32);
            words.push(Word { span, class: if at == 0 { Class::Macro } else { Class::EnumMember } });
        }
        at = end;
    }
}
