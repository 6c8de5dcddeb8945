//! One walk over the statements, with the scopes that are open.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use rustc_hash::FxHasher;

use super::pieces::{self, Outside, Piece};
use super::{Meanings, Packed, RegisterId, Resolution, Symbol, SymbolId, SymbolKind};
use crate::families::{self, Families, Numbered};
use crate::isa::generic::Class;
use crate::isa::special_registers::Special;
use crate::source::{Source, Span};
use crate::syntax::ast::{Declaration, Linkage, Module, Operand, Slice, StatementKind};

type FastMap<K, V> = HashMap<K, V, BuildHasherDefault<FxHasher>>;

/// The greatest number that a register can have.
const LAST_REGISTER: u32 = !Packed::TAG - 1;

/// So many registers, as far as they can be numbered.
fn numbered(count: u64) -> u32 {
    count.min(u64::from(LAST_REGISTER) + 1) as u32
}

/// One of the symbols that can be meant in a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Local(u32);

/// What a piece declares.
#[derive(Debug, Default)]
pub(super) struct Own {
    /// Its symbols; those of the first piece come behind the functions of the module.
    pub(super) symbols: Vec<Symbol>,
    /// The first register of each declaration, and the declaration.
    pub(super) registers: Vec<(RegisterId, SymbolId)>,
    /// How many registers there are until its end.
    pub(super) register_count: u32,
    /// What is named in it.
    pub(super) named: Named,
}

/// Labels and functions that something names.
#[derive(Debug, Default)]
pub(super) struct Named {
    /// Of labels, the statements that they stand at.
    pub(super) labels: Vec<u32>,
    /// Instructions that name functions; of other statements, the instruction before.
    pub(super) functions: Vec<u32>,
    /// Where names stand that mean nothing, in the order of the text but for those outside of functions.
    pub(super) undeclared: Vec<Span>,
}

/// What a walk over the statements knows.
pub(super) struct Resolver<'a> {
    source: &'a Source,
    module: &'a Module,
    operands: &'a Meanings,
    guards: &'a Meanings,
    /// What is looked at.
    piece: Piece,
    /// Whether the walk is there, and not at what stands outside of functions before.
    is_own: bool,
    /// What can be meant: functions, what stands outside of them before the piece, and what the piece declares.
    symbols: Vec<Symbol>,
    /// Of those before its own: by which numbers all know them.
    outer: Vec<SymbolId>,
    /// What all call the first of its own.
    first: u32,
    /// How many of the symbols are functions.
    functions: usize,
    /// The first register of each declaration, and the declaration.
    registers: Vec<(RegisterId, SymbolId)>,
    register_count: u32,
    names: FastMap<&'a str, u32>,
    /// The names before `<` of parameterised registers, which clash with no others: `%r<10>` and
    /// `%r` stand side by side.
    families: Families<'a>,
    /// By name: the declaration it means now.
    bindings: Vec<Option<Local>>,
    /// Changes when the meaning of a family's name does.
    bound: u32,
    /// By a few bits of their names: families as they were last asked for.
    recent: [Recent; Recent::SIZE],
    /// By name: whether it is one like those of parameterised registers, `%r7` by itself.
    is_numbered: Vec<bool>,
    /// How many declarations of such names are visible: people write them into inline assembly, compilers do not.
    numbered: u32,
    /// What to restore when the innermost scopes close: name and earlier meaning.
    undo: Vec<(u32, Option<Local>)>,
    /// For each open scope, where its part of `undo` starts.
    marks: Vec<usize>,
    /// Labels, each behind the statement that opens the scope it stands directly in, in the order of those.
    labels: Vec<(u32, u32)>,
    /// How many of them stand in scopes that were opened.
    known_labels: usize,
    named: Named,
    /// The instruction that was looked at last.
    at: u32,
}

