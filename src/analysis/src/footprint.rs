//! Which part of Tensor Memory an instruction touches, as far as it is known.
//!
//! The one place that turns shapes, layouts and addresses into columns: rules about ranges, overlaps,
//! allocation and order all ask here.

use std::ops::Range;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::arguments::Through;
use super::events::{Action, Event};
use super::flow::Flow;
use super::places::{Place, Root, Slot};
use super::sums::Sum;
use super::values::ValueId;
use crate::descriptor::idesc_check::Facts;
use crate::instruction::{Address, Base, Instruction, Ld, MatrixA, Mma, Scalar, St};
use crate::isa::asynchrony::{Access, Condition, pipelined};
use crate::isa::data_movement::SHIFT_COLUMNS;
use crate::isa::datapath;
use crate::isa::generic::Computation;
use crate::isa::mma_shapes;
use crate::isa::vocabulary::{CpShape, CtaGroup};
use crate::resolve::symbols::{RegisterId, Resolution};
use crate::syntax::ast::OperandKind;

/// The address in Tensor Memory that an instruction is about, and whether it is written.
pub fn accessed<'i, 's>(instruction: &'i Instruction<'s>) -> Option<(&'i Address<'s>, bool)> {
    Some(match instruction {
        Instruction::Ld(it) => (&it.taddr, false),
        Instruction::St(it) => (&it.taddr, true),
        Instruction::Cp(it) => (&it.taddr, true),
        Instruction::Shift(it) => (&it.taddr, true),
        Instruction::Mma(it) => (&it.d, true),
        Instruction::Alloc(_)
        | Instruction::Dealloc(_)
        | Instruction::RelinquishAllocPermit(_)
        | Instruction::Wait(_)
        | Instruction::Commit(_)
        | Instruction::Fence(_) => return None,
    })
}

/// What a load, store, copy or shift touches from its address on.
#[derive(Clone, Copy, Debug)]
pub struct Moved<'s> {
    /// How many columns.
    pub columns: u32,
    /// The distance of a second access of the same size: the other half of `.16x32bx2`.
    pub second: Option<Scalar<'s>>,
}

/// What an instruction that moves data touches; `None` for others, and for shapes that do not exist.
pub fn moved<'s>(instruction: &Instruction<'s>) -> Option<Moved<'s>> {
    Some(match instruction {
        Instruction::Ld(Ld { shape, num, half_split_offset, pack, .. }) => {
            shape.value.vector_length(num.value)?;
            Moved { columns: shape.value.columns(num.value, pack.is_some()), second: *half_split_offset }
        }
        Instruction::St(St { shape, num, half_split_offset, unpack, .. }) => {
            shape.value.vector_length(num.value)?;
            Moved { columns: shape.value.columns(num.value, unpack.is_some()), second: *half_split_offset }
        }
        Instruction::Cp(cp) => Moved { columns: cp.shape.value.columns(), second: None },
        Instruction::Shift(_) => Moved { columns: SHIFT_COLUMNS, second: None },
        Instruction::Mma(_)
        | Instruction::Alloc(_)
        | Instruction::Dealloc(_)
        | Instruction::RelinquishAllocPermit(_)
        | Instruction::Wait(_)
        | Instruction::Commit(_)
        | Instruction::Fence(_) => return None,
    })
}

/// The slot in shared memory that an `alloc` writes the address of its allocation to.
pub fn slot(flow: &Flow<'_>, event: Event, dst: &Address<'_>) -> Option<Slot> {
    match dst.base {
        Base::Register(_) => flow.place(event, dst)?.as_slot(),
        Base::Variable(_) => {
            let raw = &flow.unit.module.instructions[event.instruction as usize];
            flow.places().address(event.instruction, raw.operands.start)?.as_slot()
        }
    }
}

/// Lanes of Tensor Memory, one bit each, out of the 32 that a warp accesses: they are the same in each of
/// the four groups of lanes, as far as one instruction accesses them.
type Lanes = u32;

/// All of them.
const ALL_LANES: Lanes = Lanes::MAX;

/// A rectangle of Tensor Memory, or two: some lanes times some columns, counted from a root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Columns {
    place: Place,
    /// No lanes but these are touched.
    lanes: Lanes,
    /// Whether all of them are.
    all_lanes: bool,
    /// The distance of as many columns that are touched as well: the other half of `.16x32bx2`.
    second: Option<i64>,
    /// The columns that are certainly touched.
    least: u32,
    /// The columns that may be touched; `None` when that is not known.
    most: Option<u32>,
    /// Where it starts, if it is not known which column that is: what the address adds up.
    sum: Option<Sum>,
}

