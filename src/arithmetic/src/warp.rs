//! Values that the lanes of a warp exchange.

use super::lanes::{each, packed};
use super::{Decoded, FOREIGN_TYPE, INCOMPLETE, Integer, Lanes, NOT_HERE, UNTYPED};
use crate::Opcode;
use crate::domain::{Composing, Domain, Function};
use ptx_isa::generic::{Flag, Modifier, Operation, ReductionOperator, ShuffleMode, Type, VoteMode};

#[derive(Clone, Copy, Debug)]
pub(super) enum Instruction {
    Shuffle(ShuffleMode),
    Vote(VoteMode),
    /// Who has the same value, by its mask.
    MatchAny(u64),
    /// Whether all have the same value.
    MatchAll(u64),
    ActiveMask,
    Reduce(ReductionOperator, Integer),
    /// The smallest or largest number; whether its sign counts, and whether one that is none decides.
    ReduceFloat {
        is_minimum: bool,
        absolute: bool,
        keeps_nan: bool,
    },
    Elect,
    TransposeMatrix,
}

impl Instruction {
    pub(super) fn of(operation: Operation, opcode: &Opcode<'_>) -> Decoded<Self> {
        Ok(match operation {
            Operation::Shfl | Operation::ShflSync => Self::Shuffle(shuffle_mode(opcode)?),
            Operation::Vote | Operation::VoteBallot | Operation::VoteSync | Operation::VoteSyncBallot => {
                Self::Vote(vote_mode(opcode)?)
            }
            Operation::MatchAnySync => Self::MatchAny(Integer::first(opcode)?.mask()),
            Operation::MatchAllSync => Self::MatchAll(Integer::first(opcode)?.mask()),
            Operation::Activemask => Self::ActiveMask,
            Operation::ReduxSync => reduction(opcode)?,
            Operation::ElectSync => Self::Elect,
            Operation::Movmatrix => Self::TransposeMatrix,
            _ => return Err(NOT_HERE),
        })
    }

    /// Whether lanes that take part know what the others have done before: an election is answered without that.
    pub(super) const fn synchronises(&self) -> bool {
        match self {
            Self::Elect | Self::ActiveMask => false,
            Self::Shuffle(_)
            | Self::Vote(_)
            | Self::MatchAny(_)
            | Self::MatchAll(_)
            | Self::Reduce(..)
            | Self::ReduceFloat { .. }
            | Self::TransposeMatrix => true,
        }
    }

    pub(super) const fn is_shuffle(&self) -> bool {
        matches!(self, Self::Shuffle(_))
    }

    /// What it makes of the values of a domain.
    pub(super) fn compose<D: Domain>(&self, of: &mut Composing<'_, D>) -> Option<D::Value> {
        match self {
            Self::Shuffle(_) => of.of_sources(Function::Exchange, Integer::U32, 1),
            Self::Vote(_)
            | Self::MatchAny(_)
            | Self::MatchAll(_)
            | Self::ActiveMask
            | Self::Reduce(..)
            | Self::ReduceFloat { .. }
            | Self::Elect
            | Self::TransposeMatrix => None,
        }
    }

    pub(super) fn execute(&self, active: u32, sources: &[&Lanes], destinations: &mut [&mut Lanes]) {
        let members =
            |mask: Option<&&Lanes>, lane: usize| mask.map_or(active, |mask| mask[lane] as u32 & active);
        match *self {
            Self::Shuffle(mode) => {
                let ([a, b, c, ..], [d, rest @ ..]) = (sources, destinations) else { return };
                each(active, |lane| {
                    let (from, is_in_range) = shuffle(mode, lane as u32, b[lane], c[lane]);
                    d[lane] = a[from as usize] & 0xFFFF_FFFF;
                    if let [p, ..] = &mut *rest {
                        p[lane] = u64::from(is_in_range);
                    }
                });
            }
            Self::Vote(mode) => {
                let ([a, rest @ ..], [d, ..]) = (sources, destinations) else { return };
                let mut ballot = 0;
                each(active, |lane| ballot |= (a[lane] as u32 & 1) << lane);
                each(active, |lane| {
                    let members = members(rest.first(), lane);
                    let votes = ballot & members;
                    d[lane] = match mode {
                        VoteMode::All => u64::from(votes == members),
                        VoteMode::Any => u64::from(votes != 0),
                        VoteMode::Uni => u64::from(votes == members || votes == 0),
                        VoteMode::Ballot => u64::from(votes),
                    };
                });
            }
            Self::MatchAny(mask) => {
                let ([a, rest @ ..], [d, ..]) = (sources, destinations) else { return };
                each(active, |lane| {
                    let mut same = 0_u32;
                    each(members(rest.first(), lane), |other| {
                        same |= u32::from((a[lane] ^ a[other]) & mask == 0) << other;
                    });
                    d[lane] = u64::from(same);
                });
            }
            Self::MatchAll(mask) => {
                let ([a, rest @ ..], [d, predicate @ ..]) = (sources, destinations) else { return };
                each(active, |lane| {
                    let members = members(rest.first(), lane);
                    let mut all = true;
                    each(members, |other| all &= (a[lane] ^ a[other]) & mask == 0);
                    d[lane] = if all { u64::from(members) } else { 0 };
                    if let [p, ..] = &mut *predicate {
                        p[lane] = u64::from(all);
                    }
                });
            }
            Self::ActiveMask => {
                if let [d, ..] = destinations {
                    each(active, |lane| d[lane] = u64::from(active));
                }
            }
            Self::Reduce(operator, ty) => {
                let ([a, rest @ ..], [d, ..]) = (sources, destinations) else { return };
                each(active, |lane| d[lane] = reduce(operator, ty, a, members(rest.first(), lane)));
            }
            Self::ReduceFloat { is_minimum, absolute, keeps_nan } => {
                let ([a, rest @ ..], [d, ..]) = (sources, destinations) else { return };
                each(active, |lane| {
                    let mut result: Option<f32> = None;
                    each(members(rest.first(), lane), |other| {
                        let value = f32::from_bits(a[other] as u32);
                        let value = if absolute { value.abs() } else { value };
                        result = Some(result.map_or(value, |old| smaller(is_minimum, keeps_nan, old, value)));
                    });
                    let result = result.unwrap_or_default();
                    d[lane] = u64::from(if result.is_nan() { 0x7FFF_FFFF } else { result.to_bits() });
                });
            }
            Self::Elect => {
                let [d, rest @ ..] = destinations else { return };
                each(active, |lane| {
                    let leader = members(sources.first(), lane).trailing_zeros() & 31;
                    d[lane] = u64::from(leader);
                    if let [p, ..] = &mut *rest {
                        p[lane] = u64::from(leader == lane as u32);
                    }
                });
            }
            Self::TransposeMatrix => {
                let ([a, ..], [d, ..]) = (sources, destinations) else { return };
                // Lane 4r + c holds columns 2c and 2c + 1 of row r.
                each(active, |lane| {
                    let (row, pair) = (lane / 4, lane % 4);
                    d[lane] = packed(16, 2, |at| {
                        let column = 2 * pair + at as usize / 16;
                        a[4 * column + row / 2] >> (16 * (row % 2)) & 0xFFFF
                    });
                });
            }
        }
    }
}

