//! Which operation each instruction of a module is.
//!
//! A module has hundreds of thousands of instructions, but a few hundred opcodes, which the tree numbers.
//! Each is split and looked up in the table once; whoever asks what an instruction does has its number.

use std::ops::Range;

use smallvec::SmallVec;

use super::opcode_words::{tensor_operation, words};
use crate::arithmetic::{self, Arithmetic, Unsupported};
use crate::isa::generic::{
    Access, BooleanOperator, Comparison, Computation, Constraint, Control, Flag, Form, Lanes, Modifier,
    OperandSlot, Role, Row, Semantics, Space, SpaceRule, Synchronization, Type, rows_starting_with,
};
use crate::isa::vocabulary::{CtaGroup, Qualifier};
use crate::isa::{generic, vocabulary};
use crate::source::{Source, Span};
use crate::syntax::ast::{Module, Operand, OperandKind, Slice, StatementKind};

/// The operations of a module.
#[derive(Debug, Default)]
pub struct Operations {
    opcodes: Vec<Opcode>,
    /// By instruction: which of them. The tree has it as well, but not so close together.
    of: Vec<u32>,
    /// The instructions of tcgen05 in their order, each behind its statement.
    tensor: Vec<(u32, u32)>,
    /// The instructions that do more than compute, in their order.
    others: Vec<u32>,
}

/// What the words of an opcode mean. Every analysis asks for it at each instruction, and a module has hundreds: what
/// is not asked for everywhere stands elsewhere, so that they take less of the caches.
#[derive(Clone, Debug)]
pub struct Opcode {
    /// Its row of the table; none if it is not an operation of PTX.
    pub row: Option<&'static Row>,
    /// The operation of tcgen05, where the row is that of tcgen05.
    pub tensor: Option<vocabulary::Operation>,
    /// Its modifiers, as written; those of tcgen05 are the business of its own decoder.
    pub modifiers: Box<[Placed]>,
    /// Its types, in order.
    pub types: SmallVec<[Type; 4]>,
    /// Words that the row does not have, or not so often.
    pub unknown: Box<[Span]>,
    /// Whether a word is missing that the row has to have.
    pub is_incomplete: bool,
    /// The positions that its modifiers leave for operands.
    pub slots: Box<[&'static OperandSlot]>,
    control: Control,
    synchronization: Synchronization,
    computes: Computation,
    fit: Fit,
    only_computes: bool,
    concerns: Concerns,
    memory: MemoryEffect,
    is_aligned: bool,
    writes_first: Option<bool>,
    arithmetic: Option<Box<Result<Arithmetic, Unsupported>>>,
}

/// What an access to memory means for other threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryEffect {
    /// Whether it acquires what others released.
    pub acquires: bool,
    /// Whether it reads what other threads may write meanwhile, and says so.
    pub reads_strongly: bool,
    /// How it writes shared memory; `None` if it does not.
    pub shared: Option<SharedWrite>,
}

/// How shared memory is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SharedWrite {
    /// Whatever was there before.
    Store,
    /// Depending on what was there, at once.
    Update,
}

/// Whom an instruction concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Concerns {
    /// The CTA that executes it.
    OwnCta,
    /// Other CTAs of its cluster as well, or it calls what may.
    OtherCtas,
    /// A CTA pair, or several CTAs of a cluster.
    SeveralCtas,
}

/// What is known of operands before they are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fit {
    /// Some of the positions may have none.
    Open,
    /// One stands in each position.
    Fixed,
    /// The same, and a name or a number may stand in each.
    Values,
}

/// A modifier and its place, counted from the start of the opcode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Which.
    pub modifier: Modifier,
    /// Where, from its dot on.
    pub span: Span,
}

/// Why operands do not fit a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misfit {
    /// There are too few or too many.
    Count,
    /// The one at this position does not look as it should.
    Form(usize),
}