/// Columns that are certainly touched, in no lanes but these.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cells {
    /// What the columns are counted from.
    pub root: Root,
    /// The columns.
    pub columns: Range<u32>,
    lanes: Lanes,
}

impl Cells {
    /// Whether both have a common column and a common lane.
    pub fn overlap(&self, other: &Self) -> bool {
        self.root == other.root
            && self.lanes & other.lanes != 0
            && self.columns.start < other.columns.end
            && other.columns.start < self.columns.end
    }
}

impl Columns {
    /// What the columns are counted from.
    pub fn place(&self) -> Place {
        self.place
    }

    /// As many that are counted from another place.
    #[must_use]
    pub fn at(&self, place: Place) -> Self {
        Self { place, sum: None, ..*self }
    }

    /// How far behind the first of them others begin, or before it: the other half of `.16x32bx2`.
    pub fn second_half(&self) -> Option<i64> {
        self.second
    }

    /// How many there are at least.
    pub fn count(&self) -> u32 {
        self.least
    }

    /// How many there are at least from the first to the last, the other half of `.16x32bx2` included.
    pub fn reach(&self) -> u32 {
        let second = self.second.and_then(|by| u32::try_from(by).ok()).unwrap_or_default();
        self.least + second
    }

    /// The columns that are certainly touched, as far as it is known which they are, with what they
    /// are counted from.
    pub fn certain(&self) -> Option<(Root, Range<u32>)> {
        let column = self.place.column()?;
        Some((self.place.root, column..column + self.least))
    }

    /// The same, and in which lanes.
    pub fn cells(&self) -> Option<Cells> {
        let (root, columns) = self.certain()?;
        Some(Cells { root, columns, lanes: self.lanes })
    }

    /// Whether both certainly touch a common column.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.cells().zip(other.cells()).is_some_and(|(one, other)| one.overlap(&other))
    }

    /// How many columns the one starts behind the other, where neither address is known, but both are in
    /// the same lane. It holds as long as none of the registers is written that go into the
    /// [sum](Sum) of the first.
    fn behind(&self, other: &Self) -> Option<i32> {
        let distance = self.sum?.behind(other.sum?)?;
        (distance.unsigned_abs() < 1 << 15).then_some(distance)
    }

    /// Whether both start in the same column.
    fn starts_with(&self, other: &Self) -> bool {
        match self.behind(other) {
            Some(distance) => distance == 0,
            None => self.place.offset == other.place.offset,
        }
    }

    /// The same where it has to be certain of the lanes, too: those of both are known, or one takes all,
    /// or both start in the same lane. Of addresses that are not known, only the distance counts.
    pub fn certainly_meets(&self, other: &Self) -> bool {
        let takes_all = |it: &Self| it.all_lanes && it.lanes == ALL_LANES;
        let start = |it: &Self| it.place.offset.constant(32).map(|offset| offset >> 16);
        let distance = self.behind(other);
        let overlaps = match distance {
            Some(distance) => {
                let (least, other_least) = (i64::from(self.least), i64::from(other.least));
                self.lanes & other.lanes != 0
                    && i64::from(distance) < other_least
                    && -i64::from(distance) < least
            }
            None => self.overlaps(other),
        };
        overlaps
            && (self.all_lanes && other.all_lanes
                || takes_all(self)
                || takes_all(other)
                || distance.is_some()
                || start(self).is_some() && start(self) == start(other))
    }

    /// Whether both certainly touch nothing in common.
    pub fn is_disjoint(&self, other: &Self) -> bool {
        if self.place.root != other.place.root {
            return false;
        }
        if self.lanes & other.lanes == 0 {
            return true;
        }
        let (Some(left), Some(right)) = (self.all(), other.all()) else { return false };
        left.iter().all(|left| right.iter().all(|right| left.end <= right.start || right.end <= left.start))
    }

    /// All columns that may be touched, if it is known how many they are from an address on.
    fn all(&self) -> Option<SmallVec<[Range<i64>; 2]>> {
        let (first, last) = self.place.columns_between();
        let count = i64::from(self.most?);
        let starts = std::iter::once(0).chain(self.second);
        Some(starts.map(|by| i64::from(first) + by..i64::from(last) + by + count).collect())
    }
}

