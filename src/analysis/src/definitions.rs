//! Which definitions of a register reach a use.
//!
//! Nearly all registers that compilers emit have one definition, and for those nothing has to be
//! solved. For those with several, [`values`](super::values) says what reaches where.

use std::ops::Range;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::{SmallVec, smallvec};

use super::budget::Budget;
use super::cfg::{BlockId, Cfg};
use super::local::{self, Forwarded};
use super::registers::{self, Access};
use super::values::{JoinId, ValueId, Values, Written};
use super::walks::Walk;
use crate::isa::generic::Computation;
use crate::resolve::symbols::RegisterId;
use crate::resolve::unit::Unit;

/// Index of a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DefinitionId(pub u32);

/// An instruction that writes a register.
#[derive(Clone, Copy, Debug)]
pub struct Definition {
    /// The instruction.
    pub instruction: u32,
    /// The operand that names the register.
    pub operand: u32,
    /// The register.
    pub register: RegisterId,
    /// Whether a guard may keep it from happening.
    pub guarded: bool,
}

/// The definitions of one function.
#[derive(Debug, Default)]
pub struct Definitions {
    definitions: Vec<Definition>,
    index: Index,
    /// Those of registers that have several, together.
    order: Vec<DefinitionId>,
    values: Values,
    /// Instructions that read a watched register.
    reads: Vec<(u32, RegisterId)>,
    /// Instructions with a guard, also those that are never executed.
    guarded: Vec<u32>,
    /// Loads that are copies of what was stored.
    forwarded: Forwarded,
}

/// Which definitions a register has.
#[derive(Debug)]
enum Index {
    /// By register, from the first on. A function's registers nearly always are numbered together.
    Dense { first: u32, registers: Vec<Defined> },
    /// Registers that lie far apart, each with the start and the end of its definitions in their order.
    Sparse(FxHashMap<RegisterId, (u32, u32)>),
}

/// How a register is defined.
#[derive(Clone, Copy, Debug)]
struct Defined {
    count: u32,
    /// Where it is defined once, as most are: the definition, so that it is found with one look. Where it has several,
    /// the place of the first of them in the order.
    at: DefinitionId,
}

impl Default for Index {
    fn default() -> Self {
        Self::Dense { first: 0, registers: Vec::new() }
    }
}

/// What was stored in local memory may have been loaded itself, but not often.
const STORES: usize = 16;

impl Definitions {
    /// Finds the definitions of a function and what they reach, and who reads the registers in
    /// `watched`. What `mov` makes of one of these is watched as well.
    pub fn new(unit: &Unit, cfg: &Cfg, watched: &mut RegisterSet) -> Self {
        // Most instructions write one register.
        let mut definitions = Vec::with_capacity(cfg.instructions().count());
        let mut reads = Vec::new();
        let mut with_guard = Vec::new();
        // Where each copy was first met.
        let mut copies: FxHashMap<RegisterId, u32> = FxHashMap::default();
        let all_are_executed = cfg.is_executed_whole();
        for instruction in cfg.instructions() {
            let has_guard = unit.module.guard(&unit.module.instructions[instruction as usize]).is_some();
            if has_guard {
                with_guard.push(instruction);
            }
            if !all_are_executed && !cfg.is_executed(instruction) {
                continue;
            }
            let guarded = has_guard && cfg.guard_holds(instruction).is_none();
            if watched.is_empty() {
                registers::writes(unit, instruction, &mut |register, operand| {
                    definitions.push(Definition { instruction, operand, register, guarded });
                });
                continue;
            }
            let written = definitions.len();
            let read = reads.len();
            registers::accesses(unit, instruction, &mut |register, operand, access| {
                if access == Access::Write {
                    definitions.push(Definition { instruction, operand, register, guarded });
                } else if watched.contains(register) {
                    reads.push((instruction, register));
                }
            });
            if reads.len() > read && unit.operations.of(instruction).computes() == Computation::Move {
                for copy in &definitions[written..] {
                    if !watched.contains(copy.register) {
                        watched.insert(copy.register);
                        copies.insert(copy.register, instruction);
                    }
                }
            }
        }
        // In a loop, what stands further up may read a copy as well.
        if let Some(above) = Self::above(cfg, &copies) {
            for instruction in above.filter(|instruction| cfg.is_executed(*instruction)) {
                registers::accesses(unit, instruction, &mut |register, _, access| {
                    if access == Access::Read && copies.get(&register).is_some_and(|copy| instruction < *copy)
                    {
                        reads.push((instruction, register));
                    }
                });
            }
            reads.sort_unstable();
        }
        let mut this = Self { definitions, reads, guarded: with_guard, ..Self::default() };
        this.sort();
        this.forwarded = local::forwarded(unit, cfg, &this);
        this
    }

