//! Whether an mbarrier is that of another CTA of the cluster.
//!
//! `mapa` gives the address of a variable in the CTA of a rank, and a mask that clears the bits of the rank gives that of
//! the first CTA of a pair. Which CTA that is may not be known; but nobody writes either to name their own CTA, unless
//! the rank is read from `%cluster_ctarank`, or only the CTA of that rank gets there.

use smallvec::{SmallVec, smallvec};

use super::flow::Flow;
use super::function::Function;
use super::mbarriers::Used;
use super::values::ValueId;
use crate::isa::generic::{Arithmetic, Computation, Modifier, Operation, Space};
use crate::isa::special_registers::SpecialRegister;
use crate::resolve::symbols::{RegisterId, Resolution};
use crate::syntax::literal;

/// Longer chains are not followed.
const DEEP: u32 = 12;
/// Where the number of the CTA begins in an address of a cluster.
const WINDOW: u32 = 24;

/// What a chain of definitions comes from.
enum Owner {
    /// An instruction that names a CTA which may be another one.
    Other(u32),
    /// It leads back to itself, and nothing follows from that.
    Before,
}

impl Flow<'_> {
    /// The instruction that makes the address of an mbarrier that of another CTA of the cluster, where it may be one; or
    /// the one that uses it, where that names CTAs itself.
    pub fn named_in_other_cta(&self, used: &Used) -> Option<u32> {
        let opcode = self.unit.operations.of(used.instruction);
        if !opcode.spaces().any(|space| space == Space::SharedCluster) || self.is_alone() {
            return None;
        }
        if opcode.modifier(|it| matches!(it, Modifier::Multicast(_)).then_some(())).is_some() {
            return Some(used.instruction);
        }
        let register = self.register_at(self.unit.module.base_of(used.operand())?)?;
        let mut around = SmallVec::new();
        match self.owner((used.instruction, register), 0, &mut around)? {
            Owner::Other(at) => Some(at),
            Owner::Before => None,
        }
    }

    /// Whether the clusters of the kernel have one CTA each.
    pub(super) fn is_alone(&self) -> bool {
        let function = &self.unit.module.functions[self.function() as usize];
        let cluster = self.unit.launch_bounds(function).cluster();
        cluster.is_some_and(|cluster| cluster.ctas == 1)
    }

    fn owner(
        &self,
        (at, register): (u32, RegisterId),
        depth: u32,
        around: &mut SmallVec<[ValueId; 4]>,
    ) -> Option<Owner> {
        let view = self.facts.view(self.unit);
        let value = (depth < DEEP && view.budget.take(1)).then(|| view.value(at, register))??;
        let id = match value {
            ValueId::Definition(id) => id,
            ValueId::Join(join) => {
                if around.contains(&value) {
                    return Some(Owner::Before);
                }
                around.push(value);
                let mut found = Owner::Before;
                for input in view.definitions.joined(join).iter() {
                    let ValueId::Definition(id) = *input else { return None };
                    if let Owner::Other(at) = self.owner_made(&view, id, depth, around)? {
                        found = Owner::Other(at);
                    }
                }
                around.pop();
                return Some(found);
            }
        };
        self.owner_made(&view, id, depth, around)
    }

    fn owner_made(
        &self,
        view: &Function<'_>,
        id: super::definitions::DefinitionId,
        depth: u32,
        around: &mut SmallVec<[ValueId; 4]>,
    ) -> Option<Owner> {
        let definition = *view.definitions.get(id);
        let made = definition.instruction;
        let operands = self.unit.module.instructions[made as usize].operands;
        if definition.guarded || definition.operand != operands.start {
            return None;
        }
        let opcode = self.unit.operations.of(made);
        let mut part = |position: u32| {
            let register = self.register_at(operands.start + position).filter(|_| position < operands.len)?;
            self.owner((made, register), depth + 1, around)
        };
        match (opcode.computes(), operands.len) {
            _ if opcode.operation() == Some(Operation::Mapa) => {
                (!self.is_own_rank(view, made)).then_some(Owner::Other(made))
            }
            (Computation::And, 3) => {
                let operand = self.unit.module.operands.get(operands.start as usize + 2)?;
                let mask = literal::evaluate(&self.unit.source, &self.unit.module, operand)?;
                let below = (1 << WINDOW) - 1;
                // The first CTA of a pair, for the other one.
                let is_of_pair = mask & below == below && mask >> WINDOW & 1 == 0;
                (is_of_pair && self.may_be_of_rank(made, 1)).then_some(Owner::Other(made))
            }
            (Computation::Move | Computation::Convert | Computation::ConvertAddress, 2)
            | (Computation::Shuffle, _) => part(1),
            (Computation::Arithmetic(Arithmetic::Add) | Computation::Or, 3) => match part(1) {
                Some(owner) => Some(owner),
                None => part(2),
            },
            (Computation::Arithmetic(Arithmetic::MultiplyAdd), 4) => part(3),
            _ => None,
        }
    }

    /// Whether `mapa` is given the rank of the CTA that executes it.
    fn is_own_rank(&self, view: &Function<'_>, mapa: u32) -> bool {
        let operands = self.unit.module.instructions[mapa as usize].operands;
        if operands.len < 3 {
            return true;
        }
        let (mut at, mut operand) = (mapa, operands.start + 2);
        for _ in 0..DEEP {
            let found = &self.unit.module.operands[operand as usize];
            if let Some(rank) = literal::evaluate(&self.unit.source, &self.unit.module, found) {
                return self.is_only_of_rank(mapa, rank);
            }
            match self.unit.symbols.operand(operand) {
                Resolution::Special(special) => return special.register == SpecialRegister::ClusterCtarank,
                Resolution::Register(register) => {
                    let known = self.facts.constants.at(view, at, register);
                    if let Some(rank) = known.constant(u32::BITS) {
                        return self.is_only_of_rank(mapa, rank.into());
                    }
                    let Some(id) = view.only(at, register) else { return false };
                    let definition = *view.definitions.get(id);
                    let made = definition.instruction;
                    let is_copy = matches!(
                        self.unit.operations.of(made).computes(),
                        Computation::Move | Computation::Convert | Computation::Shuffle
                    );
                    let operands = self.unit.module.instructions[made as usize].operands;
                    if !is_copy || definition.guarded || operands.len < 2 || made == at {
                        return false;
                    }
                    (at, operand) = (made, operands.start + 1);
                }
                Resolution::Symbol(_) | Resolution::Undeclared => return false,
            }
        }
        false
    }

    /// Whether an instruction is executed in the CTA of this rank only, as far as that is looked at.
    fn is_only_of_rank(&self, at: u32, rank: i128) -> bool {
        let others: SmallVec<[u32; 3]> = smallvec![0, 1, 2];
        others.into_iter().filter(|other| i128::from(*other) != rank).all(|it| !self.may_be_of_rank(at, it))
    }

    /// Whether a CTA of this rank may execute an instruction.
    fn may_be_of_rank(&self, at: u32, rank: u32) -> bool {
        let function = &self.unit.module.functions[self.function() as usize];
        let cluster = self.unit.launch_bounds(function).cluster();
        cluster.is_none_or(|cluster| u64::from(rank) < cluster.ctas)
            && (!self.is_entry()
                || self.executing(Some(rank)).of(at).is_none_or(|executes| executes.is_somebody()))
    }
}
