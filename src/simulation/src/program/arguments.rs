//! The operands of an instruction, by the names that the table has for them.

use super::lower::{Filled, Lowering, RuntimeFunction};
use super::variables::Storage;
use super::{
    Access, Action, Address, Bulk, Callee, Mbarrier, MbarrierKind, Operand, Passed, ProxyFence, Read, Slice,
    Strength, TensorCopy, Told, Where,
};
use crate::ir::argument::{bits_of_register, type_of};
use crate::isa::generic::{
    CtaGroup, Flag, Geometry, LoadMode, Modifier, Operation, ProxyKind, Restriction, Role, Scope, Semantics,
    Space, SpaceRule, Type,
};
use crate::resolve::operations::Opcode;
use crate::resolve::symbols::{Resolution, SymbolKind};
use crate::syntax::ast::OperandKind;

/// The operands of one instruction, by the names that the table gives them.
pub(super) struct Operands<'l, 'a> {
    pub(super) lowering: &'l mut Lowering<'a>,
    pub(super) opcode: &'l Opcode,
    pub(super) filled: &'l [Filled],
}

impl Operands<'_, '_> {
    pub(super) fn slot(&self, name: &str) -> Option<&Filled> {
        self.filled.iter().find(|filled| filled.slot.name == name)
    }

    pub(super) fn values(&mut self, name: &str) -> Option<Vec<Operand>> {
        let filled = self.slot(name)?;
        let (index, ty) = (filled.index, type_of(self.opcode, filled.slot));
        let mut all = Vec::new();
        self.lowering.flatten(index, ty, &mut all).then_some(all)
    }

    pub(super) fn value(&mut self, name: &str) -> Option<Operand> {
        self.values(name).filter(|all| all.len() == 1).map(|all| all[0])
    }

    /// Everything that is written.
    pub(super) fn destinations(&mut self) -> Slice {
        let mut all = Vec::new();
        for Filled { slot, index } in self.filled {
            if matches!(slot.role, Role::Destination | Role::Accumulator) {
                let ty = type_of(self.opcode, slot);
                self.lowering.flatten(*index, ty, &mut all);
            }
        }
        self.lowering.keep(&all)
    }

    pub(super) fn address(&mut self, name: &str) -> Option<Address> {
        let index = self.slot(name)?.index;
        self.lowering.address(index)
    }

    /// The space that an address is in.
    pub(super) fn space(&self, name: &str) -> Where {
        let Some(filled) = self.slot(name) else { return Where::Generic };
        let space = match filled.slot.role {
            Role::Address(_, SpaceRule::Nth(nth)) => self.opcode.spaces().nth(usize::from(nth)),
            Role::Address(_, SpaceRule::Fixed(space)) => Some(space),
            _ => None,
        };
        // What a function passes is in its frame.
        let is_param = matches!(space, Some(Space::Param | Space::ParamEntry | Space::ParamFunc));
        if is_param && !self.is_kernel_parameter(filled.index) { Where::Local } else { Where::of(space) }
    }

    /// Whether an address in the space of parameters is one of the kernel's.
    pub(super) fn is_kernel_parameter(&self, index: u32) -> bool {
        let mut work = vec![index];
        while let Some(index) = work.pop() {
            let operand = &self.lowering.unit.module.operands[index as usize];
            if let Resolution::Symbol(id) = self.lowering.unit.symbols.operand(index)
                && operand.is_name()
            {
                return matches!(self.lowering.storage.get(&id), Some(Storage::Parameter(_)));
            }
            work.extend(operand.parts().range().map(|part| part as u32));
        }
        self.lowering.is_kernel
    }

    pub(super) fn access(
        &mut self,
        space: Where,
        address: Address,
        ty: Type,
        registers: &[Operand],
        extend: u8,
        strength: Option<Strength>,
    ) -> Access {
        let registers = self.lowering.keep(registers);
        let bytes = ty.bits().unwrap_or(8).div_ceil(8).min(8) as u8;
        Access { space, address, bytes, extend, registers, strength, pointers: 0, addresses: 0 }
    }