    /// Where control goes back past copies: the instructions in front of the last one that may read them.
    fn above(cfg: &Cfg, copies: &FxHashMap<RegisterId, u32>) -> Option<Range<u32>> {
        let (first, last) = (*copies.values().min()?, *copies.values().max()?);
        let (first_block, last_block) = (cfg.block_of(first)?, cfg.block_of(last)?);
        let back = cfg.blocks().filter(|(from, _)| *from >= first_block).flat_map(|(from, block)| {
            block.successors.iter().copied().filter(move |to| *to <= from && *to <= last_block)
        });
        let start = cfg.block(back.min()?).instructions.start;
        Some(start..last)
    }

    /// Groups the definitions by register.
    fn sort(&mut self) {
        /// Room for each definition that an index by register may take.
        const ROOM: u64 = 8;
        let registers = self.definitions.iter().map(|definition| definition.register.0);
        let (Some(first), Some(last)) = (registers.clone().min(), registers.max()) else { return };
        if u64::from(last - first) > 1024 + ROOM * self.definitions.len() as u64 {
            self.sort_sparsely();
            return;
        }
        let mut registers = vec![Defined { count: 0, at: DefinitionId(0) }; (last - first) as usize + 1];
        for (index, definition) in self.definitions.iter().enumerate() {
            let register = &mut registers[(definition.register.0 - first) as usize];
            register.count += 1;
            register.at = DefinitionId(index as u32);
        }
        let mut in_order = 0;
        for register in registers.iter_mut().filter(|register| register.count > 1) {
            register.at = DefinitionId(in_order);
            in_order += register.count;
        }
        if in_order > 0 {
            self.order = vec![DefinitionId(0); in_order as usize];
            for (index, definition) in self.definitions.iter().enumerate() {
                let register = &mut registers[(definition.register.0 - first) as usize];
                if register.count > 1 {
                    self.order[register.at.0 as usize] = DefinitionId(index as u32);
                    register.at.0 += 1;
                }
            }
            for register in registers.iter_mut().filter(|register| register.count > 1) {
                register.at.0 -= register.count;
            }
        }
        self.index = Index::Dense { first, registers };
    }

    fn sort_sparsely(&mut self) {
        let mut order: Vec<DefinitionId> = (0..self.definitions.len() as u32).map(DefinitionId).collect();
        order.sort_by_key(|id| self.get(*id).register);
        let mut places = FxHashMap::default();
        let mut start = 0;
        for group in order.chunk_by(|a, b| self.get(*a).register == self.get(*b).register) {
            let end = start + group.len() as u32;
            places.insert(self.get(group[0]).register, (start, end));
            start = end;
        }
        self.order = order;
        self.index = Index::Sparse(places);
    }

    /// The instructions that read a register that was to be watched, in their order.
    pub fn reads(&self) -> &[(u32, RegisterId)] {
        &self.reads
    }

    /// The instructions that have a guard, in their order, also those that are never executed.
    pub(super) fn guarded(&self) -> &[u32] {
        &self.guarded
    }

    /// The definition with this index.
    pub fn get(&self, id: DefinitionId) -> &Definition {
        &self.definitions[id.0 as usize]
    }

    /// Number of definitions.
    pub fn len(&self) -> usize {
        self.definitions.len()
    }