/// All columns that several instructions may touch, counted from one root.
#[derive(Debug)]
pub struct AllColumns {
    root: Root,
    /// In their order, none of which touches the next.
    ranges: Vec<Range<i64>>,
}

impl AllColumns {
    /// Those of some instructions; nothing if there is none, if they count from several roots, or if it is not known of
    /// one how many columns it touches.
    pub fn of<'c>(all: impl IntoIterator<Item = &'c Columns>) -> Option<Self> {
        let mut root = None;
        let mut found: Vec<Range<i64>> = Vec::new();
        for columns in all {
            if *root.get_or_insert(columns.place.root) != columns.place.root {
                return None;
            }
            found.extend(columns.all()?);
        }
        found.sort_unstable_by_key(|range| range.start);
        let mut ranges: Vec<Range<i64>> = Vec::new();
        for range in found {
            match ranges.last_mut().filter(|last| range.start <= last.end) {
                Some(last) => last.end = last.end.max(range.end),
                None => ranges.push(range),
            }
        }
        Some(Self { root: root?, ranges })
    }

    /// Whether all of the columns that an instruction may touch are others.
    pub fn are_apart_from(&self, columns: &Columns) -> bool {
        let is_apart = |own: Range<i64>| {
            let next = self.ranges.partition_point(|range| range.end <= own.start);
            self.ranges.get(next).is_none_or(|range| own.end <= range.start)
        };
        self.root == columns.place.root && columns.all().is_some_and(|all| all.into_iter().all(is_apart))
    }

    /// Whether all of the columns that an instruction certainly touches are others, whichever of those that are
    /// possible these are.
    pub fn misses(&self, columns: &Columns) -> bool {
        let (first, last) = columns.place.columns_between();
        let own = i64::from(first)..i64::from(last) + i64::from(columns.least);
        let next = self.ranges.partition_point(|range| range.end <= own.start);
        self.root == columns.place.root && self.ranges.get(next).is_none_or(|range| own.end <= range.start)
    }
}

/// By instruction: the columns at its address, as far as they were asked for.
pub type KnownColumns = FxHashMap<(u32, Option<Through>), Option<Columns>>;

/// The columns at the address that an instruction is about: the accumulator of a multiply.
pub fn columns(flow: &Flow<'_>, event: Event) -> Option<Columns> {
    if !flow.is_own(event) && event.through.is_none() {
        return None;
    }
    let key = (event.instruction, event.through);
    if let Some(known) = flow.facts.columns.borrow().get(&key) {
        return *known;
    }
    let found = find_columns(flow, event);
    flow.facts.columns.borrow_mut().insert(key, found);
    found
}

fn find_columns(flow: &Flow<'_>, event: Event) -> Option<Columns> {
    let instruction = flow.instruction(event)?;
    let address = accessed(instruction)?.0;
    let place = flow.handed_on(flow.place(event, address)?);
    let sum = sum(flow, event, address, &place);
    if let Instruction::Mma(mma) = instruction {
        let (least, most) = accumulator_columns(flow, event, mma);
        let m = facts(flow, event).and_then(|facts| facts.m);
        let rows = m.and_then(|m| {
            datapath::layout(m, mma.cta_group.value, mma.sparse.is_some(), mma.weight_stationary)
        });
        let (lanes, all_lanes) =
            rows.map_or((ALL_LANES, false), |layout| lanes(&place, layout.lanes_of_group()));
        return Some(Columns { place, lanes, all_lanes, second: None, least, most, sum });
    }
    let Some(moved) = moved(instruction) else {
        return Some(Columns {
            place,
            lanes: ALL_LANES,
            all_lanes: false,
            second: None,
            least: 1,
            most: None,
            sum,
        });
    };
    let (lanes, all_lanes) = match instruction {
        Instruction::Ld(ld) => lanes(&place, ld.shape.value.lanes()),
        Instruction::St(st) => lanes(&place, st.shape.value.lanes()),
        Instruction::Cp(cp) => (ALL_LANES, cp.shape.value.fills_lanes()),
        // One of the four groups, that of its address.
        _ => (ALL_LANES, false),
    };
    // The second half of `.16x32bx2` lies elsewhere.
    let (second, is_known) = match moved.second {
        None => (None, true),
        Some(Scalar::Immediate(by)) => match i16::try_from(by.value()) {
            Ok(by) => (Some(i64::from(by)), true),
            Err(_) => (None, false),
        },
        Some(_) => (None, false),
    };
    let most = is_known.then_some(moved.columns);
    Some(Columns { place, lanes, all_lanes, second, least: moved.columns, most, sum })
}