    pub(super) fn call(&mut self) -> Result<Action, String> {
        let missing = || "an operand that is not understood".to_owned();
        let (mut results, mut arguments, mut callee) = (Vec::new(), Vec::new(), None);
        let mut runtime = None;
        for Filled { slot, index } in self.filled {
            match slot.role {
                Role::Results => results = self.passed(*index).ok_or_else(missing)?,
                Role::Arguments => arguments = self.passed(*index).ok_or_else(missing)?,
                Role::Callee => {
                    callee = Some(match self.lowering.unit.symbols.operand(*index) {
                        Resolution::Symbol(id) => match self.lowering.unit.symbols.symbol(id).kind {
                            SymbolKind::Function { function } => {
                                let Some(number) = self.lowering.function_number(function) else {
                                    runtime = Some(self.lowering.runtime_function(function)?);
                                    continue;
                                };
                                Callee::Known(number)
                            }
                            _ => return Err(missing()),
                        },
                        _ => {
                            Callee::Address(self.lowering.value(*index, Some(Type::U64)).ok_or_else(missing)?)
                        }
                    });
                }
                _ => {}
            }
        }
        let (results, arguments) = (self.lowering.passed(&results), self.lowering.passed(&arguments));
        match runtime {
            Some(RuntimeFunction::Print) => return Ok(Action::Print { results, arguments }),
            Some(RuntimeFunction::AssertFail) => return Ok(Action::Assert { arguments }),
            None => {}
        }
        let callee = callee.ok_or_else(missing)?;
        Ok(Action::Call { callee, results, arguments })
    }

    /// What a list in parentheses passes.
    pub(super) fn passed(&mut self, index: u32) -> Option<Vec<Passed>> {
        let operand = self.lowering.unit.module.operands[index as usize];
        let OperandKind::List(parts) = operand.kind() else { return None };
        let mut all = Vec::new();
        for part in parts.range().map(|part| part as u32) {
            if let Resolution::Symbol(id) = self.lowering.unit.symbols.operand(part)
                && self.lowering.unit.module.operands[part as usize].is_name()
                && let Storage::Local(offset) = self.lowering.storage(id)
            {
                let span = self.lowering.unit.symbols.symbol(id).span;
                let (declaration, declarator) = self.lowering.declared(span.start)?;
                let (bytes, _) = self.lowering.size(declaration, declarator);
                all.push(Passed::Memory { offset, bytes: bytes.unwrap_or(0).min(1 << 16) as u32 });
            } else {
                all.push(Passed::Value(self.lowering.value(part, None)?));
            }
        }
        Some(all)
    }

    /// How much `cp.async` reads: the last operand is a number of bytes, or whether to ignore the source.
    pub(super) fn read_of_copy(&mut self) -> Option<Read> {
        let Some(filled) = self.slot("src-size") else { return Some(Read::All) };
        let index = filled.index;
        let operand = self.value("src-size")?;
        let is_predicate = matches!(operand, Operand::Not(_))
            || matches!(operand, Operand::Register(_)) && bits_of_register(self.lowering.unit, index) == 1;
        Some(if is_predicate { Read::Unless(operand) } else { Read::Bytes(operand) })
    }

    /// What a fence between proxies does for shared memory: of global memory it is not compared which proxy
    /// sees what.
    pub(super) fn proxy_fence(&self) -> Action {
        let has = |it| self.opcode.has(it);
        if has(Modifier::ProxyKind(ProxyKind::Async)) {
            return Action::ProxyFence(match self.opcode.spaces().next() {
                None => ProxyFence::All,
                Some(Space::Global) => ProxyFence::Global,
                Some(_) => ProxyFence::Shared,
            });
        }
        if !has(Modifier::ProxyKind(ProxyKind::AsyncGeneric)) {
            // Virtual aliases, tensor maps, and other devices.
            return Action::Nothing;
        }
        if has(Modifier::Semantics(Semantics::Acquire)) {
            return Action::ProxyFence(ProxyFence::Acquired);
        }
        // Shipped kernels have no acquire on the other side. What orders only reads shows no write.
        if has(Modifier::Restriction(Restriction::SharedClusterRead)) {
            return Action::Nothing;
        }
        Action::ProxyFence(ProxyFence::All)
    }

