//! What instructions make of values of which less is known than the number.
//!
//! An analysis says in a [`Domain`] what it knows of a register, and what each of a few [`Function`]s
//! makes of that. [`Arithmetic::transfer`] is the only place that says of which functions an
//! instruction is composed: `mad.wide.s32` is a wide product and a sum of 64 bits. Where all sources
//! are numbers no domain is asked: the instruction is executed, and the result is that of the machine.
//!
//! ```
//! # use ptx_arithmetic::{Arithmetic, Opcode, known_bits::{Known, KnownBits}};
//! # use ptx_isa::generic::{Modifier, Operation, Type};
//! let and = Opcode {
//!     operation: Operation::And,
//!     qualifiers: &[Modifier::Type(Type::B32)],
//!     types: &[Type::B32],
//!     is_known: true,
//! };
//! let and = Arithmetic::of(&and).unwrap().unwrap();
//! // Of the first source nothing is known.
//! let sources = [Known::new(0, 0), Known::from(0xFF_u64)];
//! let result = and.transfer(&mut KnownBits, &sources, 0, 1);
//! assert_eq!(result, Known::new(!0xFF, 0));
//! ```

use ptx_isa::generic::{BooleanOperator, Relation};
use smallvec::SmallVec;

use super::{Arithmetic, Integer, Kind, Lanes};

/// What is known of registers: a lattice, of whose elements a value of a register is one.
///
/// Promises: what is said of a result holds for every number that the sources can be (may-analyses), as
/// far as the domain's own file does not say otherwise. Bits of a value above its type mean nothing; in a
/// result, they are what the domain wants.
pub trait Domain {
    /// What is known of one register.
    type Value: Clone;

    /// Whether [`apply`](Self::apply) makes numbers of numbers, always: then nothing is executed that is composed.
    const IS_EXACT: bool = false;

    /// Nothing is known: the top of the lattice.
    fn unknown(&mut self) -> Self::Value;

    /// This number.
    fn number(&mut self, bits: u64) -> Self::Value;

    /// The number that the low bits of a value are, if that is known. A domain that never says so makes
    /// everything by its own [`apply`](Self::apply).
    fn known(&mut self, value: &Self::Value, bits: u32) -> Option<u64>;

    /// What a function makes of its sources; [`unknown`](Self::unknown) where the domain has no answer.
    fn apply(&mut self, function: Function, ty: Integer, sources: &[Self::Value]) -> Self::Value;
}

/// What instructions are composed of: functions of integers, which wrap around in their type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// `a + b`
    Add,
    /// `a - b`
    Subtract,
    /// The low half of `a * b`.
    Multiply,
    /// All of `a * b`, twice as wide as the type.
    MultiplyWide,
    /// The high half of `a * b`.
    MultiplyHigh,
    /// `a / b`
    Divide,
    /// `a % b`
    Remainder,
    /// The lesser.
    Minimum,
    /// The greater.
    Maximum,
    /// `a & b`
    And,
    /// `a | b`
    Or,
    /// `a ^ b`
    Xor,
    /// `~a`
    Not,
    /// A table of three bits, as `lop3` takes it; its number is the fourth source.
    Lookup,
    /// `a << b`; `b` has 32 bits, and what is shifted by all its bits has none left.
    ShiftLeft,
    /// `a >> b`, with copies of the sign where the type has one; `b` has 32 bits.
    ShiftRight,
    /// 32 bits of `b:a` from bit `c` on, which is at most 32.
    Funnel,
    /// The field of `a` from bit `b` on, with `c` bits, extended as the type says; both have 32 bits.
    Extract,
    /// `b` with the field from bit `c` on, with `d` bits, taken from `a`; both have 32 bits.
    Insert,
    /// Four of the eight bytes of `b:a`, as `prmt` picks them.
    Permute,
    /// The bits in the opposite order.
    Reverse,
    /// Extended from the type to so many bits, as the type says, or cut to them.
    Extend(u32),
    /// Whether a relation holds: 1 or 0.
    Compare(Relation),
    /// `a` where the low bit of `c` is set, otherwise `b`.
    Select,
    /// What the register `a` holds in some thread of the warp.
    Exchange,
}