/// What an address adds up, where it is not known which column it is.
fn sum(flow: &Flow<'_>, event: Event, address: &Address<'_>, place: &Place) -> Option<Sum> {
    let is_known = match place.root {
        // Until it is written again, the register itself is known.
        Root::Register(_) | Root::Parameter(_) => true,
        Root::Slot(_) | Root::Literal | Root::Variable(_) => place.column().is_some(),
    };
    if is_known {
        return None;
    }
    let Base::Register(register) = address.base else { return None };
    // Of a function that is called, only the place is known.
    if !flow.is_own(event) || event.through.is_some() {
        return None;
    }
    let view = flow.facts.view(flow.unit);
    Some(flow.facts.sums.of(&view, event.instruction, register.id)?.plus(address.offset))
}

/// Some lanes of a group of 32, from that of an address on: no others, and whether they are known.
fn lanes(place: &Place, count: u32) -> (Lanes, bool) {
    if count == 32 {
        return (ALL_LANES, true);
    }
    // The rows of a slot, and of everything that is counted from one, begin at lane 0.
    let counts = match place.root {
        Root::Slot(_) | Root::Literal => true,
        Root::Variable(_) | Root::Parameter(_) | Root::Register(_) => false,
    };
    match place.offset.shifted_right(16).constant(5).filter(|_| counts) {
        Some(first) if first as u32 + count <= 32 => {
            let all = 1u64.checked_shl(count).unwrap_or_default().wrapping_sub(1);
            ((all << first) as Lanes, true)
        }
        _ => (ALL_LANES, false),
    }
}

/// Whether two instructions certainly access a common column.
pub fn is_same(flow: &Flow<'_>, one: Event, other: Event) -> bool {
    match (columns(flow, one), columns(flow, other)) {
        (Some(one), Some(other)) => one.overlaps(&other),
        _ => false,
    }
}

/// What the instruction descriptor of a multiply says.
fn facts<'a>(flow: &Flow<'a>, event: Event) -> Option<&'a Facts> {
    let Action::Tensor { index, .. } = event.action else { return None };
    flow.descriptors_of(index).map(|it| &it.facts)
}

/// How many columns an accumulator has at least and at most.
fn accumulator_columns(flow: &Flow<'_>, event: Event, mma: &Mma<'_>) -> (u32, Option<u32>) {
    /// The least N that there is.
    const LEAST_N: u32 = 8;
    let facts = facts(flow, event);
    let (cta_group, sparse) = (mma.cta_group.value, mma.sparse.is_some());
    let m = facts.and_then(|facts| facts.m);
    let columns = |n| datapath::accumulator_columns(m, n, cta_group, sparse, mma.weight_stationary);
    // What a wrong number would cover is not known.
    let Some(n) = facts.and_then(|facts| facts.n) else {
        return (columns(LEAST_N).map_or(1, |(least, _)| least.max(1)), None);
    };
    let n = Some(n).filter(|_| facts.and_then(legal_n).is_some());
    match n.and_then(columns) {
        Some((least, most)) => (least.max(1), Some(most)),
        // Not even an M that is wrong takes more columns than N.
        None => (1, n),
    }
}

/// N, unless no multiply has it: what a wrong number would cover is no finding of its own.
fn legal_n(facts: &Facts) -> Option<u32> {
    facts.n.filter(|n| (8..=256).contains(n))
}

/// The columns that a multiply reads beside its accumulator: A, its metadata, the scales.
pub fn operands_read(flow: &Flow<'_>, event: Event) -> SmallVec<[Option<Columns>; 2]> {
    /// More than metadata or scales have.
    const MOST: u32 = 32;
    let Some(Instruction::Mma(mma)) = flow.instruction(event) else { return SmallVec::new() };
    // Most read both matrices from shared memory.
    if addresses_read(mma).next().is_none() {
        return SmallVec::new();
    }
    let layout = facts(flow, event)
        .and_then(|facts| facts.m)
        .and_then(|m| datapath::layout(m, mma.cta_group.value, mma.sparse.is_some(), mma.weight_stationary));
    let least_of_a = layout.and_then(|it| it.organization.columns_of_a()).unwrap_or(1);
    addresses_read(mma)
        .map(|address| {
            let place = flow.handed_on(flow.place(event, address)?);
            let is_a = mma.a.address().is_some_and(|a| a.span == address.span);
            let least = if is_a { least_of_a } else { columns_of_scales(flow, event, mma, address) };
            let most = Some(if is_a { mma_shapes::columns_of_a(mma.kind.value) } else { MOST });
            let sum = sum(flow, event, address, &place);
            Some(Columns { place, lanes: ALL_LANES, all_lanes: false, second: None, least, most, sum })
        })
        .collect()
}

