//! Which declaration each name means.
//!
//! PTX names are scoped lexically, and real code repeats the same few names in thousands of
//! scopes. One walk over the statements keeps, for each spelling, the declaration that it means at
//! this point, and an undo log that takes declarations back where their scope closes. So each name
//! is looked up once, in constant time, and the result is kept beside the operand arena.
//!
//! Declarations are few, names are many. So a long module is walked on several threads: each takes
//! note of all declarations from the start on, but looks up the names of its own piece only.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};

use rustc_hash::FxHasher;

use super::families::{self, Families, Numbered};
use super::register_index::RegisterIndex;
use crate::isa::special_registers::Special;
use crate::source::{Source, Span};
use crate::syntax::ast::{Declaration, Linkage, Module, Slice, StateSpace, StatementKind, Type};

type FastMap<K, V> = HashMap<K, V, BuildHasherDefault<FxHasher>>;

/// Index of a declared name in [`Symbols`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SymbolId(pub(super) u32);

/// Index of one register; registers of a module are numbered without gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RegisterId(pub u32);

/// A declared name.
#[derive(Clone, Copy, Debug)]
pub struct Symbol {
    /// What it names.
    pub kind: SymbolKind,
    /// Where it is declared.
    pub span: Span,
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymbolKind {
    /// One register, or `count` of them for `%r<count>`.
    Register {
        /// The type, if it is known.
        ty: Option<Type>,
        /// Elements of a vector register; 1 for scalars.
        vector: u8,
        /// How many registers the declaration makes; `None` for a plain name.
        count: Option<u32>,
        /// The first of them.
        first: RegisterId,
    },
    /// A variable in memory.
    Variable {
        /// Where it lives.
        space: StateSpace,
        /// The type of its elements.
        ty: Option<Type>,
        /// Whether it is `.extern`: then its size is said elsewhere.
        is_external: bool,
    },
    /// A label.
    Label {
        /// The statement it stands at.
        statement: u32,
    },
    /// A function; an index into [`Module::functions`].
    Function {
        /// The definition, or the first declaration if it has none here.
        function: u32,
    },
}

/// What a name in an operand or a guard means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// A register.
    Register(RegisterId),
    /// A variable, label or function.
    Symbol(SymbolId),
    /// A register of the machine, such as `%tid.x`.
    Special(Special),
    /// Nothing that is declared here.
    Undeclared,
}

/// Compact form of a [`Resolution`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Packed(u32);

impl Packed {
    const TAG: u32 = 3 << 30;

    fn pack(resolution: Resolution) -> Self {
        Self(match resolution {
            Resolution::Undeclared => 0,
            Resolution::Special(special) => 1 << 30 | special.to_bits(),
            Resolution::Register(RegisterId(index)) => 2 << 30 | index & !Self::TAG,
            Resolution::Symbol(SymbolId(index)) => 3 << 30 | index & !Self::TAG,
        })
    }

    fn unpack(self) -> Resolution {
        let index = self.0 & !Self::TAG;
        match self.0 >> 30 {
            0 => Resolution::Undeclared,
            1 => Special::of_bits(index).map_or(Resolution::Undeclared, Resolution::Special),
            2 => Resolution::Register(RegisterId(index)),
            _ => Resolution::Symbol(SymbolId(index)),
        }
    }
}

/// What names mean, by index. Each place is written by one thread only.
#[derive(Debug, Default)]
struct Meanings(Vec<AtomicU32>);

impl Meanings {
    fn new(count: usize) -> Self {
        Self((0..count).map(|_| AtomicU32::new(Packed::default().0)).collect())
    }

    #[inline]
    fn set(&self, index: usize, resolution: Resolution) {
        self.0[index].store(Packed::pack(resolution).0, Ordering::Relaxed);
    }

    #[inline]
    fn get(&self, index: u32) -> Resolution {
        let packed = self.0.get(index as usize).map(|packed| Packed(packed.load(Ordering::Relaxed)));
        packed.map_or(Resolution::Undeclared, Packed::unpack)
    }
}

/// All declarations of a module and what each name in it means.
#[derive(Debug, Default)]
pub struct Symbols {
    declared: Declared,
    /// Beside [`Module::operands`].
    operands: Meanings,
    /// Beside [`Module::instructions`].
    guards: Meanings,
}

/// What is declared.
#[derive(Debug, Default)]
struct Declared {
    symbols: Vec<Symbol>,
    /// The declaration of each group of registers.
    registers: RegisterIndex,
    register_count: u32,
}