/// The positions that operands fill, in their order.
pub type Assignment = SmallVec<[&'static OperandSlot; 8]>;

impl Operations {
    /// Looks up the opcodes of a module.
    pub fn new(source: &Source, module: &Module) -> Self {
        let opcodes: Vec<Opcode> =
            module.opcodes.iter().map(|opcode| Opcode::new(source.slice(*opcode))).collect();
        let of: Vec<u32> = module.instructions.iter().map(|instruction| instruction.number).collect();
        let is_tensor: Vec<bool> = opcodes.iter().map(Opcode::is_tensor).collect();
        let mut tensor = Vec::new();
        if is_tensor.contains(&true) {
            for (statement, it) in (0..).zip(&module.statements) {
                if let StatementKind::Instruction(instruction) = it.kind()
                    && is_tensor[of[instruction as usize] as usize]
                {
                    tensor.push((statement, instruction));
                }
            }
        }
        let computes: Vec<bool> = opcodes.iter().map(Opcode::only_computes).collect();
        let others = (0..).zip(&of).filter(|(_, opcode)| !computes[**opcode as usize]).map(|(it, _)| it);
        let others = others.collect();
        Self { opcodes, of, tensor, others }
    }

    /// Of some instructions, those that do more than compute in registers: few do.
    pub fn others_within(&self, instructions: Range<u32>) -> &[u32] {
        let place = |at: u32| self.others.partition_point(|instruction| *instruction < at);
        self.others.get(place(instructions.start)..place(instructions.end)).unwrap_or_default()
    }

    /// The instructions of tcgen05 among some statements, in their order, each behind its statement.
    pub fn tensor_within(&self, statements: Range<usize>) -> &[(u32, u32)] {
        let place = |at: usize| self.tensor.partition_point(|(statement, _)| (*statement as usize) < at);
        self.tensor.get(place(statements.start)..place(statements.end)).unwrap_or_default()
    }

    /// The opcode of an instruction.
    #[inline]
    pub fn of(&self, instruction: u32) -> &Opcode {
        &self.opcodes[self.of[instruction as usize] as usize]
    }

    /// A number that instructions share whose opcodes are written alike.
    pub fn number(&self, instruction: u32) -> u32 {
        self.of[instruction as usize]
    }

    /// Whether an instruction is one of tcgen05.
    pub fn is_tensor(&self, instruction: u32) -> bool {
        self.of(instruction).is_tensor()
    }

    /// The distinct opcodes.
    pub fn opcodes(&self) -> &[Opcode] {
        &self.opcodes
    }

    /// Instructions outside tcgen05 whose opcode is not in the table: of each such opcode the first
    /// one, and how many there are.
    pub fn unknown(&self) -> Vec<(u32, usize)> {
        let mut found: Vec<(u32, usize)> = vec![(0, 0); self.opcodes.len()];
        for instruction in self.each_unknown() {
            let (first, count) = &mut found[self.number(instruction) as usize];
            if *count == 0 {
                *first = instruction;
            }
            *count += 1;
        }
        found.into_iter().filter(|(_, count)| *count > 0).collect()
    }

    /// The instructions outside tcgen05 whose opcode is not in the table, in their order.
    pub fn each_unknown(&self) -> impl Iterator<Item = u32> + '_ {
        // What is wrong in tcgen05 has findings of its own.
        self.each_with(|opcode| !opcode.is_known() && opcode.operation() != Some(generic::Operation::Tensor))
    }

    /// The instructions whose opcode is one of these, in their order. Each opcode is asked about once.
    pub fn each_with(&self, is_one: impl Fn(&Opcode) -> bool) -> impl Iterator<Item = u32> + '_ {
        let chosen: Vec<bool> = self.opcodes.iter().map(is_one).collect();
        let looked_through = if chosen.contains(&true) { &self.of[..] } else { &[] };
        let all = (0..).zip(looked_through);
        all.filter(move |(_, opcode)| chosen[**opcode as usize]).map(|(it, _)| it)
    }
}

