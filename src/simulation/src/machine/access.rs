//! Loads, stores and atomic operations of threads.

use super::bytes::Read;
use super::places::{Place, behind, words};
use super::reduction::{Unit, combined};
use super::unsynchronised::At;
use super::warp::{Strand, lanes};
use super::{Flow, Machine, Stop};
use crate::arithmetic::Lanes;
use crate::arithmetic::known_bits::{self, Known};
use crate::diagnostic::Code;
use crate::findings::Finding;
use crate::isa::generic::ReductionOperator;
use crate::program::{Access, Address, Atomic, Fragments, Operand, Slice, Where, windows};

/// What is assumed of what is not computed.
pub(super) const ASSUMED_RESULTS: &str = "the results of instructions that are not computed";

/// What is taken for granted of memory of a CTA whose bytes are not known.
const ASSUMED_SHARED: &str = "what shared memory holds where nothing known was written";

/// What a word that is read is, as far as the kernel shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    Number,
    Pointer,
    /// Something that threads count with, or wait for.
    Counter,
}

/// The one lane whose access it is: those beside it may be right.
fn alone(strand: &Strand, lane: usize) -> Strand {
    let mut own = strand.clone();
    own.mask = 1 << lane;
    own
}

impl Machine<'_> {
    /// Up to 8 bytes at a place; what cannot be read is not known.
    pub(super) fn read(
        &mut self,
        strand: &Strand,
        place: Place,
        lane: usize,
        (bytes, expected): (u32, Expected),
    ) -> Result<Read, Stop> {
        let nothing = Read { value: 0, unknown: true };
        let len = bytes as usize;
        let read = match place {
            Place::Global(address) => match self.global.read(address, len) {
                Ok(read) => Some(read),
                Err(why) => {
                    self.outside_global(&alone(strand, lane), address, bytes, why)?;
                    return Ok(self.assumed(place, bytes, expected).unwrap_or(nothing));
                }
            },
            Place::Shared { cta, offset } => self.ctas[cta as usize].shared.read(offset.into(), len),
            Place::Local(at) => self.warps[strand.warp as usize].local[lane].read(at, len),
            Place::Const(at) => self.constants.read(at, len),
            Place::Parameter(at) => self.parameter(at, len, expected),
        };
        if read.is_none() {
            self.outside(&alone(strand, lane), &format!("{bytes} bytes lie outside of {}", words(place)));
        }
        let read = read.unwrap_or(nothing);
        let is_number = expected != Expected::Pointer;
        if !read.unknown {
            match &mut self.influence {
                Some(influence) if is_number => influence.load(place, strand.warp),
                Some(influence) => influence.load_address(),
                None => {}
            }
            return Ok(read);
        }
        match &mut self.influence {
            Some(influence) if is_number => influence.load_assumed(place),
            Some(influence) => influence.load_address(),
            None => {}
        }
        let Some(assumed) = self.assumed(place, bytes, expected) else { return Ok(read) };
        self.assume(
            strand.step,
            match place {
                Place::Global(_) => "what buffers hold",
                Place::Shared { .. } => ASSUMED_SHARED,
                Place::Local(_) | Place::Const(_) | Place::Parameter(_) => ASSUMED_RESULTS,
            },
        );
        // The bytes that are known are what they are.
        let known = self.known_bytes(strand, place, lane, bytes);
        Ok(Read { value: assumed.value & !known | read.value & known, ..assumed })
    }

    /// What is taken for a value that nobody has said.
    fn assumed(&mut self, place: Place, bytes: u32, expected: Expected) -> Option<Read> {
        let assumption = self.assumes?;
        let value = match (place, expected) {
            (Place::Global(address), Expected::Pointer) => {
                let next = self.global.next_address();
                let buffer = *self.assumed_buffers.entry(address).or_insert(next);
                if buffer == next {
                    self.assumed_buffer();
                }
                buffer
            }
            // Who works together begins with nothing.
            (Place::Global(_), Expected::Counter) => 0,
            (Place::Global(address), Expected::Number) => {
                let at = address & ((1 << windows::BUFFER_BITS) - 1);
                assumption.element(at, bytes.into())
            }
            (Place::Shared { .. } | Place::Local(_) | Place::Const(_) | Place::Parameter(_), _) => {
                assumption.result()
            }
        };
        Some(Read { value: value & u64::MAX >> (64 - bytes.clamp(1, 8) * 8), unknown: false })
    }

    fn assumed_buffer(&mut self) -> u64 {
        self.global.add(super::Buffer::new("a buffer".to_owned(), 1 << 32, super::Fill::Unknown))
    }

    /// A part of a parameter. If nobody has said what it is, it is the address of a buffer if it is as
    /// long and the kernel shows nothing else, and a number otherwise.
    fn parameter(&mut self, at: u64, len: usize, expected: Expected) -> Option<Read> {
        let read = self.parameters.read(at, len)?;
        let Some(assumption) = self.assumes.filter(|_| read.unknown) else {
            return Some(read);
        };
        let value = match len {
            8 if expected == Expected::Pointer => self.assumed_buffer(),
            8 | 4 | 2 => assumption.number,
            _ => assumption.flag(),
        };
        self.parameters.write(at, len, value, false);
        self.parameters.read(at, len)
    }

    /// Writes up to 8 bytes at a place.
    pub(super) fn write(
        &mut self,
        strand: &Strand,
        place: Place,
        lane: usize,
        bytes: u32,
        (value, unknown): (u64, bool),
    ) -> Result<bool, Stop> {
        let len = bytes as usize;
        if let Some(influence) = &mut self.influence {
            influence.store(place, strand.warp);
        }
        let changed = match place {
            Place::Global(address) => match self.global.write(address, len, value, unknown) {
                Ok(changed) => Some(changed),
                Err(why) => {
                    self.outside_global(&alone(strand, lane), address, bytes, why)?;
                    Some(false)
                }
            },
            Place::Shared { cta, offset } => {
                self.overwrites(strand, cta, (offset, bytes));
                self.ctas[cta as usize].shared.write(offset.into(), len, value, unknown)
            }
            Place::Local(at) => {
                self.warps[strand.warp as usize].local[lane].write(at, len, value, unknown).map(|_| false)
            }
            Place::Const(_) | Place::Parameter(_) => None,
        };
        if changed.is_none() {
            self.outside(&alone(strand, lane), &format!("{bytes} bytes lie outside of {}", words(place)));
        }
        Ok(changed.unwrap_or(false))
    }

    /// The bytes that are known of those at a place, as ones.
    fn known_bytes(&self, strand: &Strand, place: Place, lane: usize, bytes: u32) -> u64 {
        let is_known = |at: &u32| {
            let read = match behind(place, u64::from(*at)) {
                Place::Global(address) => self.global.read(address, 1).ok(),
                Place::Shared { cta, offset } => self.ctas[cta as usize].shared.read(offset.into(), 1),
                Place::Local(at) => self.warps[strand.warp as usize].local[lane].read(at, 1),
                Place::Const(at) => self.constants.read(at, 1),
                Place::Parameter(at) => self.parameters.read(at, 1),
            };
            read.is_some_and(|read| !read.unknown)
        };
        (0..bytes).filter(is_known).fold(0, |all, at| all | 0xFF << (at * 8))
    }

    /// Writes the known bytes of a value that is not known as a whole.
    fn write_known_bytes(
        &mut self,
        strand: &Strand,
        (place, lane): (Place, usize),
        bytes: u32,
        (value, mask): (u64, u64),
    ) {
        for at in (0..bytes).filter(|at| mask >> (at * 8) & 0xFF == 0xFF) {
            let byte = value >> (at * 8) & 0xFF;
            match behind(place, u64::from(at)) {
                Place::Global(address) => {
                    // What is outside is reported already.
                    let _ = self.global.write(address, 1, byte, false);
                }
                Place::Shared { cta, offset } => {
                    self.ctas[cta as usize].shared.write(offset.into(), 1, byte, false);
                }
                Place::Local(at) => {
                    self.warps[strand.warp as usize].local[lane].write(at, 1, byte, false);
                }
                Place::Const(_) | Place::Parameter(_) => {}
            }
        }
    }

    /// Whether a write destroys an mbarrier.
    pub(super) fn overwrites(&mut self, strand: &Strand, cta: u32, (offset, bytes): (u32, u32)) {
        let places = &self.ctas[cta as usize].mbarriers;
        let first = places.partition_point(|(at, _)| at + 8 <= offset);
        let Some((_, number)) = places.get(first).filter(|(at, _)| *at < offset + bytes.max(1)).copied()
        else {
            return;
        };
        let barrier = &self.mbarriers[number as usize];
        if !barrier.is_valid {
            return;
        }
        let (init, name) = (barrier.init, self.mbarrier_name(barrier));
        self.mbarriers[number as usize].is_valid = false;
        let finding = Finding::new(
            Code::BarrierReused,
            strand.step,
            "an mbarrier is overwritten",
            format!("this writes over {name}, which was not invalidated"),
        )
        .label(init, "it is initialised here");
        self.report(finding);
    }

    fn misaligned(&mut self, strand: &Strand, address: u64, bytes: u32) {
        let finding = Finding::new(
            Code::Misaligned,
            strand.step,
            "an address must be a multiple of what is accessed there",
            format!("{address:#x} is no multiple of {bytes}"),
        );
        self.report(finding);
    }

    /// Loads registers.
    pub(super) fn load(&mut self, strand: &mut Strand, access: &Access, active: u32) -> Result<Flow, Stop> {
        let (addresses, unknown) = self.addresses(strand, access.address);
        let registers = self.operands(access.registers);
        let element = u32::from(access.bytes);
        let total = element * registers.len() as u32;
        let lost = unknown & active;
        if lost != 0 && access.space != Where::Global {
            return Err(Self::stop(strand, "an address is not known"));
        }
        let mut values: smallvec::SmallVec<[(Lanes, u32); 4]> =
            smallvec::smallvec![([0; 32], lost); registers.len()];
        let (mut shared, mut global) = (None, Vec::new());
        let (mut places, mut partly) = (Vec::new(), Vec::new());
        for lane in lanes(active & !lost) {
            let address = addresses[lane];
            if !address.is_multiple_of(u64::from(total.next_power_of_two())) {
                self.misaligned(strand, address, total);
                for (_, unknown) in &mut values {
                    *unknown |= 1 << lane;
                }
                continue;
            }
            let Some(place) = self.place(strand, access.space, address, total, false) else {
                for (_, unknown) in &mut values {
                    *unknown |= 1 << lane;
                }
                continue;
            };
            match place {
                Place::Shared { cta, offset } => {
                    shared.get_or_insert_with(Vec::new).push((cta, offset, total));
                }
                Place::Global(address) => global.push((address, total)),
                Place::Local(_) | Place::Const(_) | Place::Parameter(_) => {}
            }
            if access.strength.is_some() {
                places.push(place);
            }
            for (index, (value, unknown)) in values.iter_mut().enumerate() {
                let part = behind(place, index as u64 * u64::from(element));
                let is_pointer = element == 8 && access.pointers >> index & 1 != 0;
                let expected = match (is_pointer, access.strength.is_some()) {
                    (true, _) => Expected::Pointer,
                    (false, true) => Expected::Counter,
                    (false, false) => Expected::Number,
                };
                let read = self.read(strand, part, lane, (element, expected))?;
                if self.trace.is_some() {
                    self.trace_load(strand, registers[index], lane, (part, element));
                }
                value[lane] = match access.extend {
                    0 => read.value,
                    bits => extended(read.value, element * 8, u32::from(bits)),
                };
                *unknown |= u32::from(read.unknown) << lane;
                if read.unknown
                    && let mask @ 1.. = self.known_bytes(strand, part, lane, element)
                {
                    let known = Known::new(mask, read.value);
                    let known = match access.extend {
                        0 => known_bits::cut(known, element * 8),
                        bits => known_bits::cut(known_bits::extend(known, element * 8, true), bits.into()),
                    };
                    value[lane] = known.value;
                    partly.push((index, lane, known.mask));
                }
            }
        }
        if let Some(shared) = shared {
            self.touch(strand, &shared, (false, false), access.strength.map(|it| it.scope), active);
        }
        let strong = access.strength.map(|it| it.scope);
        self.touch_global(strand, &global, (false, false, false), strong, active);
        if let Some(strength) = access.strength {
            self.hear(strand, &places, strength);
        }
        let racing = self.racing_lanes(strand);
        for (operand, (value, unknown)) in registers.iter().zip(&values) {
            self.set(strand, *operand, active, value, *unknown | racing & active);
        }
        for (index, lane, mask) in partly {
            let mut masks = [0; 32];
            masks[lane] = mask;
            self.set_partly(strand, registers[index], 1 << lane, &masks);
        }
        if access.strength.is_some() {
            let about = addresses[active.trailing_zeros() as usize & 31];
            if self.ask(strand, strand.step, about, self.patience(about)) {
                strand.idle = 0;
                strand.wait = super::warp::Wait::Change;
                strand.step += 1;
                return Ok(Flow::Waiting);
            }
        }
        Ok(Flow::Next)
    }

    /// After how many questions about an address it is vain to ask again before something happens.
    fn patience(&self, about: u64) -> u32 {
        // Where others write, nobody asks to pass the time.
        if self.is_one_of_several || self.from_others.contains_key(&about) { 16 } else { 2000 }
    }

    /// Stores registers.
    pub(super) fn store(&mut self, strand: &Strand, access: &Access, active: u32) -> Result<(), Stop> {
        let (addresses, unknown) = self.addresses(strand, access.address);
        let registers = self.operands(access.registers);
        let element = u32::from(access.bytes);
        let total = element * registers.len() as u32;
        let lost = unknown & active;
        if lost != 0 {
            if access.space != Where::Global {
                return Err(Self::stop(strand, "an address is not known"));
            }
            self.assume(
                strand.step,
                "stores to addresses in global memory that are not known change nothing that is read",
            );
        }
        let values: smallvec::SmallVec<[(Lanes, u32); 4]> =
            registers.iter().map(|operand| self.value(strand, *operand)).collect();
        // What the lanes change, and what they leave as it is.
        let (mut shared, mut kept) = (Vec::new(), Vec::new());
        let (mut global, mut global_kept) = (Vec::new(), Vec::new());
        let mut places = Vec::new();
        let mut changed = false;
        for lane in lanes(active & !lost) {
            let address = addresses[lane];
            if !address.is_multiple_of(u64::from(total.next_power_of_two())) {
                self.misaligned(strand, address, total);
                continue;
            }
            let Some(place) = self.place(strand, access.space, address, total, true) else { continue };
            if access.strength.is_some() {
                places.push(place);
            } else {
                self.forget_messages(place);
            }
            let mut differs = false;
            for (index, (value, unknown)) in values.iter().enumerate() {
                let part = behind(place, index as u64 * u64::from(element));
                let is_unknown = unknown >> lane & 1 != 0;
                differs |= self.write(strand, part, lane, element, (value[lane], is_unknown))?;
                if self.trace.is_some() {
                    self.trace_store(strand, registers[index], lane, (part, element));
                }
                if is_unknown
                    && let Some(masks) = self.partly(strand, registers[index])
                    && let mask @ 1.. = masks[lane]
                {
                    self.write_known_bytes(strand, (part, lane), element, (value[lane], mask));
                }
            }
            changed |= differs;
            let is_new = differs || access.strength.is_some();
            let unsynchronised = &mut self.warps[strand.warp as usize].unsynchronised;
            match place {
                Place::Shared { cta, offset } => {
                    if is_new { &mut shared } else { &mut kept }.push((cta, offset, total));
                    if is_new && access.strength.is_none() {
                        unsynchronised.store(lane, At::Shared(cta, offset, total), strand.step);
                    }
                }
                Place::Global(address) => {
                    if is_new { &mut global } else { &mut global_kept }.push((address, total));
                    if is_new && access.strength.is_none() {
                        unsynchronised.store(lane, At::Global(address, total), strand.step);
                    }
                }
                Place::Local(_) | Place::Const(_) | Place::Parameter(_) => {}
            }
        }
        let strong = access.strength.map(|it| it.scope);
        for (shared, keeps) in [(shared, false), (kept, true)] {
            if !shared.is_empty() {
                self.touch(strand, &shared, (true, keeps), strong, active);
            }
        }
        let is_unknown = values.iter().any(|(_, unknown)| unknown & active != 0);
        for (global, keeps) in [(global, false), (global_kept, true)] {
            self.touch_global(strand, &global, (true, keeps, is_unknown), strong, active);
        }
        if let Some(strength) = access.strength {
            self.tell(strand, &places, strength, (false, active));
        }
        if changed {
            self.epoch += 1;
        }
        Ok(())
    }

    /// An atomic operation, lane by lane.
    pub(super) fn atomic(&mut self, strand: &mut Strand, atomic: &Atomic, active: u32) -> Result<Flow, Stop> {
        let (addresses, unknown) = self.addresses(strand, atomic.address);
        let sources = self.operands(atomic.sources);
        let destinations = self.operands(atomic.destinations);
        if unknown & active != 0 {
            if atomic.space != Where::Global {
                return Err(Self::stop(strand, "an address is not known"));
            }
            self.assume(strand.step, "atomic operations at addresses in global memory that are not known change nothing that is read");
            self.set_unknown(strand, atomic.destinations, active);
            return Ok(Flow::Next);
        }
        let element = u32::from(atomic.bytes);
        let operator = atomic.reduction.operator;
        let parts = if operator == ReductionOperator::Cas { sources.len() / 2 } else { sources.len() };
        let mut results: Vec<(Lanes, u32)> = vec![([0; 32], 0); parts];
        let mut changed = false;
        let (mut places, mut shared, mut global) = (Vec::new(), Vec::new(), Vec::new());
        for lane in lanes(active) {
            let bytes = element * parts as u32;
            let Some(place) = self.place(strand, atomic.space, addresses[lane], bytes, true) else {
                continue;
            };
            places.push(place);
            let unit = match place {
                Place::Shared { cta, offset } => {
                    shared.push((cta, offset, bytes));
                    Unit::Shared
                }
                Place::Global(address) => {
                    global.push((address, bytes));
                    Unit::Global
                }
                Place::Local(_) | Place::Const(_) | Place::Parameter(_) => Unit::Global,
            };
            let at = |part: usize| behind(place, part as u64 * u64::from(element));
            let olds = (0..parts)
                .map(|part| self.read(strand, at(part), lane, (element, Expected::Counter)))
                .collect::<Result<smallvec::SmallVec<[Read; 8]>, Stop>>()?;
            // An element of 16 bytes is compared as a whole.
            let (mut differs, mut is_lost) = (false, false);
            for (old, source) in olds.iter().zip(&sources) {
                let (b, unknown) = self.value(strand, *source);
                let is_compared = operator == ReductionOperator::Cas && parts > 1;
                differs |= is_compared && old.value != b[lane];
                is_lost |= is_compared && (old.unknown || unknown >> lane & 1 != 0);
            }
            for (part, old) in olds.iter().enumerate() {
                let at = at(part);
                let (b, b_unknown) = self.value(strand, sources[part]);
                let (c, c_unknown) =
                    sources.get(parts + part).map_or(([0; 32], 0), |it| self.value(strand, *it));
                let doubt = old.unknown && operator != ReductionOperator::Exch
                    || (b_unknown | c_unknown) >> lane & 1 != 0
                    || is_lost;
                let new = if differs {
                    Some(old.value)
                } else {
                    combined(atomic.reduction, unit, old.value, b[lane], c[lane])
                };
                let (value, unknown) = (new.unwrap_or(0), doubt || new.is_none());
                changed |= self.write(strand, at, lane, element, (value, unknown))?;
                if self.trace.is_some() {
                    let reduces = !matches!(operator, ReductionOperator::Exch | ReductionOperator::Cas);
                    // What is compared comes before what is stored.
                    let is_compared = operator == ReductionOperator::Cas;
                    let new = if is_compared { sources.get(parts + part) } else { None };
                    let is_kept = is_compared && old.value != b[lane] || differs;
                    let new = new.unwrap_or(&sources[part]);
                    let registers = ((!is_kept).then_some(*new), destinations.get(part).copied());
                    self.trace_atomic(strand, registers, lane, (at, element, reduces));
                }
                results[part].0[lane] = old.value;
                results[part].1 |= u32::from(old.unknown) << lane;
            }
        }
        if !shared.is_empty() {
            self.touch(strand, &shared, (true, false), Some(atomic.strength.scope), active);
        }
        self.touch_global(strand, &global, (true, false, false), Some(atomic.strength.scope), active);
        // A reduction returns nothing, so its thread does not know who came first.
        if !destinations.is_empty() {
            self.hear(strand, &places, atomic.strength);
        }
        self.tell(strand, &places, atomic.strength, (true, active));
        for (destination, (value, unknown)) in destinations.iter().zip(&results) {
            self.set(strand, *destination, active, value, *unknown);
        }
        if changed {
            self.epoch += 1;
            return Ok(Flow::Next);
        }
        if !destinations.is_empty()
            && let about = addresses[active.trailing_zeros() as usize & 31]
            && self.ask(strand, strand.step, about, self.patience(about))
        {
            strand.idle = 0;
            strand.wait = super::warp::Wait::Change;
            strand.step += 1;
            return Ok(Flow::Waiting);
        }
        Ok(Flow::Next)
    }

    /// Rows of matrices that the lanes of a warp name.
    pub(super) fn matrix(
        &mut self,
        strand: &Strand,
        store: bool,
        (address, space): (Address, Where),
        (rows, row_bytes): (u32, u32),
        (registers, fragments): (Slice, Option<Fragments>),
    ) -> Result<(), Stop> {
        let (addresses, unknown) = self.addresses(strand, address);
        let wanted = if rows >= 32 { u32::MAX } else { (1 << rows) - 1 };
        if unknown & wanted != 0 {
            return Err(Self::stop(strand, "an address is not known"));
        }
        let operands = self.operands(registers);
        let mut values: Vec<(Lanes, u32)> = if store {
            operands.iter().map(|operand| self.value(strand, *operand)).collect()
        } else {
            vec![([0; 32], 0); operands.len()]
        };
        let mut shared = Vec::new();
        let mut changed = fragments.is_none();
        let mut starts = [None; 32];
        for lane in lanes(wanted) {
            if !addresses[lane].is_multiple_of(row_bytes.into()) {
                self.misaligned(strand, addresses[lane], row_bytes);
            }
            let place = self.place(strand, space, addresses[lane], row_bytes, store);
            if let Some(Place::Shared { cta, offset }) = place {
                if store {
                    self.overwrites(strand, cta, (offset, row_bytes));
                    if fragments.is_none() {
                        self.ctas[cta as usize].shared.fill(offset.into(), row_bytes as usize, None);
                    }
                }
                shared.push((cta, offset, row_bytes));
                starts[lane] = Some((cta, offset));
            }
        }
        let Self { ctas, .. } = self;
        for (register, (value, unknown)) in values.iter_mut().enumerate() {
            let Some(fragments) = fragments else { break };
            for (lane, value) in value.iter_mut().enumerate() {
                fragments.each(lane as u32, register as u32, |place| {
                    let start = starts.get(place.row as usize).copied().flatten();
                    let Some((cta, offset)) = start else {
                        *unknown |= u32::from(!store) << lane;
                        return;
                    };
                    let memory = &mut ctas[cta as usize].shared;
                    let (at, bytes) = (u64::from(offset + place.byte), place.bytes as usize);
                    if store {
                        let element = *value >> place.bit & u64::MAX >> (64 - 8 * bytes);
                        let is_unknown = *unknown >> lane & 1 != 0;
                        changed |= memory.write(at, bytes, element, is_unknown).unwrap_or(false);
                    } else if let Some(read) = memory.read(at, bytes) {
                        *value |= fragments.loaded(read.value, place.shift) << place.bit;
                        *unknown |= u32::from(read.unknown) << lane;
                    }
                });
            }
        }
        if let (true, Some(fragments)) = (self.trace.is_some(), fragments) {
            self.trace_matrix(strand, store, (&operands, fragments), &starts);
        }
        self.touch(strand, &shared, (store, store && !changed), None, strand.mask);
        if store {
            self.epoch += 1;
        } else if fragments.is_none() {
            self.set_unknown(strand, registers, strand.mask);
        } else {
            for (operand, (mut value, mut unknown)) in operands.iter().zip(values) {
                if let Some(assumption) = self.assumes
                    && unknown != 0
                {
                    self.assume(strand.step, ASSUMED_SHARED);
                    if let Some(influence) = &mut self.influence {
                        influence.load_result();
                    }
                    for lane in lanes(std::mem::take(&mut unknown)) {
                        value[lane] = assumption.result();
                    }
                }
                self.set(strand, *operand, strand.mask, &value, unknown);
            }
        }
        Ok(())
    }

    /// Zeros.
    pub(super) fn fill(
        &mut self,
        strand: &Strand,
        address: Address,
        bytes: Operand,
        active: u32,
    ) -> Result<(), Stop> {
        for lane in lanes(active) {
            let (Some(address), Some(bytes)) =
                (self.address_at(strand, address, lane), self.value_at(strand, bytes, lane))
            else {
                return Err(Self::stop(strand, "an address is not known"));
            };
            let bytes = bytes.min(u64::from(u32::MAX)) as u32;
            let space = if address >> windows::BITS == windows::SHARED {
                Where::Generic
            } else {
                Where::SharedCluster
            };
            if let Some((cta, offset)) = self.shared_place(strand, space, address, bytes, true) {
                self.ctas[cta as usize].shared.fill(offset.into(), bytes as usize, Some(&[]));
                self.touch(strand, &[(cta, offset, bytes)], (true, false), None, 1 << lane);
                self.epoch += 1;
            }
        }
        Ok(())
    }
}

/// A number with its sign in more bits.
fn extended(value: u64, from: u32, to: u32) -> u64 {
    let unused = 64 - from;
    let wide = ((value << unused).cast_signed() >> unused).cast_unsigned();
    if to >= 64 { wide } else { wide & ((1 << to) - 1) }
}
