//! The instructions of tcgen05.

use super::lower::Lowering;
use super::{Action, Address, LoadReduction, Matrix, Multiply, Operand, Reduction, Slice, Tensor, Where};
use crate::instruction::{self, Base, Instruction, MatrixA, Predicate, Scalar, Vector};
use crate::isa::generic::{ReductionOperator, Type};
use crate::isa::vocabulary::{AddressSpace, CtaGroup, DataType, Operation, RedOp, SrcFormat};
use crate::source::Spanned;
use crate::syntax::literal;

impl Lowering<'_> {
    /// What an instruction does; nothing if its form is broken.
    pub(super) fn tensor(&mut self, index: u32) -> Option<Action> {
        let decoded = self.tensor.remove(&index)?;
        let tensor = match decoded.instruction.as_ref()? {
            Instruction::Alloc(it) => Tensor::Alloc {
                pair: is_pair(it.cta_group),
                space: space(it.space),
                destination: self.tensor_address(&it.dst)?,
                columns: self.scalar(&it.n_cols)?,
                exclusive: it.exclusive.is_some(),
            },
            Instruction::Dealloc(it) => {
                Tensor::Dealloc { address: self.scalar(&it.taddr)?, columns: self.scalar(&it.n_cols)? }
            }
            Instruction::RelinquishAllocPermit(_) => Tensor::Relinquish,
            Instruction::Ld(it) => {
                let mut extra = Vec::new();
                if let Some(result) = it.reduction.as_ref().and_then(|reduction| reduction.result.as_ref()) {
                    extra.push(self.scalar(result)?);
                }
                for element in it.metadata.iter().flat_map(|metadata| metadata.elements.iter()) {
                    extra.push(self.scalar(element)?);
                }
                Tensor::Load {
                    shape: it.shape.value,
                    num: it.num.value,
                    packed: it.pack.is_some(),
                    address: self.tensor_address(&it.taddr)?,
                    split: split(it.half_split_offset.as_ref())?,
                    registers: self.vector(&it.r)?,
                    reduction: it.reduction.as_deref().and_then(reduction),
                    extra: self.keep(&extra),
                }
            }
            Instruction::St(it) => Tensor::Store {
                shape: it.shape.value,
                num: it.num.value,
                packed: it.unpack.is_some(),
                address: self.tensor_address(&it.taddr)?,
                split: split(it.half_split_offset.as_ref())?,
                registers: self.vector(&it.r)?,
            },
            Instruction::Wait(it) => {
                if it.operation == Operation::WaitLd {
                    Tensor::WaitLoad
                } else {
                    Tensor::WaitStore
                }
            }
            Instruction::Cp(it) => Tensor::Copy {
                pair: is_pair(it.cta_group),
                shape: it.shape.value,
                multicast: it.multicast.map(|it| it.value),
                decompressed: it.src_format.map(|format| match format.value {
                    SrcFormat::B6x16P32 => 6,
                    SrcFormat::B4x16P64 => 4,
                }),
                address: self.tensor_address(&it.taddr)?,
                descriptor: self.scalar(&it.s_desc)?,
            },
            Instruction::Shift(it) => {
                Tensor::Shift { pair: is_pair(it.cta_group), address: self.tensor_address(&it.taddr)? }
            }
            Instruction::Mma(it) => Tensor::Multiply(Multiply {
                pair: is_pair(it.cta_group),
                kind: it.kind.value,
                sparse: it.sparse.is_some(),
                weight_stationary: it.weight_stationary,
                ashift: it.ashift.is_some(),
                scale_vector_size: it.scale_vector_size.map(|size| size.value),
                d: self.tensor_address(&it.d)?,
                a: match &it.a {
                    MatrixA::Descriptor(descriptor) => Matrix::Shared(self.scalar(descriptor)?),
                    MatrixA::TensorMemory(address) => Matrix::TensorMemory(self.tensor_address(address)?),
                },
                b: self.scalar(&it.b)?,
                metadata: match &it.sparsity_metadata {
                    Some(address) => Some(self.tensor_address(address)?),
                    None => None,
                },
                idesc: self.scalar(&it.idesc)?,
                scales: match it.scales.as_deref() {
                    Some([a, b]) => Some([self.tensor_address(a)?, self.tensor_address(b)?]),
                    None => None,
                },
                zero_column_mask: match &it.zero_column_mask {
                    Some(mask) => Some(self.scalar(mask)?),
                    None => None,
                },
                enable_input: self.predicate(&it.enable_input_d)?,
                is_looked_up: it.decompress.is_some(),
                disabled: match &it.disable_output_lane {
                    Some(lanes) => self.vector(lanes)?,
                    None => self.keep(&[]),
                },
                scale_input: match &it.scale_input_d {
                    Some(scale) => Some(self.scalar(scale)?),
                    None => None,
                },
            }),
            Instruction::Commit(it) => Tensor::Commit {
                space: space(it.space),
                barrier: self.tensor_address(&it.mbar)?,
                mask: match &it.cta_mask {
                    Some(mask) => Some(self.scalar(mask)?),
                    None => None,
                },
            },
            Instruction::Fence(it) => {
                if it.operation == Operation::FenceBefore {
                    Tensor::FenceBefore
                } else {
                    Tensor::FenceAfter
                }
            }
        };
        Some(Action::Tensor(Box::new(tensor)))
    }

    fn predicate(&mut self, predicate: &Predicate<'_>) -> Option<(Operand, bool)> {
        let value = match &predicate.value {
            Scalar::Immediate(immediate) => self.constant(u64::from(immediate.value() != 0)),
            other => self.scalar(other)?,
        };
        Some((value, predicate.negated))
    }

    fn vector(&mut self, vector: &Vector<'_>) -> Option<Slice> {
        let mut all = Vec::with_capacity(vector.elements.len());
        for element in vector.elements.iter() {
            all.push(self.scalar(element)?);
        }
        Some(self.keep(&all))
    }

    fn scalar(&mut self, scalar: &Scalar<'_>) -> Option<Operand> {
        Some(match scalar {
            Scalar::Register(register) if register.plus.unwrap_or(0) == 0 => {
                Operand::Register(self.register_part(register))
            }
            Scalar::Register(_) | Scalar::Special(_) => return None,
            Scalar::Immediate(immediate) => self.constant(immediate.value() as u64),
            Scalar::Variable(variable) => {
                let storage = self.storage(variable.id);
                self.place(storage, variable.plus.unwrap_or(0), false)?
            }
            Scalar::Float(span) => {
                let value = literal::float(self.unit.source.slice(*span))?;
                self.constant(value.single().map_or(value.bits(), |it| it.to_bits().into()))
            }
        })
    }

    /// The number of a register, or of one component of a vector.
    fn register_part(&mut self, register: &instruction::Register<'_>) -> u32 {
        let first = self.register(register.id);
        let component = register.name.as_str().rsplit_once('.').filter(|_| register.component);
        first
            + match component.map(|(_, component)| component) {
                Some("y" | "g") => 1,
                Some("z" | "b") => 2,
                Some("w" | "a") => 3,
                _ => 0,
            }
    }

    fn tensor_address(&mut self, address: &instruction::Address<'_>) -> Option<Address> {
        Some(match &address.base {
            Base::Register(register) => {
                Address { base: Operand::Register(self.register_part(register)), offset: address.offset }
            }
            Base::Variable(variable) => {
                let storage = self.storage(variable.id);
                Address { base: self.place(storage, 0, false)?, offset: address.offset }
            }
        })
    }
}