impl Symbols {
    /// Resolves every name of the module.
    pub fn new(source: &Source, module: &Module) -> Self {
        let operands = Meanings::new(module.operands.len());
        let guards = Meanings::new(module.instructions.len());
        let walk = |own: Range<usize>| Resolver::new(source, module, &operands, &guards, own).run();
        let pieces = pieces(module.statements.len());
        #[cfg(feature = "parallel")]
        let declared = {
            use rayon::prelude::*;
            // The last one meets all declarations.
            pieces.into_par_iter().map(walk).reduce_with(|_, later| later)
        };
        #[cfg(not(feature = "parallel"))]
        let declared = pieces.into_iter().map(walk).last();
        Self { declared: declared.unwrap_or_default(), operands, guards }
    }

    /// The symbol with this index.
    pub fn symbol(&self, id: SymbolId) -> &Symbol {
        self.declared.symbol(id)
    }

    /// Every declaration, in the order in which the walk over the module meets it.
    pub fn all(&self) -> impl Iterator<Item = (SymbolId, &Symbol)> {
        self.declared.symbols.iter().enumerate().map(|(index, symbol)| (SymbolId(index as u32), symbol))
    }

    /// The declaration that made a register.
    pub fn register(&self, id: RegisterId) -> &Symbol {
        self.symbol(self.register_symbol(id))
    }

    /// The declaration that made a register, by its index.
    pub fn register_symbol(&self, id: RegisterId) -> SymbolId {
        self.declared.registers.get(id)
    }

    /// Number of registers in the module.
    pub fn register_count(&self) -> u32 {
        self.declared.register_count
    }

    /// What the name at this index of the operand arena means.
    #[inline]
    pub fn operand(&self, index: u32) -> Resolution {
        self.operands.get(index)
    }

    /// What the guard of this instruction names.
    pub fn guard(&self, instruction: u32) -> Resolution {
        self.guards.get(instruction)
    }
}

impl Declared {
    fn symbol(&self, id: SymbolId) -> &Symbol {
        &self.symbols[id.0 as usize]
    }
}

/// The statements whose names one thread each looks up: all of them, in their order.
fn pieces(statements: usize) -> Vec<Range<usize>> {
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

struct Resolver<'a> {
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
    /// Whether a register or variable is declared with a name like those of parameterised registers:
    /// `%r7` by itself. Compilers do not.
    numbered_names: bool,
    /// What to restore when the innermost scopes close: name and earlier meaning.
    undo: Vec<(u32, Option<SymbolId>)>,
    /// For each open scope, where its part of `undo` starts.
    marks: Vec<usize>,
    /// For each statement that opens a scope, the labels that stand directly in it.
    labels: FastMap<u32, Vec<u32>>,
}