impl<'a> Resolver<'a> {
    pub(super) fn new(
        source: &'a Source,
        module: &'a Module,
        operands: &'a Meanings,
        guards: &'a Meanings,
        piece: Piece,
    ) -> Self {
        Self {
            source,
            module,
            operands,
            guards,
            piece,
            is_own: false,
            symbols: Vec::new(),
            outer: Vec::new(),
            first: 0,
            functions: 0,
            registers: Vec::new(),
            register_count: 0,
            names: FastMap::default(),
            families: Families::default(),
            bindings: Vec::new(),
            bound: 0,
            recent: [Recent::NONE; Recent::SIZE],
            is_numbered: Vec::new(),
            numbered: 0,
            undo: Vec::new(),
            marks: Vec::new(),
            labels: Vec::new(),
            known_labels: 0,
            named: Named::default(),
            at: 0,
        }
    }

    /// Walks over the statements of the piece; returns what is declared there.
    pub(super) fn run(mut self) -> Own {
        self.collect_labels();
        self.bind_functions();
        self.bind_outside();
        self.is_own = true;
        self.first = (self.functions as u32).saturating_add(self.piece.symbols);
        self.register_count = numbered(self.piece.registers);
        self.walk();
        let Self { mut symbols, outer, functions, registers, register_count, piece, named, .. } = self;
        // The first piece speaks for all of functions.
        if piece.own.start > 0 {
            symbols.drain(..outer.len());
        }
        debug_assert!(piece.own.start > 0 || outer.len() == functions);
        Own { symbols, registers, register_count, named }
    }

    fn walk(&mut self) {
        let module = self.module;
        let own = self.piece.own.clone();
        for (index, statement) in own.clone().zip(&module.statements[own]) {
            match statement.kind() {
                StatementKind::Instruction(instruction) => self.instruction(instruction),
                StatementKind::Declaration(declaration) => {
                    self.declare(&module.declarations[declaration as usize]);
                }
                StatementKind::FunctionOpen(function) => {
                    self.open(index as u32);
                    let function = &module.functions[function as usize];
                    self.parameters(function.returns);
                    self.parameters(function.parameters);
                }
                StatementKind::UnknownFunctionOpen | StatementKind::BlockOpen => {
                    self.open(index as u32);
                }
                StatementKind::FunctionClose | StatementKind::BlockClose => self.close(),
                StatementKind::BranchTargets(names)
                | StatementKind::CallTargets(names)
                | StatementKind::Alias(names) => self.names_of(self.module.list(names)),
                StatementKind::Label
                | StatementKind::Prototype(_)
                | StatementKind::CallPrototype(_)
                | StatementKind::Version
                | StatementKind::Target
                | StatementKind::AddressSize
                | StatementKind::File(_)
                | StatementKind::Loc(_)
                | StatementKind::Section(_)
                | StatementKind::Pragma(_)
                | StatementKind::Broken => {}
            }
        }
    }

    /// Labels may be named before they stand, so that each scope's are known when it opens.
    fn collect_labels(&mut self) {
        let mut open = Vec::new();
        let own = self.piece.own.clone();
        for (index, statement) in own.clone().zip(&self.module.statements[own]) {
            match statement.kind() {
                StatementKind::FunctionOpen(_)
                | StatementKind::UnknownFunctionOpen
                | StatementKind::BlockOpen => {
                    open.push(index as u32);
                }
                StatementKind::FunctionClose | StatementKind::BlockClose => {
                    open.pop();
                }
                StatementKind::Label => {
                    if let Some(&scope) = open.last() {
                        self.labels.push((scope, index as u32));
                    }
                }
                _ => {}
            }
        }
        self.labels.sort_unstable();
        // About as many as all pieces have by this one's part of them.
        let Module { statements, declarators, functions, .. } = self.module;
        let part = |count: usize| count * self.piece.own.len() / statements.len().max(1);
        self.symbols.reserve_exact(functions.len() + self.labels.len() + part(declarators.len()));
    }

