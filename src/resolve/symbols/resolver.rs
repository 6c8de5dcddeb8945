//! One walk over the statements, with the scopes that are open.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::ops::Range;

use rustc_hash::FxHasher;

use super::{Declared, Meanings, Packed, RegisterId, Resolution, Symbol, SymbolId, SymbolKind};
use crate::isa::special_registers::Special;
use crate::resolve::families::{self, Families, Numbered};
use crate::source::{Source, Span};
use crate::syntax::ast::{Declaration, Linkage, Module, Operand, Slice, StateSpace, StatementKind};

type FastMap<K, V> = HashMap<K, V, BuildHasherDefault<FxHasher>>;

/// The statements whose names one thread each looks up: all of them, in their order.
pub(super) fn pieces(statements: usize) -> Vec<Range<usize>> {
    /// What a statement costs before a piece, against one in it.
    const BEFORE: f64 = 0.2;
    /// Statements that are worth a thread.
    #[cfg(feature = "parallel")]
    const WORTH: usize = 1 << 13;
    /// With more threads than these, most of the time is spent before the pieces.
    #[cfg(feature = "parallel")]
    const MOST: usize = 8;
    #[cfg(feature = "parallel")]
    let threads = rayon::current_num_threads().min(MOST).min(statements / WORTH).max(1);
    #[cfg(not(feature = "parallel"))]
    let threads = 1_usize;
    // Later pieces are shorter, so that all take equally long.
    let shares = std::iter::successors(Some(1.0), |share| Some(share * (1.0 - BEFORE)));
    let mut length = statements as f64 / shares.take(threads).sum::<f64>();
    let mut pieces = Vec::with_capacity(threads);
    let mut start = 0;
    for piece in 1..=threads {
        let end = if piece == threads { statements } else { statements.min(start + length as usize) };
        pieces.push(start..end);
        start = end;
        length *= 1.0 - BEFORE;
    }
    pieces
}

/// The greatest number that a register can have.
const LAST_REGISTER: u32 = !Packed::TAG - 1;

/// What a walk over the statements knows.
pub(super) struct Resolver<'a> {
    source: &'a Source,
    module: &'a Module,
    operands: &'a Meanings,
    guards: &'a Meanings,
    /// The statements whose names are looked up.
    own: Range<usize>,
    /// Whether the walk has come to them.
    looks_up: bool,
    symbols: Declared,
    names: FastMap<&'a str, u32>,
    /// The names before `<` of parameterised registers, which clash with no others: `%r<10>` and
    /// `%r` stand side by side.
    families: Families<'a>,
    /// By name: the declaration it means now.
    bindings: Vec<Option<SymbolId>>,
    /// Changes when the meaning of a family's name does.
    bound: u32,
    /// By a few bits of their names: families as they were last asked for.
    recent: [Recent; Recent::SIZE],
    /// By name: whether it is one like those of parameterised registers, `%r7` by itself.
    is_numbered: Vec<bool>,
    /// How many declarations of such names are visible: people write them into inline assembly, compilers do not.
    numbered: u32,
    /// What to restore when the innermost scopes close: name and earlier meaning.
    undo: Vec<(u32, Option<SymbolId>)>,
    /// For each open scope, where its part of `undo` starts.
    marks: Vec<usize>,
    /// Labels, each behind the statement that opens the scope it stands directly in, in the order of those.
    labels: Vec<(u32, u32)>,
    /// How many of them stand in scopes that were opened.
    known_labels: usize,
}

impl<'a> Resolver<'a> {
    pub(super) fn new(
        source: &'a Source,
        module: &'a Module,
        operands: &'a Meanings,
        guards: &'a Meanings,
        own: Range<usize>,
    ) -> Self {
        Self {
            source,
            module,
            operands,
            guards,
            own,
            looks_up: false,
            symbols: Declared::default(),
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
        }
    }

    /// Walks to the end of its own statements; returns what is declared until then.
    pub(super) fn run(mut self) -> Declared {
        self.collect_labels();
        self.bind_functions();
        self.walk(0..self.own.start);
        self.looks_up = true;
        self.walk(self.own.clone());
        self.symbols.registers.finish(self.symbols.register_count);
        self.symbols
    }