/// The lane whose value is taken, and whether it is in range; otherwise it is the lane's own.
fn shuffle(mode: ShuffleMode, lane: u32, b: u64, c: u64) -> (u32, bool) {
    let (offset, clamp, segments) = (b as u32 & 31, c as u32 & 31, c as u32 >> 8 & 31);
    let last = lane & segments | clamp & !segments;
    let first = lane & segments;
    let (from, is_in_range) = match mode {
        // Towards lower lanes, the clamp is the lowest.
        ShuffleMode::Up => (lane.wrapping_sub(offset), lane as i32 - offset as i32 >= last as i32),
        ShuffleMode::Down => (lane + offset, lane + offset <= last),
        ShuffleMode::Bfly => (lane ^ offset, lane ^ offset <= last),
        ShuffleMode::Idx => {
            let from = first | offset & !segments;
            (from, from <= last)
        }
    };
    (if is_in_range { from & 31 } else { lane }, is_in_range)
}

fn reduce(operator: ReductionOperator, ty: Integer, a: &Lanes, members: u32) -> u64 {
    let mut result: Option<i128> = None;
    each(members, |lane| {
        let value = ty.value(a[lane]);
        result = Some(match (result, operator) {
            (None, _) => value,
            (Some(old), ReductionOperator::Add) => old + value,
            (Some(old), ReductionOperator::Min) => old.min(value),
            (Some(old), ReductionOperator::Max) => old.max(value),
            (Some(old), ReductionOperator::And) => old & value,
            (Some(old), ReductionOperator::Or) => old | value,
            (Some(old), ReductionOperator::Xor) => old ^ value,
            // Decoding lets none of these through.
            (
                Some(old),
                ReductionOperator::Cas
                | ReductionOperator::Exch
                | ReductionOperator::Inc
                | ReductionOperator::Dec
                | ReductionOperator::Popc,
            ) => old,
        });
    });
    ty.wrapped(result.unwrap_or(0))
}

fn smaller(is_minimum: bool, keeps_nan: bool, a: f32, b: f32) -> f32 {
    match (a.is_nan(), b.is_nan()) {
        (true, _) => {
            if keeps_nan {
                a
            } else {
                b
            }
        }
        (_, true) => {
            if keeps_nan {
                b
            } else {
                a
            }
        }
        // The order of IEEE 754's totalOrder: -0 before +0.
        (false, false) if a.total_cmp(&b).is_le() == is_minimum => a,
        (false, false) => b,
    }
}

fn reduction(opcode: &Opcode<'_>) -> Decoded<Instruction> {
    let operator = opcode.modifier(|modifier| match modifier {
        Modifier::ReductionOperator(operator) => Some(operator),
        _ => None,
    });
    let operator: ReductionOperator = operator.ok_or(INCOMPLETE)?;
    let ty = *opcode.types.first().ok_or(UNTYPED)?;
    if ty != Type::F32 {
        return Ok(Instruction::Reduce(operator, Integer::first(opcode)?));
    }
    let is_minimum = match operator {
        ReductionOperator::Min => true,
        ReductionOperator::Max => false,
        _ => return Err(FOREIGN_TYPE),
    };
    let (absolute, keeps_nan) = (opcode.has_flag(Flag::Abs), opcode.has_flag(Flag::Nan));
    Ok(Instruction::ReduceFloat { is_minimum, absolute, keeps_nan })
}

fn shuffle_mode(opcode: &Opcode<'_>) -> Decoded<ShuffleMode> {
    let word = opcode.modifier(|modifier| match modifier {
        Modifier::ShuffleMode(mode) => Some(mode),
        _ => None,
    });
    word.ok_or(INCOMPLETE)
}

fn vote_mode(opcode: &Opcode<'_>) -> Decoded<VoteMode> {
    let word = opcode.modifier(|modifier| match modifier {
        Modifier::VoteMode(mode) => Some(mode),
        _ => None,
    });
    word.ok_or(INCOMPLETE)
}