/// How many columns an operand has at least that may be scale factors: a word for each row of the matrix, in
/// 32 lanes (9.7.16.10.7.2 and .3).
fn columns_of_scales(flow: &Flow<'_>, event: Event, mma: &Mma<'_>, address: &Address<'_>) -> u32 {
    const LANES: u32 = 32;
    let Some(scales) = &mma.scales else { return 1 };
    let Some(at) = scales.iter().position(|scale| scale.span == address.span) else { return 1 };
    let facts = facts(flow, event);
    let rows = if at == 0 { facts.and_then(|it| it.m) } else { facts.and_then(legal_n) };
    // Each CTA of a pair has half of them at least.
    let ctas = if mma.cta_group.value == CtaGroup::Two { 2 } else { 1 };
    rows.map_or(1, |rows| (rows / ctas).div_ceil(LANES).max(1))
}

/// What an instruction touches by each of its addresses, as far as it is known: what it is about, and what a multiply
/// reads besides. Handed on one by one, as each is large.
pub fn each_access<'a>(
    flow: &Flow<'a>,
    event: Event,
    look: &mut dyn FnMut(&'a Address<'a>, Option<Columns>),
) {
    let Some(instruction) = flow.instruction(event) else { return };
    if let Some((address, _)) = accessed(instruction) {
        look(address, columns(flow, event));
    }
    if let Instruction::Mma(mma) = instruction {
        addresses_read(mma).zip(operands_read(flow, event)).for_each(|(address, read)| look(address, read));
    }
}

/// The addresses of what a multiply reads beside its accumulator: A, its metadata, the scales.
pub fn addresses_read<'i, 's>(mma: &'i Mma<'s>) -> impl Iterator<Item = &'i Address<'s>> {
    let a = match &mma.a {
        MatrixA::TensorMemory(address) => Some(address),
        MatrixA::Descriptor(_) => None,
    };
    a.into_iter()
        .chain(&mma.b_meta)
        .chain(&mma.sparsity_metadata)
        .chain(mma.scales.iter().flat_map(|scales| scales.iter()))
}

/// A `mma`, `cp` or `shift` as another one sees it that may not be ordered behind it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Touched {
    /// What it does to which cells.
    pub accesses: SmallVec<[(Access, Columns); 4]>,
    /// M and N of a multiply.
    pub shape: Option<(u32, u32)>,
    /// What says which lanes of its accumulator a multiply leaves alone, if something does.
    mask: Mask,
}

/// The lanes of its accumulator that a multiply leaves alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
enum Mask {
    /// None.
    #[default]
    None,
    /// What these words say.
    Words(SmallVec<[MaskWord; 4]>),
    /// Some that are not known.
    Unknown,
}

/// A register that a mask of lanes comes from, with its value there, and the word of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct MaskWord {
    register: RegisterId,
    value: ValueId,
    word: u32,
}

impl MaskWord {
    /// What an instruction reads from a register.
    fn of(flow: &Flow<'_>, instruction: u32, register: RegisterId) -> Option<Self> {
        let view = flow.facts.view(flow.unit);
        let itself = Self { register, value: view.value(instruction, register)?, word: 0 };
        Some(Self::unpacked(flow, instruction, register).unwrap_or(itself))
    }

    /// What `mov.b64 {a, b}, both` makes it of.
    fn unpacked(flow: &Flow<'_>, instruction: u32, register: RegisterId) -> Option<Self> {
        let view = flow.facts.view(flow.unit);
        let module = &flow.unit.module;
        let definition = *view.definitions.get(view.only(instruction, register)?);
        let made = definition.instruction;
        let raw = &module.instructions[made as usize];
        let is_move = flow.unit.operations.of(made).computes() == Computation::Move;
        if !is_move || raw.operands.len != 2 || definition.guarded {
            return None;
        }
        let OperandKind::Vector(parts) = module.operands[raw.operands.start as usize].kind() else {
            return None;
        };
        let Resolution::Register(both) = flow.unit.symbols.operand(raw.operands.start + 1) else {
            return None;
        };
        let word = definition.operand.checked_sub(parts.start)?;
        Some(Self { register: both, value: view.value(made, both)?, word })
    }
}