    /// Whether the function writes no register.
    pub fn is_empty(&self) -> bool {
        self.definitions.is_empty()
    }

    /// All definitions of a register, in the order of the instructions.
    #[inline]
    pub fn of(&self, register: RegisterId) -> &[DefinitionId] {
        match &self.index {
            Index::Dense { first, registers } => {
                let index = register.0.wrapping_sub(*first) as usize;
                match registers.get(index) {
                    None | Some(Defined { count: 0, .. }) => &[],
                    Some(Defined { count: 1, at }) => std::slice::from_ref(at),
                    Some(Defined { count, at }) => &self.order[at.0 as usize..][..*count as usize],
                }
            }
            Index::Sparse(places) => {
                places.get(&register).map_or(&[], |(start, end)| &self.order[*start as usize..*end as usize])
            }
        }
    }

    /// What `register` holds where `instruction` reads it: nothing where none of its definitions gets
    /// there, or the `budget` is not enough to know.
    #[inline]
    pub(super) fn value(
        &self,
        cfg: &Cfg,
        instruction: u32,
        register: RegisterId,
        budget: &Budget,
    ) -> Option<ValueId> {
        // Most registers are written once, and what is loaded is no copy.
        match self.of(register) {
            [] => None,
            [only] if self.forwarded.is_empty() => Some(ValueId::Definition(*only)),
            _ => self.value_of_several(cfg, instruction, register, budget),
        }
    }

    #[inline(never)]
    fn value_of_several(
        &self,
        cfg: &Cfg,
        instruction: u32,
        register: RegisterId,
        budget: &Budget,
    ) -> Option<ValueId> {
        let mut value = self.value_of(cfg, instruction, register, budget)?;
        if self.forwarded.is_empty() {
            return Some(value);
        }
        for _ in 0..self.forwarded.len().min(STORES) {
            let ValueId::Definition(id) = value else { break };
            let Some((store, stored)) = self.forwarded.get(&id) else { break };
            let Some(before) = self.value_of(cfg, *store, *stored, budget) else { break };
            value = before;
        }
        Some(value)
    }

    /// What `register` holds where control leaves a block.
    pub(super) fn leaving(
        &self,
        cfg: &Cfg,
        block: BlockId,
        register: RegisterId,
        budget: &Budget,
    ) -> Option<ValueId> {
        self.value_in(cfg, block, cfg.block(block).instructions.end, register, budget)
    }

    fn value_of(
        &self,
        cfg: &Cfg,
        instruction: u32,
        register: RegisterId,
        budget: &Budget,
    ) -> Option<ValueId> {
        match self.of(register) {
            [] => None,
            [only] => Some(ValueId::Definition(*only)),
            _ => self.value_in(cfg, cfg.block_of(instruction)?, instruction, register, budget),
        }
    }

    /// What `register` holds in a block, in front of an instruction.
    fn value_in(
        &self,
        cfg: &Cfg,
        block: BlockId,
        instruction: u32,
        register: RegisterId,
        budget: &Budget,
    ) -> Option<ValueId> {
        let all = self.of(register);
        let before = all.partition_point(|id| self.get(*id).instruction < instruction);
        // The one before it in the same block.
        let last = before
            .checked_sub(1)
            .filter(|last| cfg.block_of(self.get(all[*last]).instruction) == Some(block));
        if let Some(last) = last.filter(|last| !self.get(all[*last]).guarded) {
            return Some(ValueId::Definition(all[last]));
        }
        let written = || {
            let written = |id: &DefinitionId| {
                let Definition { instruction, guarded, .. } = *self.get(*id);
                Some(Written { id: *id, block: cfg.block_of(instruction)?, guarded })
            };
            all.iter().filter_map(written).collect()
        };
        let web = self.values.web(cfg, register, written, budget)?;
        match last {
            Some(last) => web.behind(last),
            None => self.values.entering(&web, block),
        }
    }