impl Opcode {
    /// Looks up the words of an opcode.
    pub fn new(text: &str) -> Self {
        let mut this = Self {
            row: None,
            tensor: None,
            modifiers: Box::default(),
            types: SmallVec::new(),
            unknown: Box::default(),
            is_incomplete: false,
            slots: Box::default(),
            control: Control::Next,
            synchronization: Synchronization::None,
            computes: Computation::Other,
            fit: Fit::Fixed,
            only_computes: false,
            concerns: Concerns::OwnCta,
            memory: MemoryEffect::default(),
            is_aligned: false,
            writes_first: None,
            arithmetic: None,
        };
        let Some((first, _)) = words(text).next() else { return this };
        let rows = rows_starting_with(first);
        if let Some((_, row)) = rows.first()
            && row.operation == generic::Operation::Tensor
        {
            return this.of_tensor(row, text);
        }
        let mut best: Option<(usize, &'static Row, Match)> = None;
        for &(name, row) in rows {
            let named = name.split('.').count();
            // Of the names that fit the longest counts, and of its rows the one that knows most words.
            if best.as_ref().is_some_and(|(longest, _, found)| *longest > named || found.is_perfect()) {
                break;
            }
            if !name.split('.').eq(words(text).map(|(word, _)| word).take(named)) {
                continue;
            }
            let found = Match::new(row, words(text).skip(named));
            if best.as_ref().is_none_or(|(_, _, old)| found.badness() < old.badness()) {
                best = Some((named, row, found));
            }
        }
        if best.as_ref().is_none_or(|(_, _, found)| !found.is_perfect())
            && let Some((row, found)) = sparse(first, text)
        {
            best = Some((1, row, found));
        }
        let Some((_, row, found)) = best else { return this };
        this.row = Some(row);
        this.control = row.control;
        this.synchronization = row.synchronization;
        if found.unknown.is_empty() {
            this.computes = row.computes;
        }
        this.is_incomplete = found.missing > 0;
        this.unknown = found.unknown.into_boxed_slice();
        this.modifiers = found.modifiers.into_boxed_slice();
        this.types = this
            .modifiers
            .iter()
            .filter_map(|placed| match placed.modifier {
                Modifier::Type(ty) => Some(ty),
                _ => None,
            })
            .collect();
        this.slots =
            row.operands.iter().filter(|slot| slot.may_stand(|modifier| this.has(modifier))).collect();
        this.concerns = this.find_concerns(this.modifiers.iter().any(|placed| {
            matches!(placed.modifier, Modifier::CtaGroup(generic::CtaGroup::Two) | Modifier::Multicast(_))
        }));
        this.is_aligned = this.has_flag(Flag::Aligned) || row.operation.is_aligned_as(first);
        this.memory = this.find_memory_effect();
        this.fit = this.find_fit();
        this.writes_first = this.find_writes_first(row);
        this.only_computes = row.control == Control::Next
            && row.synchronization == Synchronization::None
            && !this.slots.iter().any(|slot| matches!(slot.role, Role::Address(..)));
        let qualifiers: SmallVec<[Modifier; 12]> = this.modifiers.iter().map(|it| it.modifier).collect();
        let (types, is_known) = (&this.types[..], this.is_known());
        let opcode =
            arithmetic::Opcode { operation: row.operation, qualifiers: &qualifiers, types, is_known };
        this.arithmetic = Arithmetic::of(&opcode).map(Box::new);
        this
    }

    /// One of tcgen05, the words of which are the business of a table of its own.
    fn of_tensor(mut self, row: &'static Row, text: &str) -> Self {
        self.row = Some(row);
        self.control = row.control;
        self.synchronization = row.synchronization;
        self.computes = row.computes;
        self.tensor = tensor_operation(words(text).skip(1)).map(|(operation, _)| operation);
        let mut qualifiers = words(text).skip(1).filter_map(|(word, _)| Qualifier::parse(word));
        self.concerns = self.find_concerns(qualifiers.any(|qualifier| {
            matches!(qualifier, Qualifier::CtaGroup(CtaGroup::Two) | Qualifier::Multicast(_))
        }));
        self
    }

    /// Whether the table has it with all its words.
    pub fn is_known(&self) -> bool {
        match self.row {
            Some(row) if row.operation == generic::Operation::Tensor => self.tensor.is_some(),
            Some(_) => self.unknown.is_empty() && !self.is_incomplete,
            None => false,
        }
    }

    /// Of its unknown words those that the assembler refuses. `text` is the opcode.
    pub fn refused_words<'t>(&'t self, text: &'t str) -> impl Iterator<Item = (Span, &'t str)> {
        let (operation, name) =
            self.row.map_or((generic::Operation::Tensor, ""), |row| (row.operation, row.name()));
        let written =
            |span: &Span| (*span, text.get(span.range()).unwrap_or_default().trim_start_matches('.'));
        let stands_there = move |word: &str| {
            name.split('.').any(|it| it == word)
                || self.modifiers.iter().any(|placed| placed.modifier.spelling() == word)
        };
        self.unknown
            .iter()
            .map(written)
            .filter(move |(_, word)| {
                let has = |wanted: fn(&Modifier) -> bool| {
                    self.modifiers.iter().any(|placed| wanted(&placed.modifier))
                };
                generic::why_overlooked(operation, name, word, has).is_none()
            })
            .filter(move |(_, word)| !(generic::may_stand_twice(word) && stands_there(word)))
    }