/// What a `mma`, `cp` or `shift` does to cells that are known.
pub fn touched(flow: &Flow<'_>, event: Event) -> Touched {
    let mut touched = Touched::default();
    let (Some(instruction), Some(own)) = (flow.instruction(event), columns(flow, event)) else {
        return touched;
    };
    match instruction {
        Instruction::Mma(mma) => {
            touched.shape = facts(flow, event).and_then(|facts| facts.m.zip(legal_n(facts)));
            touched.mask = mma.disable_output_lane.as_ref().map_or(Mask::None, |mask| {
                let word = |scalar: &Scalar<'_>| match scalar {
                    Scalar::Register(it) if !it.component && it.plus.is_none() && flow.is_own(event) => {
                        MaskWord::of(flow, event.instruction, it.id)
                    }
                    _ => None,
                };
                mask.elements.iter().map(word).collect::<Option<_>>().map_or(Mask::Unknown, Mask::Words)
            });
            touched.accesses.push((Access::MultiplyWritesD, own));
            let starts_from_zero = mma
                .enable_input_d
                .value
                .immediate()
                .is_some_and(|value| (value.value() == 0) != mma.enable_input_d.negated);
            if !starts_from_zero {
                touched.accesses.push((Access::MultiplyReadsC, own));
            }
            let read = operands_read(flow, event).into_iter().flatten();
            touched.accesses.extend(read.map(|columns| (Access::MultiplyReadsOperand, columns)));
        }
        Instruction::Cp(cp) => {
            let access = if cp.shape.value == CpShape::S4x256b { Access::Copy4x256b } else { Access::Copy };
            touched.accesses.push((access, own));
        }
        Instruction::Shift(_) => touched.accesses.push((Access::Shift, own)),
        Instruction::Ld(_)
        | Instruction::St(_)
        | Instruction::Alloc(_)
        | Instruction::Dealloc(_)
        | Instruction::RelinquishAllocPermit(_)
        | Instruction::Wait(_)
        | Instruction::Commit(_)
        | Instruction::Fence(_) => {}
    }
    touched
}

impl Touched {
    /// What the cells are counted from.
    pub fn roots(&self) -> impl Iterator<Item = Root> + '_ {
        self.accesses.iter().map(|(_, columns)| columns.place.root)
    }

    /// The registers that say which lanes of the accumulator are left alone. What is known of them holds
    /// until they are written again.
    pub fn masks(&self) -> impl Iterator<Item = RegisterId> + '_ {
        let words = match &self.mask {
            Mask::Words(words) => words.as_slice(),
            Mask::None | Mask::Unknown => &[],
        };
        words.iter().map(|word| word.register)
    }

    /// Whether two multiplies certainly write the same lanes of their accumulators.
    fn is_masked_like(&self, other: &Self) -> bool {
        self.mask == other.mask && self.mask != Mask::Unknown
    }

    /// What two instructions of one thread do to the same cells, for certain, in an order that nothing
    /// gives them: an access of the first and one of the second that are not pipelined.
    pub fn races_with(&self, then: &Self) -> Option<(Access, Access)> {
        let races = |first: &(Access, Columns), second: &(Access, Columns)| {
            if !first.0.conflicts_with(second.0) || !first.1.certainly_meets(&second.1) {
                return false;
            }
            match pipelined(first.0, second.0) {
                // The pieces of a matrix are copied one by one to where they belong.
                Some(Condition::Nothing | Condition::Address) => false,
                Some(Condition::Accumulator) => {
                    // Of what starts elsewhere, the shapes do not matter.
                    let is_same = first.1.starts_with(&second.1);
                    let differs = self.shape.zip(then.shape).is_some_and(|(shape, other)| shape != other);
                    (!is_same || differs) && self.is_masked_like(then)
                }
                None => true,
            }
        };
        let pair = |first: &(Access, Columns)| {
            let second = then.accesses.iter().find(|second| races(first, second))?;
            Some((first.0, second.0))
        };
        self.accesses.iter().find_map(pair)
    }
}