    /// Functions are visible in the whole module: a definition wins over a prototype.
    fn bind_functions(&mut self) {
        let module = self.module;
        let has_others = module.functions.iter().any(|function| !function.has_body());
        for statement in module.statements.iter().filter(|_| has_others) {
            if let StatementKind::Prototype(function) = statement.kind() {
                let name = module.functions[function as usize].name;
                let id = self.name(name, false);
                if self.bindings[id as usize].is_none() {
                    self.bind(name, SymbolKind::Function { function });
                }
            }
        }
        for (function, definition) in module.bodies() {
            self.bind(definition.name, SymbolKind::Function { function });
        }
        self.functions = self.symbols.len();
        self.outer.extend((0..self.functions as u32).map(SymbolId));
    }

    /// What stands outside of functions before the piece has its meaning there.
    fn bind_outside(&mut self) {
        let module = self.module;
        for Outside { declaration, symbols, registers } in std::mem::take(&mut self.piece.outside) {
            let declaration = &module.declarations[declaration as usize];
            let first = (self.functions as u32).saturating_add(symbols);
            self.outer.extend((first..).take(declaration.declarators.len as usize).map(SymbolId));
            self.register_count = numbered(registers);
            self.declare(declaration);
        }
        self.registers.clear();
    }

    fn open(&mut self, statement: u32) {
        self.marks.push(self.undo.len());
        while let Some(&(scope, label)) = self.labels.get(self.known_labels)
            && scope <= statement
        {
            self.known_labels += 1;
            let span = self.module.statements[label as usize].span;
            self.bind(span, SymbolKind::Label { statement: label });
        }
    }

    fn symbol(&self, id: Local) -> &Symbol {
        &self.symbols[id.0 as usize]
    }

    /// By which number all know a symbol.
    fn number_of(&self, id: Local) -> SymbolId {
        let behind = (id.0 as usize).checked_sub(self.outer.len());
        behind.map_or_else(|| self.outer[id.0 as usize], |behind| SymbolId(self.first + behind as u32))
    }

    fn close(&mut self) {
        let mark = self.marks.pop().unwrap_or_default();
        let mut ends_family = false;
        for (name, earlier) in self.undo.drain(mark..).rev() {
            let ended = std::mem::replace(&mut self.bindings[name as usize], earlier);
            ends_family |= ended.is_some_and(|id| self.symbols[id.0 as usize].is_family());
            self.numbered -= u32::from(self.is_numbered[name as usize]);
        }
        self.bound = self.bound.wrapping_add(u32::from(ends_family));
    }

    fn parameters(&mut self, parameters: Slice) {
        for declaration in &self.module.declarations[parameters.range()] {
            self.declare(declaration);
        }
    }

    fn declare(&mut self, declaration: &Declaration) {
        let makes_registers = pieces::makes_registers(declaration);
        for declarator in &self.module.declarators[declaration.declarators.range()] {
            let kind = if makes_registers {
                let first = RegisterId(self.register_count.min(LAST_REGISTER));
                self.registers.push((first, self.number_of(Local(self.symbols.len() as u32))));
                self.register_count =
                    numbered(u64::from(first.0) + u64::from(pieces::registers(declarator.count)));
                SymbolKind::Register {
                    ty: declaration.ty,
                    vector: declaration.vector,
                    count: declarator.count,
                    first,
                }
            } else {
                SymbolKind::Variable {
                    space: declaration.space,
                    ty: declaration.ty,
                    is_external: declaration.linkage == Some(Linkage::Extern),
                }
            };
            self.bind(declarator.name, kind);
            // `.global .u64 table = other;`
            if let Some(initializer) = declarator.initializer
                && self.is_own
            {
                self.resolve_operand(initializer as usize);
            }
        }
    }

    fn name(&mut self, span: Span, family: bool) -> u32 {
        let text = self.source.slice(span);
        let next = self.bindings.len() as u32;
        let id =
            if family { self.families.number(text, next) } else { *self.names.entry(text).or_insert(next) };
        if id == next {
            self.bindings.push(None);
            self.is_numbered.push(!family && is_numbered(text));
        }
        id
    }

