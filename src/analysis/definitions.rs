//! Which definitions of a register reach a use.
//!
//! Nearly all registers that compilers emit have one definition, and for those nothing has to be
//! solved. Only definitions of registers with several become facts of the dataflow problem.

use std::borrow::Cow;

use rustc_hash::FxHashMap;

use super::cfg::{BlockId, Cfg};
use super::dataflow::{self, BitSet, Direction, Effect, Join};
use super::registers::{self, Access};
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
/// Definitions of one register beyond which only the nearest one in the same block is known.
pub const MANY: usize = 200;

/// The definitions of one function.
#[derive(Debug, Default)]
pub struct Definitions {
    definitions: Vec<Definition>,
    /// By register, from `first_register` on: where its definitions start in `order`.
    starts: Vec<u32>,
    order: Vec<DefinitionId>,
    first_register: u32,
    /// For definitions of registers with several: their number as a fact.
    fact: Vec<u32>,
    /// By block: the facts that hold at its entry. Empty when the limit was hit.
    reaching: Vec<BitSet>,
    /// Whether the limit was hit.
    limited: bool,
    /// Instructions that read a watched register.
    reads: Vec<(u32, RegisterId)>,
}

impl Definitions {
    /// Finds the definitions of a function and what they reach, and who reads the registers in
    /// `watched`. What `mov` makes of one of these is watched as well.
    pub fn new(unit: &Unit, cfg: &Cfg, watched: &mut BitSet) -> Self {
        // Most instructions write one register.
        let mut definitions = Vec::with_capacity(cfg.instructions().count());
        let mut reads = Vec::new();
        // Where each copy was first met.
        let mut copies: FxHashMap<RegisterId, u32> = FxHashMap::default();
        for instruction in cfg.instructions() {
            let guarded = unit.module.instructions[instruction as usize].guard.is_some();
            let written = definitions.len();
            let read = reads.len();
            registers::accesses(unit, instruction, &mut |register, operand, access| {
                if access == Access::Write {
                    definitions.push(Definition { instruction, operand, register, guarded });
                } else if watched.contains(register.0 as usize) {
                    reads.push((instruction, register));
                }
            });
            if reads.len() > read && registers::mnemonic(unit, instruction) == "mov" {
                for copy in &definitions[written..] {
                    if !watched.contains(copy.register.0 as usize) {
                        watched.insert(copy.register.0 as usize);
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
        this.solve(cfg);
        this
    }

    /// Groups the definitions by register.
    fn sort(&mut self) {
        let registers = self.definitions.iter().map(|definition| definition.register.0);
        let (Some(first), Some(last)) = (registers.clone().min(), registers.max()) else { return };
        self.first_register = first;
        self.starts = vec![0; (last - first) as usize + 2];
        for definition in &self.definitions {
            self.starts[(definition.register.0 - first) as usize + 1] += 1;
        }
        for index in 1..self.starts.len() {
            self.starts[index] += self.starts[index - 1];
        }
        let mut next = self.starts.clone();
        self.order = vec![DefinitionId(0); self.definitions.len()];
        for (index, definition) in self.definitions.iter().enumerate() {
            let place = &mut next[(definition.register.0 - first) as usize];
            self.order[*place as usize] = DefinitionId(index as u32);
            *place += 1;
        }
    }

    fn solve(&mut self, cfg: &Cfg) {
        self.fact = vec![u32::MAX; self.definitions.len()];
        let mut facts = Vec::new();
        for group in self.starts.windows(2) {
            let group = &self.order[group[0] as usize..group[1] as usize];
            if (2..=MANY).contains(&group.len()) {
                for id in group {
                    self.fact[id.0 as usize] = facts.len() as u32;
                    facts.push(*id);
                }
            }
        }
        self.limited = facts.len().saturating_mul(cfg.len()) > LIMIT;
        if facts.is_empty() || self.limited {
            return;
        }
        let mut effects: Vec<Effect> = cfg.blocks().map(|_| Effect::none(facts.len())).collect();
        for id in &facts {
            // In the order of the arena, which is that of the instructions.
            let definition = self.definitions[id.0 as usize];
            let Some(block) = cfg.block_of(definition.instruction) else { continue };
            let effect = &mut effects[block.index()];
            if !definition.guarded {
                for other in self.of(definition.register) {
                    effect.kill(self.fact[other.0 as usize] as usize);
                }
            }
            effect.generate(self.fact[id.0 as usize] as usize);
        }
        match dataflow::solve(cfg, Direction::Forward, Join::May, facts.len(), &effects, STEPS) {
            Some(reaching) => self.reaching = reaching,
            None => self.limited = true,
        }
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
        let index = register.0.checked_sub(self.first_register).map(|index| index as usize);
        match index.and_then(|index| Some((self.starts.get(index)?, self.starts.get(index + 1)?))) {
            Some((&start, &end)) => &self.order[start as usize..end as usize],
            None => &[],
        }
    }

    /// The definitions of `register` that may have made the value that `instruction` reads; none
    /// when there are too many to tell.
    pub fn reaching(&self, cfg: &Cfg, instruction: u32, register: RegisterId) -> Cow<'_, [DefinitionId]> {
        let all = self.of(register);
        if all.len() < 2 {
            return Cow::Borrowed(all);
        }
        let solved = !self.reaching.is_empty() && all.len() <= MANY;
        let Some(block) = cfg.block_of(instruction) else { return Cow::Borrowed(all) };
        let mut found = Vec::new();
        let before = all.partition_point(|id| self.get(*id).instruction < instruction);
        for (index, id) in all[..before].iter().enumerate().rev().take(MANY) {
            let definition = self.get(*id);
            if cfg.block_of(definition.instruction) != Some(block) {
                break;
            }
            if !definition.guarded && found.is_empty() {
                return Cow::Borrowed(&all[index..=index]);
            }
            found.push(*id);
            if !definition.guarded {
                return Cow::Owned(found);
            }
        }
        if !solved {
            return Cow::Borrowed(if all.len() <= MANY { all } else { &[] });
        }
        found.extend(self.entering(block, all).filter(|id| !found.contains(id)).collect::<Vec<_>>());
        Cow::Owned(found)
    }

    fn entering<'a>(
        &'a self,
        block: BlockId,
        of: &'a [DefinitionId],
    ) -> impl Iterator<Item = DefinitionId> + 'a {
        let facts = &self.reaching[block.index()];
        of.iter().copied().filter(move |id| facts.contains(self.fact[id.0 as usize] as usize))
    }
}