    /// The only definition of `register`, or the last one before `instruction` in its block: what it
    /// surely holds there, if the definition is not guarded. Less is said than by [`value`](Self::value),
    /// at once.
    pub(super) fn nearest(&self, cfg: &Cfg, instruction: u32, register: RegisterId) -> Option<&Definition> {
        let mut nearest = self.nearest_of(cfg, instruction, register)?;
        for _ in 0..self.forwarded.len().min(STORES) {
            let Some((store, stored)) = self.forwarded.get(&nearest) else { break };
            nearest = self.nearest_of(cfg, *store, *stored)?;
        }
        Some(self.get(nearest))
    }

    fn nearest_of(&self, cfg: &Cfg, instruction: u32, register: RegisterId) -> Option<DefinitionId> {
        let all = self.of(register);
        if let [only] = all {
            return Some(*only);
        }
        let last = all.partition_point(|id| self.get(*id).instruction < instruction).checked_sub(1)?;
        let last = all[last];
        (cfg.block_of(self.get(last).instruction)? == cfg.block_of(instruction)?).then_some(last)
    }

    /// The definitions that a value can come from, ascending, unless the `budget` is not enough.
    pub fn all(&self, value: ValueId, budget: &Budget) -> Option<SmallVec<[DefinitionId; 4]>> {
        let mut found = SmallVec::new();
        let mut seen: FxHashSet<JoinId> = FxHashSet::default();
        let mut work: SmallVec<[ValueId; 4]> = smallvec![value];
        while let Some(value) = work.pop() {
            match value {
                ValueId::Definition(id) => found.push(id),
                ValueId::Join(join) if seen.insert(join) => {
                    let inputs = self.joined(join);
                    if !budget.take(inputs.len() as u64) {
                        return None;
                    }
                    work.extend_from_slice(&inputs);
                }
                ValueId::Join(_) => {}
            }
        }
        found.sort_unstable();
        found.dedup();
        Some(found)
    }

    /// What a join is one of: definitions, and other joins, none of which leads back to it.
    pub fn joined(&self, join: JoinId) -> Arc<[ValueId]> {
        self.values.joined(join)
    }
}

impl Walk<'_, ValueId> {
    /// The next definition to visit: a join leads to what it is one of.
    pub fn pop_definition(&mut self, definitions: &Definitions) -> Option<DefinitionId> {
        loop {
            match self.pop()? {
                ValueId::Definition(id) => return Some(id),
                ValueId::Join(join) => self.extend(definitions.joined(join).iter().copied()),
            }
        }
    }
}

/// A set of registers, small however far its members lie apart.
#[derive(Debug, Default)]
pub struct RegisterSet {
    /// By the register's number over [`PAGE`], ascending.
    pages: Vec<(u32, Box<[u64; PAGE as usize / 64]>)>,
}

/// Registers that share a page of a [`RegisterSet`].
const PAGE: u32 = 4096;

impl RegisterSet {
    fn page(&self, register: RegisterId) -> Result<usize, usize> {
        self.pages.binary_search_by_key(&(register.0 / PAGE), |(page, _)| *page)
    }

    /// Whether no register is in the set.
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    /// Adds a register.
    pub fn insert(&mut self, register: RegisterId) {
        let at = self.page(register).unwrap_or_else(|at| {
            self.pages.insert(at, (register.0 / PAGE, Box::new([0; PAGE as usize / 64])));
            at
        });
        let bit = register.0 % PAGE;
        self.pages[at].1[bit as usize / 64] |= 1 << (bit % 64);
    }

    /// Whether a register is in the set.
    #[inline]
    pub fn contains(&self, register: RegisterId) -> bool {
        let page = match &self.pages[..] {
            [] => return false,
            // So nearly always.
            [(page, bits)] if *page == register.0 / PAGE => bits,
            [_] => return false,
            pages => match self.page(register) {
                Ok(at) => &pages[at].1,
                Err(_) => return false,
            },
        };
        let bit = register.0 % PAGE;
        page[bit as usize / 64] & 1 << (bit % 64) != 0
    }
}
