//! Which definitions of a register reach a use.
//!
//! Nearly all registers that compilers emit have one definition, and for those nothing has to be
//! solved. Only definitions of registers with several become facts of the dataflow problem.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use super::budget::Budget;
use super::cfg::Cfg;
use super::dataflow::{self, BitSet, Effect};
use super::registers::{self, Access};
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

/// Facts times blocks beyond which every definition is taken to reach every use of its register:
/// true, though less is known then.
const LIMIT: usize = 1 << 26;
/// Steps on words of facts after which the same is assumed.
const STEPS: usize = 1 << 27;
/// How many of those are one step of the budget.
const WORDS: u64 = 64;

/// The definitions of one function.
#[derive(Debug, Default)]
pub struct Definitions {
    definitions: Vec<Definition>,
    index: Index,
    order: Vec<DefinitionId>,
    /// For definitions of registers with several: their number as a fact.
    fact: Vec<u32>,
    /// By block: the facts that hold at its entry. Empty when the limit was hit.
    reaching: Vec<BitSet>,
    /// Whether the limit was hit.
    limited: bool,
    /// Instructions that read a watched register.
    reads: Vec<(u32, RegisterId)>,
}

/// Where in their order the definitions of a register are.
#[derive(Debug)]
enum Index {
    /// By register, from the first on: where its definitions start. A function's registers nearly
    /// always are numbered together.
    Dense { first: u32, starts: Vec<u32> },
    /// Registers that lie far apart, each with the start and the end of its definitions.
    Sparse(FxHashMap<RegisterId, (u32, u32)>),
}

impl Default for Index {
    fn default() -> Self {
        Self::Dense { first: 0, starts: Vec::new() }
    }
}

impl Index {
    fn of(&self, register: RegisterId) -> Option<(u32, u32)> {
        match self {
            Self::Dense { first, starts } => {
                let index = register.0.checked_sub(*first)? as usize;
                Some((*starts.get(index)?, *starts.get(index + 1)?))
            }
            Self::Sparse(places) => places.get(&register).copied(),
        }
    }
}