impl<'a> Resolver<'a> {
    fn new(
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
            numbered_names: false,
            undo: Vec::new(),
            marks: Vec::new(),
            labels: FastMap::default(),
        }
    }

    /// Walks to the end of its own statements; returns what is declared until then.
    fn run(mut self) -> Declared {
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
                        self.labels.entry(scope).or_default().push(index as u32);
                    }
                }
                _ => {}
            }
        }
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
        for label in self.labels.remove(&statement).unwrap_or_default() {
            let span = self.module.statements[label as usize].span;
            self.bind(span, SymbolKind::Label { statement: label });
        }
    }

    fn close(&mut self) {
        let mark = self.marks.pop().unwrap_or_default();
        self.bound = self.bound.wrapping_add(u32::from(mark < self.undo.len()));
        for (name, earlier) in self.undo.drain(mark..).rev() {
            self.bindings[name as usize] = earlier;
        }
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
            self.numbered_names |= !family && is_numbered(text);
        }
        id
    }

    fn bind(&mut self, span: Span, kind: SymbolKind) {
        let is_family = matches!(kind, SymbolKind::Register { count: Some(_), .. });
        let name = self.name(span, is_family);
        self.bound = self.bound.wrapping_add(u32::from(is_family));
        let id = SymbolId(self.symbols.symbols.len() as u32);
        self.symbols.symbols.push(Symbol { kind, span });
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
        if operand.is_name() {
            let meaning = self.resolve(operand.span());
            self.operands.set(index, meaning);
        } else {
            let parts = operand.parts();
            if parts.len > 0 {
                self.names_of(parts);
            }
        }
    }

    /// What a name means.
    #[inline]
    fn resolve(&mut self, name: Span) -> Resolution {
        if !self.numbered_names
            && let Some(numbered) = Numbered::read(self.source.text(), name)
        {
            let recent = &self.recent[Recent::place(numbered.stem)];
            if recent.stem == numbered.stem
                && recent.bound == self.bound
                && let Some(register) = recent.family.member(numbered.number)
            {
                return Resolution::Register(register);
            }
            self.remember(name, numbered);
        }
        self.resolve_any(self.source.slice(name))
    }

    /// Keeps at hand the family that a name belongs to, if it can belong to one only.
    #[cold]
    fn remember(&mut self, name: Span, Numbered { stem, length, .. }: Numbered) {
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
        let may_be_plain = self.numbered_names || !is_numbered(base);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::special_registers::SpecialRegister;
    use crate::syntax::parser::parse;

    /// What each name operand of the last instruction means, in words.
    fn last(body: &str) -> Vec<String> {
        let text = format!(".version 9.0\n.target sm_100a\n.entry k() {{ {body} }}");
        let source = Source::new("t", text).unwrap();
        let module = parse(&source).module;
        let symbols = Symbols::new(&source, &module);
        let instruction = module.instructions.last().unwrap();
        instruction
            .operands
            .range()
            .map(|index| match symbols.operand(index as u32) {
                Resolution::Register(id) => match symbols.register(id).kind {
                    SymbolKind::Register { ty: Some(ty), first, .. } => format!("{ty}+{}", id.0 - first.0),
                    other => format!("{other:?}"),
                },
                Resolution::Symbol(id) => source.slice(symbols.symbol(id).span).to_owned(),
                Resolution::Special(_) => "special".to_owned(),
                Resolution::Undeclared => "undeclared".to_owned(),
            })
            .collect()
    }

    #[test]
    fn parameterised_registers() {
        assert_eq!(last(".reg .b32 %r<10>; mov.b32 %r0, %r9;"), ["b32+0", "b32+9"]);
        assert_eq!(last(".reg .b32 %r<10>; mov.b32 %r10, %r;"), ["undeclared", "undeclared"]);
        assert_eq!(last(".reg .b32 %r<10>; .reg .b64 %r; mov.b32 %r5, %r;"), ["b32+5", "b64+0"]);
        assert_eq!(last(".reg .b32 %r<10>; mov.b32 %r05, %r0009;"), ["b32+5", "b32+9"]);
        assert_eq!(last(".reg .b32 %r1<5>; .reg .b64 %r<9>; mov.b32 %r13, %r4;"), ["b32+3", "b64+4"]);
        assert_eq!(last(".reg .b32 %r1<5>; .reg .b64 %r<90>; mov.b64 %r13, %r1;"), ["b64+13", "b64+1"]);
        assert_eq!(
            last(".reg .b64 %r<9>; { .reg .b32 %r1<5>; } mov.b64 %r13, %r4;"),
            ["undeclared", "b64+4"]
        );
    }

    #[test]
    fn scopes_shadow_and_end() {
        assert_eq!(last(".reg .b32 x; { .reg .b64 x; mov.b64 x, x; }"), ["b64+0", "b64+0"]);
        assert_eq!(last(".reg .b32 x; { .reg .b64 x; } mov.b32 x, x;"), ["b32+0", "b32+0"]);
        assert_eq!(last("{ .reg .b64 x; } mov.b32 x, %tid.x;"), ["undeclared", "special"]);
        assert_eq!(last(".reg .b32 %r<4>; { .reg .b64 %r2; mov.b64 %r2, %r3; }"), ["b64+0", "b32+3"]);
    }

    #[test]
    fn labels_are_known_before_they_stand() {
        assert_eq!(last("bra L; L: { bra L; L: }"), ["L"]);
        assert_eq!(last("{ L: } bra L;"), ["undeclared"]);
    }

    /// What a long module's names mean does not depend on how many threads look them up.
    #[cfg(feature = "parallel")]
    #[test]
    fn threads_make_no_difference() {
        let function = |number: u32| {
            format!(
                ".global .u64 g{number} = g{};\n.func f{number}() {{ .reg .b32 %r<9>; .reg .pred p;\n\
                 L: {{ .reg .b64 %r<{number}>; .reg .b32 x; mov.b64 %r1, g{number}; @p bra L; }}\n\
                 mov.b32 %r8, x; call f{}; mov.b32 %r2, %tid.x; }}\n",
                number / 2,
                number + 1
            )
        };
        let text = (0..4000).fold(".version 9.0\n".to_owned(), |text, number| text + &function(number));
        let source = Source::new("t", text).unwrap();
        let module = parse(&source).module;
        let meanings = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let symbols = pool.install(|| {
                assert_eq!(pieces(module.statements.len()).len(), threads);
                Symbols::new(&source, &module)
            });
            let operands: Vec<Resolution> =
                (0..module.operands.len() as u32).map(|index| symbols.operand(index)).collect();
            let guards: Vec<Resolution> =
                (0..module.instructions.len() as u32).map(|index| symbols.guard(index)).collect();
            let all: Vec<(SymbolKind, Span)> = symbols.all().map(|(_, it)| (it.kind, it.span)).collect();
            (operands, guards, all, symbols.register_count())
        };
        let one = meanings(1);
        assert!(
            one.0.contains(&Resolution::Special(Special::x(SpecialRegister::Tid)))
                && one.0.contains(&Resolution::Undeclared)
        );
        assert!(one == meanings(2) && one == meanings(5));
    }
}