    fn walk(&mut self, statements: Range<usize>) {
        let module = self.module;
        for (index, statement) in statements.clone().zip(&module.statements[statements]) {
            match statement.kind() {
                StatementKind::Instruction(instruction) => {
                    if self.looks_up {
                        self.instruction(instruction);
                    }
                }
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
        for (index, statement) in self.module.statements.iter().enumerate() {
            // Scopes that the walk does not come to need no labels.
            if index >= self.own.end && open.is_empty() {
                break;
            }
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
    }

    /// Functions are visible in the whole module: a definition wins over a prototype.
    fn bind_functions(&mut self) {
        let module = self.module;
        for statement in &module.statements {
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

    fn close(&mut self) {
        let mark = self.marks.pop().unwrap_or_default();
        let mut ends_family = false;
        for (name, earlier) in self.undo.drain(mark..).rev() {
            let ended = std::mem::replace(&mut self.bindings[name as usize], earlier);
            ends_family |= ended.is_some_and(|id| self.symbols.symbol(id).is_family());
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
        for declarator in &self.module.declarators[declaration.declarators.range()] {
            let kind = if matches!(declaration.space, StateSpace::Reg | StateSpace::Sreg) {
                let first = RegisterId(self.symbols.register_count.min(LAST_REGISTER));
                self.symbols.registers.push(first, SymbolId(self.symbols.symbols.len() as u32));
                // A count over the limit is not worth a register number each.
                let count = declarator.count.unwrap_or(1).min(families::MOST);
                self.symbols.register_count = (first.0 + count).min(!Packed::TAG);
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
                && self.looks_up
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
        let id = SymbolId(self.symbols.symbols.len() as u32);
        self.symbols.symbols.push(symbol);
        self.numbered += u32::from(self.is_numbered[name as usize]);
        self.undo.push((name, self.bindings[name as usize].replace(id)));
    }

    fn names_of(&mut self, names: Slice) {
        if !self.looks_up {
            return;
        }
        for index in names.range() {
            self.resolve_operand(index);
        }
    }

    fn instruction(&mut self, index: u32) {
        let instruction = &self.module.instructions[index as usize];
        if let Some(guard) = self.module.guard(instruction) {
            let meaning = self.resolve(guard.name);
            self.guards.set(index as usize, meaning);
        }
        for operand in instruction.operands.range() {
            self.resolve_operand(operand);
        }
    }

    #[inline]
    fn resolve_operand(&mut self, index: usize) {
        let operand = self.module.operands[index];
        if let Some((stem, number)) = operand.numbered()
            && let Some(register) =
                self.recent_register(families::stem(self.source.text(), operand.start(), stem), number)
        {
            self.operands.set(index, Resolution::Register(register));
        } else if !operand.is_literal() {
            self.resolve_other(index, operand);
        }
    }

    /// The same for what is not the register of a family that was asked for of late.
    fn resolve_other(&mut self, index: usize, operand: Operand) {
        if operand.is_name() {
            let meaning = self.resolve(operand.span());
            self.operands.set(index, meaning);
        } else {
            for part in operand.parts().range() {
                self.resolve_operand(part);
            }
        }
    }

    /// The register with this number, if it is one of a family that was asked for of late.
    #[inline]
    fn recent_register(&self, stem: u64, number: u32) -> Option<RegisterId> {
        let recent = &self.recent[Recent::place(stem)];
        let is_it = recent.stem == stem && recent.bound == self.bound && self.numbered == 0;
        if is_it { recent.family.member(number) } else { None }
    }

    /// What a name means.
    fn resolve(&mut self, name: Span) -> Resolution {
        if self.numbered == 0
            && let Some(numbered) = Numbered::read(self.source.text(), name)
        {
            if let Some(register) = self.recent_register(numbered.stem, numbered.number) {
                return Resolution::Register(register);
            }
            self.remember(name, numbered);
        }
        self.resolve_any(self.source.slice(name))
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
    fn resolve_any(&self, text: &str) -> Resolution {
        // `%v.x` is a component of `%v`; `%tid.x` is none, `%tid` not being declared.
        let base = memchr::memchr(b'.', text.as_bytes()).map_or(text, |dot| &text[..dot]);
        // The innermost declaration is the latest of those that are visible.
        let may_be_plain = self.numbered > 0 || !is_numbered(base);
        let plain = may_be_plain.then(|| self.bindings[*self.names.get(base)? as usize]).flatten();
        let numbered = if self.families.may_have(base) { self.numbered(base) } else { None };
        match (plain, numbered) {
            (Some(id), Some((numbered, register))) if numbered > id => Resolution::Register(register),
            (None, Some((_, register))) => Resolution::Register(register),
            (Some(id), _) => match self.symbols.symbol(id).kind {
                SymbolKind::Register { first, .. } => Resolution::Register(first),
                _ => Resolution::Symbol(id),
            },
            (None, None) => Special::read(text).map_or(Resolution::Undeclared, Resolution::Special),
        }
    }

    /// `%r7` as a register of `%r<10>`.
    fn numbered(&self, text: &str) -> Option<(SymbolId, RegisterId)> {
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
        match self.symbols.symbol(id).kind {
            SymbolKind::Register { count: Some(count), first, .. } => Some(Family { first, count }),
            _ => None,
        }
    }
}

/// The registers of one declaration.
#[derive(Clone, Copy, Debug)]
struct Family {
    first: RegisterId,
    count: u32,
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
    const NONE: Self = Self { stem: 0, bound: 0, family: Family { first: RegisterId(0), count: 0 } };

    /// Where a family is kept.
    #[inline]
    const fn place(stem: u64) -> usize {
        // The letter behind `%`, and the next one.
        ((stem >> 8) ^ (stem >> 13)) as usize % Self::SIZE
    }
}

/// `%r7`
fn is_numbered(name: &str) -> bool {
    name.starts_with('%') && name.ends_with(|last: char| last.is_ascii_digit())
}