    fn bind(&mut self, span: Span, kind: SymbolKind) {
        let symbol = Symbol { kind, span };
        let is_family = symbol.is_family();
        let name = self.name(span, is_family);
        self.bound = self.bound.wrapping_add(u32::from(is_family));
        let id = Local(self.symbols.len() as u32);
        self.symbols.push(symbol);
        self.numbered += u32::from(self.is_numbered[name as usize]);
        self.undo.push((name, self.bindings[name as usize].replace(id)));
    }

    fn names_of(&mut self, names: Slice) {
        for index in names.range() {
            self.resolve_operand(index);
        }
    }

    fn instruction(&mut self, index: u32) {
        let instruction = &self.module.instructions[index as usize];
        self.at = index;
        if let Some(guard) = self.module.guard(instruction) {
            let (meaning, class) = self.resolve(guard.name);
            self.guards.set(index as usize, meaning, class);
        }
        for operand in instruction.operands.range() {
            self.resolve_operand(operand);
        }
    }

    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "it and `resolve_other` call each other: no compiler inlines that by itself"
    )]
    fn resolve_operand(&mut self, index: usize) {
        let operand = self.module.operands[index];
        if let Some((stem, number)) = operand.numbered()
            && let Some((register, class)) =
                self.recent_register(families::stem(self.source.text(), operand.start(), stem), number)
        {
            self.operands.set(index, Resolution::Register(register), class);
        } else if !operand.is_literal() {
            self.resolve_other(index, operand);
        }
    }

    /// The same for what is not the register of a family that was asked for of late.
    #[inline(never)]
    fn resolve_other(&mut self, index: usize, operand: Operand) {
        if operand.is_name() {
            let (meaning, class) = self.resolve(operand.span());
            self.operands.set(index, meaning, class);
        } else {
            for part in operand.parts().range() {
                self.resolve_operand(part);
            }
        }
    }

    /// The register with this number, if it is one of a family that was asked for of late.
    #[inline]
    fn recent_register(&self, stem: u64, number: u32) -> Option<(RegisterId, Class)> {
        let recent = &self.recent[Recent::place(stem)];
        let is_it = recent.stem == stem && recent.bound == self.bound && self.numbered == 0;
        if is_it { Some((recent.family.member(number)?, recent.family.class)) } else { None }
    }

    /// What a name means, and its class.
    fn resolve(&mut self, name: Span) -> (Resolution, Class) {
        if self.numbered == 0
            && let Some(numbered) = Numbered::read(self.source.text(), name)
        {
            if let Some((register, class)) = self.recent_register(numbered.stem, numbered.number) {
                return (Resolution::Register(register), class);
            }
            self.remember(name, numbered);
        }
        let meaning = self.resolve_any(self.source.slice(name));
        if meaning.0 == Resolution::Undeclared {
            self.named.undeclared.push(name);
        }
        meaning
    }

    /// Keeps at hand the family that a name belongs to, if it can belong to one only.
    #[cold]
    fn remember(&mut self, name: Span, Numbered { stem, length, .. }: Numbered) {
        let recent = &self.recent[Recent::place(stem)];
        if recent.stem == stem && recent.bound == self.bound {
            return;
        }
        let text = self.source.slice(name).get(..length as usize);
        if let Some(text) = text
            && let Some(name) = self.families.only(text)
            && let Some(family) = self.family(name)
        {
            self.recent[Recent::place(stem)] = Recent { stem, bound: self.bound, family };
        }
    }

    /// What a name means, however it is written.
    fn resolve_any(&mut self, text: &str) -> (Resolution, Class) {
        // `%v.x` is a component of `%v`; `%tid.x` is none, `%tid` not being declared.
        let base = memchr::memchr(b'.', text.as_bytes()).map_or(text, |dot| &text[..dot]);
        // The innermost declaration is the latest of those that are visible.
        let may_be_plain = self.numbered > 0 || !is_numbered(base);
        let plain = may_be_plain.then(|| self.bindings[*self.names.get(base)? as usize]).flatten();
        let numbered = if self.families.may_have(base) { self.numbered(base) } else { None };
        match (plain, numbered) {
            (Some(id), Some((numbered, register))) if numbered > id => {
                (Resolution::Register(register), class_of(self.symbol(numbered)))
            }
            (None, Some((numbered, register))) => {
                (Resolution::Register(register), class_of(self.symbol(numbered)))
            }
            (Some(id), _) => {
                let symbol = self.symbol(id);
                let class = class_of(symbol);
                match symbol.kind {
                    SymbolKind::Register { first, .. } => return (Resolution::Register(first), class),
                    SymbolKind::Label { statement } => self.named.labels.push(statement),
                    SymbolKind::Function { .. } => self.named.functions.push(self.at),
                    SymbolKind::Variable { .. } => {}
                }
                (Resolution::Symbol(self.number_of(id)), class)
            }
            (None, None) => match Special::read(text) {
                Some(special) => (Resolution::Special(special), special.class()),
                None => (Resolution::Undeclared, Class::Unknown),
            },
        }
    }

    /// `%r7` as a register of `%r<10>`.
    fn numbered(&self, text: &str) -> Option<(Local, RegisterId)> {
        self.families
            .readings(text)
            .find_map(|(name, number)| Some((self.bindings[name as usize]?, self.member(name, number)?)))
    }

    /// A register of a family that is declared here, by the number of the family's name and its own.
    #[inline]
    fn member(&self, name: u32, number: u32) -> Option<RegisterId> {
        self.family(name)?.member(number)
    }

    /// The family that is declared here, by the number of its name.
    fn family(&self, name: u32) -> Option<Family> {
        let id = self.bindings[name as usize]?;
        match self.symbol(id).kind {
            SymbolKind::Register { count: Some(count), first, .. } => {
                Some(Family { first, count, class: class_of(self.symbol(id)) })
            }
            _ => None,
        }
    }
}