    /// Whether the assembler misses a word.
    pub fn is_refused_as_incomplete(&self) -> bool {
        let Some(row) = self.row else { return self.is_incomplete };
        self.is_incomplete && !self.missing().all(|(group, _)| generic::may_lack(row.name(), group))
    }

    /// Of the groups of its row, those of which a word has to stand in it, and none does; each with the end of the
    /// modifiers that the ISA has before it, if there are any.
    pub fn missing(&self) -> impl Iterator<Item = (&'static generic::Group, Option<u32>)> + '_ {
        let groups = self.row.map_or(&[][..], |row| row.modifiers);
        let mut free: Vec<&Placed> = self.modifiers.iter().collect();
        let mut end = None;
        groups.iter().filter_map(move |group| {
            match free.iter().position(|placed| group.words.contains(&placed.modifier)) {
                Some(at) => {
                    end = end.max(Some(free.remove(at).span.end));
                    None
                }
                None => group.required.then_some((group, end)),
            }
        })
    }

    /// Its words without their places.
    pub fn words(&self) -> SmallVec<[Modifier; 8]> {
        self.modifiers.iter().map(|placed| placed.modifier).collect()
    }

    /// The constraints of its row that its words violate.
    pub fn violated(&self) -> impl Iterator<Item = &'static Constraint> + use<> {
        let constraints = self.row.map_or(&[][..], |row| row.constraints);
        let words = if constraints.is_empty() { SmallVec::new() } else { self.words() };
        constraints.iter().filter(move |constraint| constraint.is_violated(&words))
    }

    /// Whether its row requires one of the group that a word is in.
    pub fn must_have(&self, word: Modifier) -> bool {
        let groups = self.row.map_or(&[][..], |row| row.modifiers);
        groups.iter().any(|group| group.required && group.words.contains(&word))
    }

    /// What may stand in place of one of its words, so that all go together.
    pub fn instead_of(&self, at: usize) -> Vec<Modifier> {
        let (Some(row), mut words) = (self.row, self.words()) else { return Vec::new() };
        let Some(old) = words.get(at).copied() else { return Vec::new() };
        let groups = row.modifiers.iter().filter(|group| group.words.contains(&old));
        let others = groups.flat_map(|group| group.words).copied().filter(|word| *word != old);
        let mut found: Vec<Modifier> = Vec::new();
        for other in others {
            words[at] = other;
            if !found.contains(&other) && !row.constraints.iter().any(|it| it.is_violated(&words)) {
                found.push(other);
            }
        }
        found
    }

