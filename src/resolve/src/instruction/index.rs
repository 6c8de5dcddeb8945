//! What the tcgen05 instructions of some functions are, in a few bytes of each.
//!
//! Some fifty rules ask for instructions of one kind, or for what is wrong with their form. What is
//! decoded of a kernel is larger than the cache next to a processor: a rule that looks through all of it to
//! find that nothing concerns it waits for memory at each instruction. This is looked through instead.

use super::decode::Decoded;
use super::gates::Gates;
use crate::isa::tensor::{INSTRUCTIONS, InstructionForm, OperandClass};
use crate::isa::vocabulary::{CtaGroup, Operation, Slot};

/// Where among the decoded instructions those are that a rule asks for.
#[derive(Debug, Default)]
pub struct Index {
    /// Of each instruction, what it is, if it is understood completely.
    operations: Vec<Option<Operation>>,
    /// The operations that are among them.
    present: OperationSet,
    /// The instructions that something is wrong with.
    with_problems: Vec<u32>,
    /// Those with registers of a wrong type, or with vectors that need a closer look.
    with_odd_registers: Vec<u32>,
    /// Those whose qualifiers are not in the order of their form.
    out_of_order: Vec<u32>,
    /// Those of which a target lacks something.
    unavailable: Vec<u32>,
    /// The values of `.cta_group` that are written, also in what is not understood.
    cta_groups: [bool; 2],
}

/// A set of operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OperationSet(u32);

impl OperationSet {
    /// Loads from Tensor Memory.
    pub const LOADS: Self = Self::with_operand(OperandClass::LoadVector);
    /// Loads with the operation of a reduction; those that compress choose by it what they keep.
    pub const REDUCING: Self = Self::with_qualifier(Slot::RedOp);
    /// Loads that compress.
    pub const COMPRESSING: Self = Self::with_qualifier(Slot::MetadataType);
    /// Loads from Tensor Memory and stores to it.
    pub const LOADS_AND_STORES: Self = Self::LOADS.and(Self::of(&[Operation::St]));
    /// Multiplies.
    pub const MULTIPLIES: Self = Self::of(&[Operation::Mma, Operation::MmaWs]);
    /// Copies from shared memory.
    pub const COPIES: Self = Self::of(&[Operation::Cp]);
    /// What moves data to, from and within Tensor Memory.
    pub const MOVES: Self = Self::LOADS_AND_STORES.and(Self::COPIES).and(Self::of(&[Operation::Shift]));
    /// What allocates, and what gives back.
    pub const ALLOCATIONS: Self = Self::of(&[Operation::Alloc, Operation::Dealloc]);
    /// What all threads of a warp execute together.
    pub const ALIGNED: Self = Self::with_qualifier(Slot::Aligned);

    /// Those that have a position for a qualifier.
    const fn with_qualifier(slot: Slot) -> Self {
        let (mut found, mut row) = (Self(0), 0);
        while row < INSTRUCTIONS.len() {
            let InstructionForm { operation, qualifiers, .. } = &INSTRUCTIONS[row];
            let mut at = 0;
            while at < qualifiers.len() {
                if qualifiers[at].slot as u32 == slot as u32 {
                    found = found.and(Self::of(&[*operation]));
                }
                at += 1;
            }
            row += 1;
        }
        found
    }

    /// Those that have an operand of a class.
    const fn with_operand(class: OperandClass) -> Self {
        let (mut found, mut row) = (Self(0), 0);
        while row < INSTRUCTIONS.len() {
            let InstructionForm { operation, operands, .. } = &INSTRUCTIONS[row];
            let mut at = 0;
            while at < operands.len() {
                if operands[at].class as u32 == class as u32 {
                    found = found.and(Self::of(&[*operation]));
                }
                at += 1;
            }
            row += 1;
        }
        found
    }