impl Definitions {
    /// Finds the definitions of a function and what they reach, and who reads the registers in
    /// `watched`. What `mov` makes of one of these is watched as well.
    pub fn new(unit: &Unit, cfg: &Cfg, watched: &mut RegisterSet, budget: &Budget) -> Self {
        // Most instructions write one register.
        let mut definitions = Vec::with_capacity(cfg.instructions().count());
        let mut reads = Vec::new();
        // Where each copy was first met.
        let mut copies: FxHashMap<RegisterId, u32> = FxHashMap::default();
        for instruction in cfg.instructions() {
            let guarded = unit.module.guard(&unit.module.instructions[instruction as usize]).is_some();
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
        if let Some(&last) = copies.values().max() {
            for instruction in cfg.instructions().take_while(|instruction| *instruction < last) {
                registers::accesses(unit, instruction, &mut |register, _, access| {
                    if access == Access::Read && copies.get(&register).is_some_and(|copy| instruction < *copy)
                    {
                        reads.push((instruction, register));
                    }
                });
            }
            reads.sort_unstable();
        }
        let mut this = Self { definitions, reads, ..Self::default() };
        this.sort();
        this.solve(cfg, budget);
        this
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
        let mut starts = vec![0; (last - first) as usize + 2];
        for definition in &self.definitions {
            starts[(definition.register.0 - first) as usize + 1] += 1;
        }
        for index in 1..starts.len() {
            starts[index] += starts[index - 1];
        }
        let mut next = starts.clone();
        self.order = vec![DefinitionId(0); self.definitions.len()];
        for (index, definition) in self.definitions.iter().enumerate() {
            let place = &mut next[(definition.register.0 - first) as usize];
            self.order[*place as usize] = DefinitionId(index as u32);
            *place += 1;
        }
        self.index = Index::Dense { first, starts };
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

    fn solve(&mut self, cfg: &Cfg, budget: &Budget) {
        let mut facts = Vec::new();
        let mut fact = vec![u32::MAX; self.definitions.len()];
        for group in self.order.chunk_by(|a, b| self.get(*a).register == self.get(*b).register) {
            if group.len() > 1 {
                for id in group {
                    fact[id.0 as usize] = facts.len() as u32;
                    facts.push(*id);
                }
            }
        }
        self.fact = fact;
        self.limited = facts.len().saturating_mul(cfg.len()) > LIMIT;
        if facts.is_empty() || self.limited {
            return;
        }
        let mut effects: Vec<Effect> = cfg.blocks().map(|_| Effect::none(facts.len())).collect();
        // The last definition of a register in a block decides; those before it need no look at all
        // the others.
        let mut steps = 0;
        for id in facts.iter().rev() {
            // Against the order of the instructions.
            let definition = self.definitions[id.0 as usize];
            let Some(block) = cfg.block_of(definition.instruction) else { continue };
            let effect = &mut effects[block.index()];
            let fact = self.fact[id.0 as usize] as usize;
            if effect.kill.contains(fact) {
                continue;
            }
            effect.generate.insert(fact);
            if !definition.guarded {
                for other in self.of(definition.register) {
                    steps += 1;
                    let other = self.fact[other.0 as usize] as usize;
                    if !effect.generate.contains(other) {
                        effect.kill.insert(other);
                    }
                }
            }
        }
        budget.take(steps / WORDS);
        let mut left = STEPS;
        match dataflow::solve(cfg, facts.len(), &effects, &mut left) {
            Some(reaching) => self.reaching = reaching,
            None => self.limited = true,
        }
        budget.take((STEPS - left) as u64 / WORDS);
    }

    /// Whether it is known which definitions reach which uses, as far as their number allows.
    pub fn is_complete(&self) -> bool {
        !self.limited
    }

    /// The instructions that read a register that was to be watched, in their order.
    pub fn reads(&self) -> &[(u32, RegisterId)] {
        &self.reads
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
    pub fn of(&self, register: RegisterId) -> &[DefinitionId] {
        self.index.of(register).map_or(&[], |(start, end)| &self.order[start as usize..end as usize])
    }

    /// The definitions of `register` that may have made the value that `instruction` reads. Takes
    /// as long as the register has definitions.
    pub(super) fn reaching(
        &self,
        cfg: &Cfg,
        instruction: u32,
        register: RegisterId,
    ) -> Cow<'_, [DefinitionId]> {
        let all = self.of(register);
        if all.len() < 2 {
            return Cow::Borrowed(all);
        }
        let Some(block) = cfg.block_of(instruction) else { return Cow::Borrowed(all) };
        let before = all.partition_point(|id| self.get(*id).instruction < instruction);
        // Guarded definitions in the same block, up to the first that certainly happens.
        let mut from = before;
        while from > 0 {
            let definition = self.get(all[from - 1]);
            if cfg.block_of(definition.instruction) != Some(block) {
                break;
            }
            from -= 1;
            if !definition.guarded {
                return Cow::Borrowed(&all[from..before]);
            }
        }
        if self.reaching.is_empty() {
            return Cow::Borrowed(all);
        }
        let facts = &self.reaching[block.index()];
        let enters = |id: &DefinitionId| facts.contains(self.fact[id.0 as usize] as usize);
        let mut found: Vec<DefinitionId> = all[..from].iter().copied().filter(enters).collect();
        found.extend(&all[from..before]);
        found.extend(all[before..].iter().copied().filter(enters));
        Cow::Owned(found)
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
        if self.pages.is_empty() {
            return false;
        }
        let bit = register.0 % PAGE;
        self.page(register).is_ok_and(|at| self.pages[at].1[bit as usize / 64] & 1 << (bit % 64) != 0)
    }
}