    /// The constraints of its row that say which versions and targets have it.
    pub fn gates(&self) -> impl Iterator<Item = &'static Constraint> + use<> {
        let constraints = self.row.map_or(&[][..], |row| row.constraints);
        let words = if constraints.is_empty() { SmallVec::new() } else { self.words() };
        constraints.iter().filter(move |it| it.is_gate() && it.concerns(&words))
    }

    /// Which operation it is.
    pub fn operation(&self) -> Option<generic::Operation> {
        self.row.map(|row| row.operation)
    }

    /// What it computes; nothing if it does something else than computing registers from registers.
    ///
    /// # Errors
    /// If that is not known here.
    #[inline]
    pub fn arithmetic(&self) -> Option<Result<Arithmetic, Unsupported>> {
        self.arithmetic.as_deref().copied()
    }

    /// What its first destination is made of. Nothing is known where a word is not.
    #[inline]
    pub fn computes(&self) -> Computation {
        self.computes
    }

    /// Whether all that it does is to make registers from registers: most instructions of a kernel. Whoever looks
    /// for effects asks for the others, see [`Operations::others_within`].
    #[inline]
    pub fn only_computes(&self) -> bool {
        self.only_computes
    }

    /// What its accesses to memory mean for other threads.
    #[inline]
    pub fn memory(&self) -> MemoryEffect {
        self.memory
    }

    /// Whether it concerns a CTA pair, or is sent to several CTAs of a cluster.
    pub fn is_for_several_ctas(&self) -> bool {
        self.concerns == Concerns::SeveralCtas
    }

    /// Whether all threads of a warp have to execute it together.
    pub fn is_aligned(&self) -> bool {
        self.is_aligned
    }

    /// Whether it says something of other CTAs of its cluster, or calls what may.
    #[inline]
    pub fn names_other_ctas(&self) -> bool {
        self.concerns != Concerns::OwnCta
    }

    /// What is executed after it.
    #[inline]
    pub fn control(&self) -> Control {
        self.control
    }

    /// With whom it synchronises.
    #[inline]
    pub fn synchronization(&self) -> Synchronization {
        self.synchronization
    }

    /// Whether it is one of tcgen05.
    pub fn is_tensor(&self) -> bool {
        self.synchronization() == Synchronization::Tensor
    }

    /// How what it writes differs between the threads of a warp.
    pub fn lanes(&self) -> Lanes {
        self.row.map_or(Lanes::Differ, |row| row.lanes)
    }

    /// Whether it has a modifier.
    pub fn has(&self, modifier: Modifier) -> bool {
        self.modifiers.iter().any(|placed| placed.modifier == modifier)
    }

    /// Whether it has a word that stands for itself.
    pub fn has_flag(&self, flag: Flag) -> bool {
        self.has(Modifier::Flag(flag))
    }

    /// Its first modifier that `pick` takes.
    pub fn modifier<T>(&self, pick: impl FnMut(Modifier) -> Option<T>) -> Option<T> {
        self.modifiers.iter().map(|placed| placed.modifier).find_map(pick)
    }

    /// How it compares.
    pub fn comparison(&self) -> Option<Comparison> {
        self.modifier(|modifier| match modifier {
            Modifier::Comparison(comparison) => Some(comparison),
            _ => None,
        })
    }

    /// How the result of a comparison is joined with a predicate.
    pub fn boolean_operator(&self) -> Option<BooleanOperator> {
        self.modifier(|modifier| match modifier {
            Modifier::BooleanOperator(operator) => Some(operator),
            _ => None,
        })
    }

    /// Its state spaces, in order.
    pub fn spaces(&self) -> impl Iterator<Item = Space> + '_ {
        self.modifiers.iter().filter_map(|placed| match placed.modifier {
            Modifier::Space(space) => Some(space),
            _ => None,
        })
    }

    /// Whether every position has an operand, whatever the words are.
    pub fn has_all(&self) -> bool {
        self.fit != Fit::Open
    }

    /// Whether the operands of an instruction fill each of the positions, and none is left over: then
    /// these are the [assignment](Self::assign). Soon found, and so for nearly all instructions.
    pub fn is_filled(&self, operands: &[Operand]) -> bool {
        self.fit != Fit::Open
            && self.slots.len() == operands.len()
            && (self.fit == Fit::Values && operands.iter().all(|it| it.is_name() || it.is_number())
                || self.slots.iter().zip(operands).all(|(slot, operand)| looks_like(slot, operand)))
    }

    /// Whether it writes its first operand, where all that it does to others is to read them, and that
    /// is so however many operands an instruction has and whatever they look like. So with nearly all.
    #[inline]
    pub fn writes_first(&self) -> Option<bool> {
        self.writes_first
    }

    fn find_fit(&self) -> Fit {
        let takes_values = |slot: &&OperandSlot| match slot.form {
            Form::Address | Form::List | Form::Name | Form::Elements(_) | Form::Sink => false,
            Form::Vector
            | Form::Packed
            | Form::Fragment
            | Form::Register
            | Form::Value
            | Form::Immediate
            | Form::Predicate => true,
        };
        if self.slots.iter().any(|slot| slot.is_optional()) {
            Fit::Open
        } else if self.slots.iter().all(takes_values) {
            Fit::Values
        } else {
            Fit::Fixed
        }
    }

    /// Whom it concerns, where its words say whether several CTAs.
    fn find_concerns(&self, several: bool) -> Concerns {
        use generic::Operation;
        let has = |wanted: Space| self.spaces().any(|space| space == wanted);
        let names_others = matches!(
            self.synchronization,
            Synchronization::ClusterArrive | Synchronization::ClusterWait | Synchronization::ClusterLaunch
        ) || matches!(
            self.operation(),
            Some(Operation::Mapa | Operation::Getctarank | Operation::Call)
        ) || has(Space::SharedCluster) && !has(Space::Global);
        match (several, names_others) {
            (true, _) => Concerns::SeveralCtas,
            (false, true) => Concerns::OtherCtas,
            (false, false) => Concerns::OwnCta,
        }
    }

    /// What its slots and its semantics say of memory.
    fn find_memory_effect(&self) -> MemoryEffect {
        let has = |semantics: Semantics| self.has(Modifier::Semantics(semantics));
        let accesses = || {
            self.slots.iter().filter_map(|slot| match slot.role {
                Role::Address(access, space) => Some((access, space)),
                _ => None,
            })
        };
        let is_shared = |space: SpaceRule| match space {
            SpaceRule::Fixed(space) => space.is_shared(),
            SpaceRule::Nth(index) => self.spaces().nth(usize::from(index)).is_some_and(Space::is_shared),
            SpaceRule::Opaque | SpaceRule::Fabric => false,
        };
        let touches = |wanted: Access| accesses().any(|(access, _)| access == wanted);
        let writes = |wanted: Access| accesses().any(|(access, space)| access == wanted && is_shared(space));
        let is_relaxed = has(Semantics::Relaxed) || has(Semantics::Volatile);
        let shared = if writes(Access::ReadWrite) {
            Some(SharedWrite::Update)
        } else {
            writes(Access::Write).then_some(SharedWrite::Store)
        };
        MemoryEffect {
            acquires: has(Semantics::Acquire) || has(Semantics::AcqRel),
            reads_strongly: self.synchronization == Synchronization::None
                && (touches(Access::Read) && is_relaxed || touches(Access::ReadWrite)),
            shared,
        }
    }

    fn find_writes_first(&self, row: &Row) -> Option<bool> {
        let is_written = |slot: &&OperandSlot| slot.role.is_written();
        let only_reads = |slot: &&OperandSlot| !slot.role.is_written() && slot.role.is_read();
        let writes = row.operands.first().as_ref().is_some_and(is_written);
        let (first, others) = self.slots.split_first()?;
        let fits = if writes { is_written(first) && !first.role.is_read() } else { only_reads(first) };
        (self.fit != Fit::Open && fits && others.iter().all(only_reads)).then_some(writes)
    }

    /// What it is called: that name of its row that is written. `text` is the opcode.
    pub fn name(&self, text: &str) -> &'static str {
        let names = self.row.map_or(&[][..], |row| row.names);
        let written =
            |name: &&&str| name.split('.').eq(words(text).map(|it| it.0).take(name.split('.').count()));
        names.iter().find(written).or(names.first()).copied().unwrap_or_default()
    }

    /// Something about its words, if it is known. `text` is the opcode.
    fn with_words<T: Default>(&self, text: &str, say: impl FnOnce(&generic::Words<'_>) -> T) -> T {
        let Some(row) = self.row else { return T::default() };
        let modifiers: SmallVec<[Modifier; 12]> = self.modifiers.iter().map(|it| it.modifier).collect();
        say(&generic::Words { operation: row.operation, name: self.name(text), modifiers: &modifiers })
    }

    /// What one of its positions takes. `text` is the opcode.
    pub fn wanted(&self, slot: &OperandSlot, text: &str) -> generic::Wanted {
        self.with_words(text, |words| Some(generic::Wanted::new(slot, words)))
            .unwrap_or(generic::Wanted::ANYTHING)
    }

    /// Whether the operands of an instruction look as they should.
    pub fn accepts(&self, module: &Module, operands: Slice) -> bool {
        self.is_filled(module.operands(operands)) || self.assign(module, operands).is_ok()
    }

    /// How many operands it has at least; at most it has one in each of its positions.
    pub fn required(&self) -> usize {
        self.slots.iter().filter(|slot| !slot.is_optional()).count()
    }

    /// Why the assembler refuses the operands of an instruction: what does not fit, but for what it does not look
    /// at, and the position that one does not fit. `text` is the opcode.
    pub fn refused(
        &self,
        module: &Module,
        operands: Slice,
        text: &str,
    ) -> Option<(Misfit, Option<&'static OperandSlot>)> {
        self.with_words(text, |words| {
            let passes = |slot: &OperandSlot, operand: &Operand| {
                let is_vector = matches!(operand.kind(), OperandKind::Vector(_));
                looks_like(slot, operand)
                    || if slot.form == Form::Address {
                        generic::takes_bare_address(words.name, slot.name) && !is_vector
                    } else {
                        is_vector && generic::takes_values_in_braces(words, slot.name)
                    }
            };
            let found = self.try_assign(module, operands, passes).err()?;
            let (required, most, given) = (self.required(), self.slots.len(), operands.len as usize);
            let more = match (given.checked_sub(most), required.checked_sub(given)) {
                (Some(more), _) => more.cast_signed(),
                (None, Some(fewer)) => -fewer.cast_signed(),
                (None, None) => 0,
            };
            let is_overlooked =
                found.0 == Misfit::Count && more != 0 && generic::may_count_otherwise(words, more);
            (!is_overlooked).then_some(found)
        })
    }

    /// The positions that the operands of an instruction fill.
    ///
    /// # Errors
    /// When there are too few or too many operands, or one does not look as it should.
    pub fn assign(&self, module: &Module, operands: Slice) -> Result<Assignment, Misfit> {
        self.try_assign(module, operands, looks_like).map_err(|(misfit, _)| misfit)
    }

    /// The same, by what looks as it should; an error has the position that one does not fit.
    fn try_assign(
        &self,
        module: &Module,
        operands: Slice,
        looks_like: impl Fn(&OperandSlot, &Operand) -> bool,
    ) -> Result<Assignment, (Misfit, Option<&'static OperandSlot>)> {
        let operands = module.operands(operands);
        let mut assignment = Assignment::new();
        let mut required = self.required();
        for slot in &self.slots {
            let position = assignment.len();
            let left = operands.len() - position;
            if slot.is_optional() {
                if left <= required || !looks_like(slot, &operands[position]) {
                    continue;
                }
            } else {
                required -= 1;
                let Some(operand) = operands.get(position) else { return Err((Misfit::Count, None)) };
                if !looks_like(slot, operand) {
                    return Err((Misfit::Form(position), Some(slot)));
                }
            }
            assignment.push(slot);
        }
        if assignment.len() < operands.len() { Err((Misfit::Count, None)) } else { Ok(assignment) }
    }
}