    /// These.
    pub const fn of(operations: &[Operation]) -> Self {
        let (mut bits, mut at) = (0, 0);
        while at < operations.len() {
            bits |= 1 << operations[at] as u32;
            at += 1;
        }
        Self(bits)
    }

    /// These and others.
    #[must_use]
    pub const fn and(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// Whether one is among them.
    pub const fn contains(self, operation: Operation) -> bool {
        self.0 & 1 << operation as u32 != 0
    }

    const fn intersects(self, others: Self) -> bool {
        self.0 & others.0 != 0
    }
}

impl Index {
    /// Looks at each instruction once; `gates` say what is not available.
    pub fn new(instructions: &[Decoded<'_>], gates: &Gates) -> Self {
        let mut this = Self { operations: Vec::with_capacity(instructions.len()), ..Self::default() };
        for (at, decoded) in instructions.iter().enumerate() {
            let at = at as u32;
            let operation = decoded.form.filter(|_| decoded.instruction.is_some()).map(|form| form.operation);
            this.operations.push(operation);
            if let Some(operation) = operation {
                this.present = this.present.and(OperationSet::of(&[operation]));
            }
            if !decoded.problems.is_empty() {
                this.with_problems.push(at);
            }
            if decoded.has_odd_registers {
                this.with_odd_registers.push(at);
            }
            if !decoded.is_in_order {
                this.out_of_order.push(at);
            }
            if !gates.are_open_for(decoded) {
                this.unavailable.push(at);
            }
            match decoded.cta_group {
                Some(CtaGroup::One) => this.cta_groups[0] = true,
                Some(CtaGroup::Two) => this.cta_groups[1] = true,
                None => {}
            }
        }
        this
    }

    /// The instructions that something is wrong with.
    pub fn with_problems(&self) -> impl Iterator<Item = usize> + '_ {
        self.with_problems.iter().map(|at| *at as usize)
    }

    /// The instructions with registers of a wrong type, or with vectors that are not simply registers of one
    /// type, each written once.
    pub fn with_odd_registers(&self) -> impl Iterator<Item = usize> + '_ {
        self.with_odd_registers.iter().map(|at| *at as usize)
    }