/// The registers of one declaration.
#[derive(Clone, Copy, Debug)]
struct Family {
    first: RegisterId,
    count: u32,
    class: Class,
}

impl Family {
    /// One of them.
    #[inline]
    fn member(self, number: u32) -> Option<RegisterId> {
        // Registers beyond all that can be numbered are one.
        let register = RegisterId((self.first.0 + number).min(LAST_REGISTER));
        (number < self.count.min(families::MOST)).then_some(register)
    }
}

/// A family that was asked for, by the bytes of its name.
#[derive(Clone, Copy, Debug)]
struct Recent {
    stem: u64,
    /// What [`Resolver::bound`] was: with another one the name may mean something else.
    bound: u32,
    family: Family,
}

impl Recent {
    const SIZE: usize = 64;

    /// No name has this stem.
    const NONE: Self =
        Self { stem: 0, bound: 0, family: Family { first: RegisterId(0), count: 0, class: Class::Unknown } };

    /// Where a family is kept.
    #[inline]
    const fn place(stem: u64) -> usize {
        // The letter behind `%`, and the next one.
        ((stem >> 8) ^ (stem >> 13)) as usize % Self::SIZE
    }
}

/// The class of what is declared.
fn class_of(symbol: &Symbol) -> Class {
    match symbol.kind {
        // Those of several elements are judged by these.
        SymbolKind::Register { vector, .. } if vector > 1 => Class::Unknown,
        SymbolKind::Register { ty, .. } => ty.map_or(Class::Unknown, Class::of),
        SymbolKind::Variable { .. } => Class::Variable,
        // The front end of the assembler takes their names nearly everywhere.
        SymbolKind::Function { .. } => Class::Unknown,
        SymbolKind::Label { .. } => Class::Label,
    }
}

/// `%r7`
fn is_numbered(name: &str) -> bool {
    name.starts_with('%') && name.ends_with(|last: char| last.is_ascii_digit())
}