/// Whether an operand has the form that a position wants.
#[inline]
pub fn looks_like(slot: &OperandSlot, operand: &Operand) -> bool {
    if operand.is_name() {
        return !matches!(slot.form, Form::Address | Form::List | Form::Sink);
    }
    match slot.form {
        // `array[2]` is an address without the outer brackets.
        Form::Address => matches!(operand.kind(), OperandKind::Address(_) | OperandKind::Element(_)),
        Form::List => matches!(operand.kind(), OperandKind::List(_)),
        Form::Name => operand.kind() == OperandKind::Name,
        Form::Sink => operand.kind() == OperandKind::Sink,
        Form::Elements(_) => matches!(operand.kind(), OperandKind::Vector(_) | OperandKind::Name),
        // A declared vector is a name, too.
        Form::Vector | Form::Packed | Form::Fragment => is_value(operand),
        Form::Register | Form::Value | Form::Immediate | Form::Predicate => {
            is_value(operand) && !matches!(operand.kind(), OperandKind::Vector(_))
        }
    }
}

/// Whether it is neither an address nor a list of arguments. A number in parentheses is a value.
fn is_value(operand: &Operand) -> bool {
    match operand.kind() {
        OperandKind::Address(_) | OperandKind::String => false,
        OperandKind::List(parts) => parts.len == 1,
        OperandKind::Name
        | OperandKind::Integer
        | OperandKind::Float
        | OperandKind::Sink
        | OperandKind::Vector(_)
        | OperandKind::Unary(..)
        | OperandKind::Binary(..)
        | OperandKind::Conditional(_)
        | OperandKind::Cast(..)
        | OperandKind::Apply(_)
        | OperandKind::Element(_) => true,
    }
}