/// The reduction whose result a register gets.
fn reduction(written: &instruction::Reduction<'_>) -> Option<LoadReduction> {
    written.result.as_ref()?;
    let operator = match written.op.value {
        RedOp::Min => ReductionOperator::Min,
        RedOp::Max => ReductionOperator::Max,
    };
    let ty = match written.ty.value {
        DataType::U32 => Type::U32,
        DataType::S32 => Type::S32,
        DataType::F32 => Type::F32,
        DataType::B32 | DataType::B64 => return None,
    };
    // Subnormal numbers are compared as they are.
    let reduction = Reduction { operator, ty, noftz: true };
    Some(LoadReduction { reduction, is_absolute: written.abs.is_some() })
}

fn is_pair(group: Spanned<CtaGroup>) -> bool {
    group.value == CtaGroup::Two
}

fn space(space: Option<Spanned<AddressSpace>>) -> Where {
    match space.map(|space| space.value) {
        None => Where::Generic,
        Some(AddressSpace::SharedCta) => Where::Shared,
        Some(AddressSpace::SharedCluster) => Where::SharedCluster,
    }
}

fn split(offset: Option<&Scalar<'_>>) -> Option<i64> {
    match offset {
        None => Some(0),
        Some(Scalar::Immediate(immediate)) => i64::try_from(immediate.value()).ok(),
        Some(_) => None,
    }
}