    /// The instructions whose qualifiers are not in the order of their form.
    pub fn out_of_order(&self) -> impl Iterator<Item = usize> + '_ {
        self.out_of_order.iter().map(|at| *at as usize)
    }

    /// The instructions of which a set of targets lacks something.
    pub fn unavailable(&self) -> impl Iterator<Item = usize> + '_ {
        self.unavailable.iter().map(|at| *at as usize)
    }

    /// Whether both values of `.cta_group` are written.
    pub const fn has_both_cta_groups(&self) -> bool {
        self.cta_groups[0] && self.cta_groups[1]
    }

    /// The instructions of some operations that are understood completely.
    pub fn of(&self, operations: OperationSet) -> impl Iterator<Item = usize> + '_ {
        let all = if self.present.intersects(operations) { &self.operations[..] } else { &[] };
        let asked = move |operation: &Option<Operation>| operation.is_some_and(|it| operations.contains(it));
        all.iter().enumerate().filter(move |(_, operation)| asked(operation)).map(|(at, _)| at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Environment;
    use crate::instruction::decode::decode_all;
    use crate::source::Source;
    use crate::unit::Unit;

    /// The index of what stands in a kernel.
    fn index(statements: &str) -> Index {
        let text = format!(
            ".version 9.0\n.target sm_100a\n.address_size 64\n.entry k()\n{{\n\
             .reg .b32 r<8>, taddr;\n.reg .f32 f<8>;\n.reg .b64 d;\n.shared .b32 slot;\n{statements}\n}}\n"
        );
        let unit = Unit::new(&Source::new("kernel.ptx", text).unwrap());
        let gates = Gates::new(&Environment::new(&unit, None, &[]));
        Index::new(&decode_all(&unit), &gates)
    }

    #[test]
    fn operations() {
        let all = index(
            "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32;\n\
             tcgen05.wait::ld.sync;\n\
             tcgen05.st.sync.aligned.32x32b.x1.b32 [taddr], {r0};\n\
             tcgen05.dealloc.cta_group::2.sync.aligned.b32 taddr, 32;\n",
        );
        let of = |operations| all.of(operations).collect::<Vec<_>>();
        assert_eq!(of(OperationSet::ALLOCATIONS), [0, 3]);
        assert_eq!(of(OperationSet::LOADS_AND_STORES), [2]);
        assert_eq!(of(OperationSet::MULTIPLIES), [0; 0]);
        assert_eq!(of(OperationSet::of(&[Operation::WaitLd])), [0; 0], "it is not understood");
        assert_eq!(all.with_problems().collect::<Vec<_>>(), [1]);
        assert!(all.has_both_cta_groups());
    }

    #[test]
    fn sets_of_operations() {
        let names = |set: OperationSet| {
            let all = INSTRUCTIONS.iter().map(|form| form.operation).filter(|it| set.contains(*it));
            all.map(Operation::name).collect::<Vec<_>>()
        };
        assert_eq!(names(OperationSet::LOADS), ["ld", "ld.red", "ld.spcompress", "ld.red.spcompress"]);
        assert_eq!(names(OperationSet::REDUCING), ["ld.red", "ld.spcompress", "ld.red.spcompress"]);
        assert_eq!(names(OperationSet::COMPRESSING), ["ld.spcompress", "ld.red.spcompress"]);
        let aligned = names(OperationSet::ALIGNED);
        assert!(aligned.contains(&"relinquish_alloc_permit") && aligned.contains(&"wait::st"), "{aligned:?}");
        assert!(!aligned.contains(&"mma") && !aligned.contains(&"commit"), "{aligned:?}");
    }

    #[test]
    fn registers_that_need_a_closer_look() {
        let is_odd = |statement: &str| index(statement).with_odd_registers().count() == 1;
        let ld = |vector: &str| is_odd(&format!("tcgen05.ld.sync.aligned.32x32b.x2.b32 {vector}, [taddr];"));
        assert!(!ld("{r0, r1}"));
        assert!(!ld("{r0, r7}"));
        assert!(ld("{r0, r0}"), "written twice");
        assert!(ld("{r1, r0}"), "whether twice is seen at once only where they ascend");
        assert!(ld("{r0, f0}"), "of two types");
        assert!(ld("{r0, 1}"));
        assert!(!ld("{r0, _}"), "that is a problem");
        let st = |vector: &str| is_odd(&format!("tcgen05.st.sync.aligned.32x32b.x2.b32 [taddr], {vector};"));
        assert!(!st("{r1, r0}"));
        assert!(!st("{r0, r0}"), "reading twice is nothing");
        assert!(st("{r0, f0}"));
        assert!(is_odd("tcgen05.dealloc.cta_group::1.sync.aligned.b32 d, 32;"), "of 64 bits");
        assert!(!is_odd("tcgen05.dealloc.cta_group::1.sync.aligned.b32 taddr, 32;"));
    }

    #[test]
    fn the_order_of_qualifiers() {
        let out_of_order = |statement: &str| index(statement).out_of_order().count() == 1;
        assert!(!out_of_order("tcgen05.dealloc.cta_group::1.sync.aligned.b32 taddr, 32;"));
        assert!(out_of_order("tcgen05.dealloc.sync.cta_group::1.aligned.b32 taddr, 32;"));
    }

    #[test]
    fn what_a_target_lacks() {
        let load = "tcgen05.ld.red.sync.aligned.32x32b.x2.min.u32 {r0, r1}, r2, [taddr];";
        assert_eq!(index(load).unavailable().count(), 1, "on sm_100a");
        assert_eq!(index("tcgen05.wait::ld.sync.aligned;").unavailable().count(), 0);
    }
}