impl Arithmetic {
    /// What the destination at `position`, of `count`, gets; sources and destinations as for
    /// [`execute`](Self::execute).
    pub fn transfer<D: Domain>(
        &self,
        domain: &mut D,
        sources: &[D::Value],
        position: usize,
        count: usize,
    ) -> D::Value {
        if position >= count {
            return domain.unknown();
        }
        if !D::IS_EXACT
            && let Some(number) = self.executed(domain, sources, position, count)
        {
            return domain.number(number);
        }
        let mut composing = Composing { domain, sources };
        let composed = match &self.0 {
            Kind::Integer(it) if position == 0 => it.compose(&mut composing),
            Kind::Extended(it) if position == 0 => it.compose(&mut composing),
            Kind::Bits(it) if position == 0 => it.compose(&mut composing),
            Kind::Logic(it) if position == 0 => it.compose(&mut composing),
            Kind::Permute(it) if position == 0 => it.compose(&mut composing),
            Kind::Convert(it) if position == 0 => it.compose(&mut composing),
            Kind::Warp(it) if position == 0 => it.compose(&mut composing),
            Kind::Comparison(it) => it.compose(&mut composing, position),
            Kind::Movement(it) => it.compose(&mut composing, position, count),
            Kind::Integer(_)
            | Kind::Extended(_)
            | Kind::Bits(_)
            | Kind::Logic(_)
            | Kind::Permute(_)
            | Kind::Convert(_)
            | Kind::Warp(_)
            // No analysis asks for these.
            | Kind::Floating(_)
            | Kind::Approximate(_)
            | Kind::Narrow(_)
            | Kind::Pack(_)
            | Kind::Video(_)
            | Kind::Policy(_) => None,
        };
        if let Some(composed) = composed {
            return composed;
        }
        let executed = if D::IS_EXACT { self.executed(domain, sources, position, count) } else { None };
        match executed {
            Some(number) => domain.number(number),
            None => domain.unknown(),
        }
    }

    /// The number that the destination at `position`, of `count`, gets, if all sources are numbers.
    fn executed<D: Domain>(
        &self,
        domain: &mut D,
        sources: &[D::Value],
        position: usize,
        count: usize,
    ) -> Option<u64> {
        self.number(&self.numbers(domain, sources)?, position, count)
    }

    /// Whether [`transfer`](Self::transfer) says more than nothing of some result.
    pub fn is_followed(&self) -> bool {
        match &self.0 {
            Kind::Integer(_)
            | Kind::Extended(_)
            | Kind::Bits(_)
            | Kind::Logic(_)
            | Kind::Permute(_)
            | Kind::Movement(_) => true,
            Kind::Comparison(it) => it.source_bits(0).is_some(),
            Kind::Convert(it) => it.source_bits().is_some(),
            Kind::Warp(it) => it.is_shuffle(),
            Kind::Floating(_)
            | Kind::Approximate(_)
            | Kind::Narrow(_)
            | Kind::Pack(_)
            | Kind::Video(_)
            | Kind::Policy(_) => false,
        }
    }

    /// Whether it moves, masks or shifts bits, so that some bits of a result may be known if not all of its sources
    /// are.
    pub fn is_of_bits(&self) -> bool {
        match &self.0 {
            Kind::Movement(_) | Kind::Logic(_) | Kind::Bits(_) | Kind::Permute(_) => true,
            Kind::Convert(it) => it.source_bits().is_some(),
            Kind::Integer(_)
            | Kind::Extended(_)
            | Kind::Comparison(_)
            | Kind::Warp(_)
            | Kind::Floating(_)
            | Kind::Approximate(_)
            | Kind::Narrow(_)
            | Kind::Pack(_)
            | Kind::Video(_)
            | Kind::Policy(_) => false,
        }
    }

    /// How many bits of the destination at a position, of `count`, the instruction gives a value: those above
    /// keep what nobody knows. All 64 where it extends its result over the register.
    pub fn result_bits(&self, position: usize, count: usize) -> u32 {
        match &self.0 {
            Kind::Integer(it) => it.result_bits(),
            Kind::Extended(it) => it.source_bits(0, 1),
            Kind::Bits(it) => it.result_bits(),
            Kind::Logic(it) => {
                if position == 0 {
                    it.source_bits(0)
                } else {
                    1
                }
            }
            Kind::Permute(_) => 32,
            Kind::Comparison(it) => it.result_bits(),
            Kind::Movement(it) => it.result_bits(count),
            Kind::Warp(_) => {
                if position == 0 {
                    32
                } else {
                    1
                }
            }
            Kind::Convert(_)
            | Kind::Floating(_)
            | Kind::Approximate(_)
            | Kind::Narrow(_)
            | Kind::Pack(_)
            | Kind::Video(_)
            | Kind::Policy(_) => 64,
        }
    }

