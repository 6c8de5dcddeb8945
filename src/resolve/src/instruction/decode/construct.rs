//! The typed instructions, made of qualifiers and operands that fit.

use super::{Bound, Value};
use crate::instruction::form::Qualifiers;
use crate::instruction::{
    Address, Alloc, Commit, Cp, Dealloc, Fence, Instruction, Ld, MatrixA, Mma, Predicate, Reduction,
    RelinquishAllocPermit, Scalar, Shift, St, Vector, Wait,
};
use crate::isa::vocabulary::Operation;

/// Operands by the name of their position.
struct Fields<'a, 's>(&'a [Bound<'s>]);

impl<'s> Fields<'_, 's> {
    fn value(&self, name: &str) -> Option<&Value<'s>> {
        self.0.iter().find(|bound| bound.fits && bound.slot.name == name).map(|bound| &bound.value)
    }

    fn address(&self, name: &str) -> Option<Address<'s>> {
        match self.value(name)? {
            Value::Address(address) => Some(*address),
            _ => None,
        }
    }

    fn scalar(&self, name: &str) -> Option<Scalar<'s>> {
        match self.value(name)? {
            Value::Scalar(scalar) => Some(*scalar),
            Value::Vector(vector) => vector.elements.first().copied(),
            _ => None,
        }
    }

    fn vector(&self, name: &str) -> Option<Vector<'s>> {
        match self.value(name)? {
            Value::Vector(vector) => Some(vector.clone()),
            _ => None,
        }
    }

    fn predicate(&self, name: &str) -> Option<Predicate<'s>> {
        match self.value(name)? {
            Value::Scalar(value) => Some(Predicate { negated: false, value: *value }),
            Value::Not(register) => Some(Predicate { negated: true, value: Scalar::Register(*register) }),
            _ => None,
        }
    }

    fn matrix_a(&self) -> Option<MatrixA<'s>> {
        self.address("a").map(MatrixA::TensorMemory).or_else(|| self.scalar("a").map(MatrixA::Descriptor))
    }
}

/// Builds the typed instruction; `None` only when the form has problems.
pub(super) fn construct<'s>(
    operation: Operation,
    q: &Qualifiers,
    operands: &[Bound<'s>],
) -> Option<Instruction<'s>> {
    let f = Fields(operands);
    Some(match operation {
        Operation::Alloc => Instruction::Alloc(Alloc {
            cta_group: q.get()?,
            exclusive: q.get(),
            space: q.get(),
            dst: f.address("dst")?,
            n_cols: f.scalar("nCols")?,
        }),
        Operation::Dealloc => Instruction::Dealloc(Dealloc {
            cta_group: q.get()?,
            exclusive: q.get(),
            taddr: f.scalar("taddr")?,
            n_cols: f.scalar("nCols")?,
        }),
        Operation::RelinquishAllocPermit => {
            Instruction::RelinquishAllocPermit(RelinquishAllocPermit { cta_group: q.get()? })
        }
        Operation::Ld | Operation::LdRed | Operation::LdSpcompress | Operation::LdRedSpcompress => {
            let reduction = match operation {
                Operation::Ld => None,
                _ => Some(Reduction {
                    op: q.get()?,
                    abs: q.get(),
                    nan: q.get(),
                    ty: q.get()?,
                    result: f.scalar("redval"),
                }),
            };
            Instruction::Ld(Ld {
                shape: q.get()?,
                num: q.get()?,
                pack: q.get(),
                reduction: reduction.map(Box::new),
                metadata: f.vector("metadata"),
                r: f.vector("r")?,
                taddr: f.address("taddr")?,
                half_split_offset: f.scalar("immHalfSplitoff"),
            })
        }
        Operation::St => Instruction::St(St {
            shape: q.get()?,
            num: q.get()?,
            unpack: q.get(),
            taddr: f.address("taddr")?,
            half_split_offset: f.scalar("immHalfSplitoff"),
            r: f.vector("r")?,
        }),
        Operation::WaitLd | Operation::WaitSt => Instruction::Wait(Wait { operation }),
        Operation::Cp => Instruction::Cp(Cp {
            cta_group: q.get()?,
            shape: q.get()?,
            multicast: q.get(),
            dst_format: q.get(),
            src_format: q.get(),
            taddr: f.address("taddr")?,
            s_desc: f.scalar("s-desc")?,
        }),
        Operation::Shift => Instruction::Shift(Shift { cta_group: q.get()?, taddr: f.address("taddr")? }),
        Operation::Mma | Operation::MmaWs => Instruction::Mma(Box::new(Mma {
            weight_stationary: operation == Operation::MmaWs,
            sparse: q.get(),
            cta_group: q.get()?,
            kind: q.get()?,
            block_scale: q.get(),
            scale_vector_size: q.get(),
            ashift: q.get(),
            collector_a: q.get(),
            collector_b: q.get(),
            collector_ws: q.get(),
            decompress: q.get(),
            d: f.address("d-tmem")?,
            a: f.matrix_a()?,
            b: f.scalar("b-desc")?,
            b_meta: f.address("b-meta"),
            sparsity_metadata: f.address("sp-meta-tmem"),
            idesc: f.scalar("idesc")?,
            scales: f.address("scale-A-tmem").zip(f.address("scale-B-tmem")).map(|(a, b)| Box::new([a, b])),
            disable_output_lane: f.vector("disable-output-lane"),
            enable_input_d: f.predicate("enable-input-d")?,
            scale_input_d: f.scalar("scale-input-d"),
            zero_column_mask: f.scalar("zero-column-mask-desc"),
        })),
        Operation::Commit => Instruction::Commit(Commit {
            cta_group: q.get()?,
            sync_restrict: q.get(),
            space: q.get(),
            multicast: q.get(),
            mbar: f.address("mbar")?,
            cta_mask: f.scalar("ctaMask"),
        }),
        Operation::FenceBefore | Operation::FenceAfter => Instruction::Fence(Fence { operation }),
    })
}
