//! Operands: registers, constants, addresses.

use super::lower::Lowering;
use super::windows::{self, generic};
use super::{Address, Changing, Fixed, Operand, Slice};
use crate::ir;
use crate::ir::argument::{self, Argument, Arguments, Placed};
use crate::isa::generic::Type;
use crate::isa::hierarchy::THREADS_OF_WARP;
use crate::isa::special_registers::{Form, Part, Special, SpecialRegister};
use crate::resolve::symbols::{RegisterId, SymbolKind};

impl Lowering<'_> {
    /// A value that is the same everywhere.
    pub(super) fn constant(&mut self, value: u64) -> Operand {
        let program = &mut self.program;
        let index = *self.constants.entry(value).or_insert_with(|| {
            program.constants.push([value; 32]);
            program.constants.len() as u32 - 1
        });
        Operand::Constant(index)
    }

    /// A value that a thread keeps.
    pub(super) fn fixed(&mut self, fixed: Fixed) -> Operand {
        let known = self.program.fixed.iter().position(|known| *known == fixed);
        let index = known.unwrap_or_else(|| {
            self.program.fixed.push(fixed);
            self.program.fixed.len() - 1
        });
        Operand::Fixed(index as u32)
    }

    /// The number of a register in the frame; of its first part, if it has several.
    pub(super) fn register(&mut self, id: RegisterId) -> u32 {
        if let Some(known) = self.registers.get(&id) {
            return *known;
        }
        let number = self.register_count;
        self.registers.insert(id, number);
        let (vector, wide) = argument::parts(self.unit, id);
        self.register_count += u32::from(vector) * u32::from(wide);
        number
    }

    /// Keeps operands.
    pub(super) fn keep(&mut self, operands: &[Operand]) -> Slice {
        let start = self.program.operands.len() as u32;
        self.program.operands.extend_from_slice(operands);
        Slice { start, len: operands.len() as u32 }
    }

    /// Appends what an operand is made of: one value, or the elements of a vector. Whether that
    /// worked.
    pub(super) fn flatten(&mut self, index: u32, ty: Option<Type>, all: &mut Vec<Operand>) -> bool {
        let mut arguments = Arguments::new();
        argument::flatten(self.unit, index, ty, &mut arguments);
        self.take(&arguments, all)
    }

    /// Appends arguments. Whether they are all understood.
    pub(super) fn take(&mut self, arguments: &[Placed], all: &mut Vec<Operand>) -> bool {
        arguments.iter().all(|placed| match self.argument(placed.argument) {
            Some(operand) => {
                all.push(operand);
                true
            }
            None => false,
        })
    }

    /// What an argument is in the frame.
    fn argument(&mut self, argument: Argument) -> Option<Operand> {
        Some(match argument {
            Argument::Constant(value) => self.constant(value),
            Argument::Register { id, part } => Operand::Register(self.register(id) + u32::from(part)),
            Argument::Not(id) => Operand::Not(self.register(id)),
            Argument::Special(special) => self.special(special)?,
            Argument::Symbol { id, offset, generic } => {
                let base = if let SymbolKind::Function { function } = self.unit.symbols.symbol(id).kind {
                    let address = self.function_address(function)?;
                    self.constant(address)
                } else {
                    let storage = self.storage(id);
                    self.place(storage, 0, generic)?
                };
                self.folded(Address { base, offset })?
            }
            Argument::Carry => self.carry(),
            Argument::Sink => Operand::Sink,
            Argument::Opaque => return None,
        })
    }

    /// An address without anything to add at run time, if it is one.
    fn folded(&mut self, address: Address) -> Option<Operand> {
        match address {
            Address { base, offset: 0 } => Some(base),
            Address { base: Operand::Constant(index), offset } => {
                let value = self.program.constants[index as usize][0].wrapping_add_signed(offset);
                Some(self.constant(value))
            }
            Address { base: Operand::Local(start), offset } => {
                Some(Operand::Local((i64::from(start) + offset) as u32))
            }
            Address { base: Operand::Fixed(index), offset } => {
                let by = |start: u32| (i64::from(start) + offset) as u32;
                let moved = match self.program.fixed[index as usize] {
                    Fixed::Shared(start) => Fixed::Shared(by(start)),
                    Fixed::DynamicShared(start) => Fixed::DynamicShared(by(start)),
                    Fixed::GenericShared(start) => Fixed::GenericShared(by(start)),
                    Fixed::GenericDynamicShared(start) => Fixed::GenericDynamicShared(by(start)),
                    _ => return None,
                };
                Some(self.fixed(moved))
            }
            _ => None,
        }
    }

    /// A special register.
    fn special(&mut self, Special { register, part }: Special) -> Option<Operand> {
        use SpecialRegister as Register;

        let axis = match part {
            Part::Whole | Part::Nth(_) => 0,
            Part::Component(3) => return Some(self.constant(0)),
            Part::Component(axis) => axis,
            Part::None => return None,
        };
        if part == Part::Whole && register.facts().form == Form::Vector {
            return None;
        }
        let fixed = match register {
            Register::Tid => Fixed::Tid(axis),
            Register::Ntid => Fixed::Ntid(axis),
            Register::Ctaid => Fixed::Ctaid(axis),
            Register::Nctaid => Fixed::Nctaid(axis),
            Register::ClusterCtaid => Fixed::ClusterCtaid(axis),
            Register::ClusterNctaid => Fixed::ClusterNctaid(axis),
            Register::Clusterid => Fixed::Clusterid(axis),
            Register::Nclusterid => Fixed::Nclusterid(axis),
            Register::Laneid => Fixed::Laneid,
            Register::Warpid => Fixed::Warpid,
            Register::Nwarpid => Fixed::Nwarpid,
            Register::Smid => Fixed::Smid,
            Register::Nsmid => Fixed::Nsmid,
            Register::LanemaskEq => Fixed::LanemaskEq,
            Register::LanemaskLe => Fixed::LanemaskLe,
            Register::LanemaskLt => Fixed::LanemaskLt,
            Register::LanemaskGe => Fixed::LanemaskGe,
            Register::LanemaskGt => Fixed::LanemaskGt,
            Register::ClusterCtarank => Fixed::ClusterCtarank,
            Register::ClusterNctarank => Fixed::ClusterNctarank,
            Register::IsExplicitCluster => Fixed::IsExplicitCluster,
            Register::DynamicSmemSize => Fixed::DynamicSmemSize,
            Register::TotalSmemSize | Register::AggrSmemSize => Fixed::TotalSmemSize,
            Register::ReservedSmemOffsetBegin
            | Register::ReservedSmemOffsetEnd
            | Register::ReservedSmemOffsetCap => Fixed::ReservedSmem,
            Register::Clock | Register::Clock64 => return Some(Operand::Changing(Changing::Clock)),
            Register::ClockHi => return Some(Operand::Changing(Changing::ClockHigh)),
            Register::Globaltimer => return Some(Operand::Changing(Changing::Timer)),
            Register::GlobaltimerLo => return Some(Operand::Changing(Changing::TimerLow)),
            Register::GlobaltimerHi => return Some(Operand::Changing(Changing::TimerHigh)),
            Register::Envreg if matches!(part, Part::Nth(1 | 2)) => Fixed::Workspace(part == Part::Nth(1)),
            Register::Gridid | Register::CurrentGraphExec | Register::Envreg => {
                return Some(self.constant(0));
            }
            Register::WarpSz => return Some(self.constant(THREADS_OF_WARP.into())),
            Register::Pm
            | Register::Pm64
            | Register::ReservedSmemOffset
            | Register::LocalityDomainId
            | Register::LocalityDomainSupplementalSm => return None,
        };
        Some(self.fixed(fixed))
    }

    /// One value.
    pub(super) fn value(&mut self, index: u32, ty: Option<Type>) -> Option<Operand> {
        let mut all = Vec::new();
        (self.flatten(index, ty, &mut all) && all.len() == 1).then(|| all[0])
    }

    /// The address that an operand in brackets is.
    pub(super) fn address(&mut self, index: u32) -> Option<Address> {
        let ir::Address { base, offset } = argument::address(self.unit, index)?;
        Some(Address { base: self.argument(base.argument)?, offset })
    }

    /// The address of a function, which the run will find at its number.
    pub(super) fn function_address(&mut self, function: u32) -> Option<u64> {
        let number = self.function_number(function)?;
        Some(generic(windows::CODE, u64::from(number) << 4))
    }
}