    /// The number that the destination at `position`, of `count`, gets from numbers; `None` where that
    /// depends on other lanes, or there are too few sources.
    pub fn number(&self, sources: &[u64], position: usize, count: usize) -> Option<u64> {
        if self.is_exchange() || position >= count {
            return None;
        }
        // What the hardware does there, the ISA does not say.
        if matches!(&self.0, Kind::Bits(it) if !it.is_defined(sources)) {
            return None;
        }
        (0..sources.len().max(1)).try_for_each(|it| self.source_bits(it, sources.len()).map(|_| ()))?;
        let alone = |number: &u64| {
            let mut lanes: Lanes = [0; 32];
            lanes[0] = *number;
            lanes
        };
        let given: SmallVec<[Lanes; 3]> = sources.iter().map(alone).collect();
        let given: SmallVec<[&Lanes; 3]> = given.iter().collect();
        let mut made: SmallVec<[Lanes; 2]> = SmallVec::from_elem([0; 32], count);
        {
            let mut made: SmallVec<[&mut Lanes; 2]> = made.iter_mut().collect();
            self.execute(1, &given, &mut made);
        }
        made.get(position).map(|lanes| lanes[0])
    }

    /// The numbers that all sources are.
    fn numbers<D: Domain>(&self, domain: &mut D, sources: &[D::Value]) -> Option<SmallVec<[u64; 4]>> {
        let number = |(at, source)| domain.known(source, self.source_bits(at, sources.len())?);
        if self.is_exchange() { None } else { sources.iter().enumerate().map(number).collect() }
    }

    /// How many bits of the source at a position, of `count`, matter; `None` where that is not known here.
    pub fn source_bits(&self, position: usize, count: usize) -> Option<u32> {
        match &self.0 {
            Kind::Integer(it) => Some(it.source_bits(position)),
            Kind::Extended(it) => Some(it.source_bits(position, count)),
            Kind::Bits(it) => Some(it.source_bits(position)),
            Kind::Logic(it) => Some(it.source_bits(position)),
            Kind::Permute(_) => Some(32),
            Kind::Comparison(it) => it.source_bits(position),
            Kind::Movement(it) => it.source_bits(count),
            Kind::Convert(it) => it.source_bits(),
            Kind::Warp(_)
            | Kind::Floating(_)
            | Kind::Approximate(_)
            | Kind::Narrow(_)
            | Kind::Pack(_)
            | Kind::Video(_)
            | Kind::Policy(_) => None,
        }
    }
}

/// Composes a result of functions, from the sources of an instruction.
pub(crate) struct Composing<'a, D: Domain> {
    domain: &'a mut D,
    sources: &'a [D::Value],
}

impl<D: Domain> Composing<'_, D> {
    /// A source.
    pub(crate) fn source(&self, position: usize) -> Option<D::Value> {
        self.sources.get(position).cloned()
    }

    pub(crate) fn sources(&self) -> usize {
        self.sources.len()
    }

    /// What a function makes of values.
    pub(crate) fn of(&mut self, function: Function, ty: Integer, values: &[D::Value]) -> D::Value {
        self.domain.apply(function, ty, values)
    }

    /// What a function makes of the first sources.
    pub(crate) fn of_sources(&mut self, function: Function, ty: Integer, count: usize) -> Option<D::Value> {
        Some(self.domain.apply(function, ty, self.sources.get(..count)?))
    }

    pub(crate) fn number(&mut self, bits: u64) -> D::Value {
        self.domain.number(bits)
    }

    /// The number that a source is.
    pub(crate) fn known(&mut self, position: usize, bits: u32) -> Option<u64> {
        self.domain.known(self.sources.get(position)?, bits)
    }

    /// A predicate, joined with another one where there is one to join it with.
    pub(crate) fn joined(
        &mut self,
        operator: Option<BooleanOperator>,
        holds: D::Value,
        with: usize,
    ) -> Option<D::Value> {
        const PREDICATE: Integer = Integer { bits: 1, signed: false };
        let Some(operator) = operator else { return Some(holds) };
        let function = match operator {
            BooleanOperator::And => Function::And,
            BooleanOperator::Or => Function::Or,
            BooleanOperator::Xor => Function::Xor,
        };
        let with = self.source(with)?;
        Some(self.of(function, PREDICATE, &[holds, with]))
    }
}