/// The sparse multiply that an opcode names: the assembler takes `.sp` wherever it stands among the
/// qualifiers.
fn sparse(first: &str, text: &str) -> Option<(&'static Row, Match)> {
    let is_sparse = |word: &str| word == "sp" || word == "sp::ordered_metadata";
    let (sparse, _) = words(text).find(|(word, _)| is_sparse(word))?;
    rows_starting_with(first).iter().find_map(|&(name, row)| {
        let (start, last) = name.rsplit_once('.')?;
        let is_named = last == sparse
            && start.split('.').eq(words(text).map(|(word, _)| word).take(start.split('.').count()));
        let qualifiers = words(text).skip(start.split('.').count()).filter(|(word, _)| *word != sparse);
        let found = is_named.then(|| Match::new(row, qualifiers))?;
        found.is_perfect().then_some((row, found))
    })
}

/// How well words fit a row.
struct Match {
    modifiers: SmallVec<[Placed; 6]>,
    unknown: Vec<Span>,
    missing: usize,
    /// How many constraints of the row its words violate.
    violated: usize,
}

impl Match {
    fn new<'s>(row: &'static Row, words: impl Iterator<Item = (&'s str, Span)>) -> Self {
        let mut modifiers = SmallVec::new();
        let mut unknown = Vec::new();
        // By group: whether one of its words was met. No row has as many groups as bits are here.
        let mut filled: u64 = 0;
        for (word, span) in words {
            match row.place(word, filled) {
                Some((index, modifier)) => {
                    filled |= 1 << index;
                    modifiers.push(Placed { modifier, span });
                }
                None => unknown.push(span),
            }
        }
        let is_missing =
            |(index, group): &(usize, &generic::Group)| group.required && filled >> index & 1 == 0;
        let missing = row.modifiers.iter().enumerate().filter(is_missing).count();
        let words: SmallVec<[Modifier; 8]> =
            modifiers.iter().map(|placed: &Placed| placed.modifier).collect();
        let violated = row.constraints.iter().filter(|it| it.is_violated(&words)).count();
        Self { modifiers, unknown, missing, violated }
    }

    /// Words that the row does not have weigh more than those that do not go together.
    fn badness(&self) -> (usize, usize) {
        (self.unknown.len() + self.missing, self.violated)
    }

    fn is_perfect(&self) -> bool {
        self.badness() == (0, 0)
    }
}