    pub(super) fn mbarrier(&mut self, operation: Operation, is_relaxed: bool) -> Option<Action> {
        let is_narrow = self.opcode.has(Modifier::Scope(Scope::Cta));
        let told = Told { is_ordered: !is_relaxed, is_narrow };
        let kind = match operation {
            Operation::MbarrierInit => MbarrierKind::Init { count: self.value("count")? },
            Operation::MbarrierInval => MbarrierKind::Invalidate,
            Operation::MbarrierExpectTx => MbarrierKind::Expect { bytes: self.value("txCount")? },
            Operation::MbarrierCompleteTx => MbarrierKind::Complete { bytes: self.value("txCount")? },
            Operation::MbarrierArrive | Operation::MbarrierArriveDrop => MbarrierKind::Arrive {
                count: self.value("count"),
                bytes: self.value("txCount"),
                drop: operation == Operation::MbarrierArriveDrop,
                release: told,
                state: self.value("state").unwrap_or(Operand::Sink),
            },
            _ => {
                let parity = self.opcode.has_flag(Flag::Parity);
                MbarrierKind::Wait {
                    parity,
                    value: self.value(if parity { "phaseParity" } else { "state" })?,
                    may_suspend: operation == Operation::MbarrierTryWait,
                    acquire: told,
                    destination: *self.values("waitComplete")?.first()?,
                }
            }
        };
        Some(Action::Mbarrier(Mbarrier {
            space: self.space("addr"),
            address: self.address("addr")?,
            kind,
            mask: self.value("ctaMask"),
        }))
    }

    /// The coordinates behind the address of a tensor map; none if they are not understood.
    fn coordinates(&mut self, name: &str) -> Slice {
        let mut all = Vec::new();
        if let Some(filled) = self.slot(name)
            && let OperandKind::Address(parts) =
                self.lowering.unit.module.operands[filled.index as usize].kind()
        {
            let rest: Vec<u32> = parts.range().skip(1).map(|part| part as u32).collect();
            let is_whole =
                rest.into_iter().all(|part| self.lowering.flatten(part, Some(Type::S32), &mut all));
            if !is_whole {
                all.clear();
            }
        }
        self.lowering.keep(&all)
    }

    pub(super) fn bulk(&mut self, operation: Operation) -> Option<Action> {
        let opcode = self.opcode;
        let dimensions = opcode.modifier(|it| match it {
            Modifier::Geometry(Geometry::D1) => Some(1),
            Modifier::Geometry(Geometry::D2) => Some(2),
            Modifier::Geometry(Geometry::D3) => Some(3),
            Modifier::Geometry(Geometry::D4) => Some(4),
            Modifier::Geometry(Geometry::D5) => Some(5),
            _ => None,
        });
        let mode = opcode.modifier(|it| match it {
            Modifier::LoadMode(mode) => Some(mode),
            _ => None,
        });
        let map = (Where::Generic, "tensorMap");
        let (destination, source) = match operation {
            Operation::CpAsyncBulkTensorLoad => ((self.space("dstMem"), "dstMem"), map),
            Operation::CpAsyncBulkTensorStore | Operation::CpReduceAsyncBulkTensor => {
                (map, (self.space("srcMem"), "srcMem"))
            }
            _ => ((self.space("dstMem"), "dstMem"), (self.space("srcMem"), "srcMem")),
        };
        let coordinates = self.coordinates("tensorMap");
        let offsets = self.values("im2colInfo").unwrap_or_default();
        let offsets = self.lowering.keep(&offsets);
        let tensor = dimensions.map(|dimensions| TensorCopy {
            dimensions,
            pair: opcode.has(Modifier::CtaGroup(CtaGroup::Two)),
            mode: mode.unwrap_or(LoadMode::Tile),
            coordinates,
            offsets,
        });
        Some(Action::Bulk(Box::new(Bulk {
            destination: (destination.0, self.address(destination.1)?),
            source: (source.0, self.address(source.1)?),
            bytes: self.value("size"),
            barrier: self.address("mbar"),
            mask: self.value("ctaMask"),
            byte_mask: self.value("byteMask"),
            reduces: match operation {
                Operation::CpReduceAsyncBulkCluster
                | Operation::CpReduceAsyncBulkStore
                | Operation::CpReduceAsyncBulkTensor => {
                    let operator = opcode.modifier(|it| match it {
                        Modifier::ReductionOperator(operator) => Some(operator),
                        _ => None,
                    });
                    Some((operator?, opcode.types.first().copied()))
                }
                _ => None,
            },
            tensor,
        })))
    }
}
