//! Calls: frames, and what is passed between them.

use smallvec::SmallVec;

use super::places::Place;
use super::warp::{Frame, Strand, lanes};
use super::{Machine, Stop};
use crate::arithmetic::Lanes;
use crate::program::{Callee, NOWHERE, Operand, Passed, Slice, windows};

/// Deeper calls end the run.
const DEEPEST: usize = 256;

impl Machine<'_> {
    /// Calls a function with some threads of a strand; the others wait behind the call.
    pub(super) fn call(
        &mut self,
        strand: &mut Strand,
        callee: Callee,
        (results, arguments): (Slice, Slice),
        active: u32,
    ) -> Result<(), Stop> {
        let _ = results;
        let mut active = active;
        let function = match callee {
            Callee::Known(function) => function,
            Callee::Address(operand) => {
                let (value, unknown) = self.value(strand, operand);
                let target = value[active.trailing_zeros() as usize & 31];
                if unknown & active != 0 {
                    return Err(Self::stop(
                        strand,
                        "the address of the function that is called is not known",
                    ));
                }
                // Threads that call another function do so on their own.
                let others: u32 =
                    lanes(active).filter(|lane| value[*lane] != target).map(|lane| 1 << lane).sum();
                if others != 0 {
                    strand.join = self.new_join(strand.warp, strand.mask, strand.step + 1, strand.join);
                    let mut other = strand.clone();
                    other.mask = others;
                    self.fresh.push(other);
                    strand.mask &= !others;
                    active &= !others;
                }
                let number = (target & ((1 << windows::BITS) - 1)) >> 4;
                if target >> windows::BITS != windows::CODE || number >= self.program.functions.len() as u64 {
                    return Err(Self::stop(strand, "a call goes to an address that no function has"));
                }
                number as u32
            }
        };
        if strand.frames.len() >= DEEPEST {
            return Err(Self::stop(strand, "functions call each other too deeply"));
        }
        if active != strand.mask {
            strand.join = self.new_join(strand.warp, strand.mask, strand.step + 1, strand.join);
            let mut other = strand.clone();
            other.mask &= !active;
            other.step += 1;
            strand.mask = active;
            if !self.meet(&mut other) {
                self.fresh.push(other);
            }
        }
        let caller = strand.frames.last().map_or(0, |frame| frame.function);
        let (caller, callee) =
            (&self.program.functions[caller as usize], &self.program.functions[function as usize]);
        let join = self.new_join(strand.warp, strand.mask, NOWHERE, strand.join);
        let frame = Frame {
            function,
            call: strand.step,
            base: strand.base + caller.registers,
            local: (strand.local + caller.local_bytes).next_multiple_of(64),
            join,
        };
        let warp = &mut self.warps[strand.warp as usize];
        let registers = (frame.base + callee.registers) as usize;
        let (local, bytes) = (u64::from(frame.local), callee.local_bytes as usize);
        let per_lane = |lane: usize| (frame.local as usize + bytes).saturating_sub(warp.local[lane].len());
        let more = registers.saturating_sub(warp.bits.len()) * size_of::<Lanes>()
            + if bytes > 0 { lanes(strand.mask).map(per_lane).sum() } else { 0 };
        let Some(room) = self.room.checked_sub(more) else {
            return Err(Self::stop(strand, "calls within calls need more memory than a run has"));
        };
        self.room = room;
        warp.reserve(registers);
        if bytes > 0 {
            for lane in lanes(strand.mask) {
                warp.local[lane].grow(frame.local as usize + bytes);
                warp.local[lane].forget(local, bytes);
            }
        }
        let from = (strand.base, strand.local);
        let to = (frame.base, frame.local);
        let (formal, actual) = (callee.parameters, arguments);
        self.pass(strand, (actual, from), (formal, to));
        strand.join = join;
        strand.frames.push(frame);
        (strand.base, strand.local) = to;
        strand.step = callee.entry;
        Ok(())
    }

    /// Hands what a function returns to its caller, whose frame the strand is in again.
    pub(super) fn pass_results(&mut self, strand: &Strand, frame: Frame, inner: (u32, u32)) {
        let formal = self.program.functions[frame.function as usize].returns;
        let crate::program::Action::Call { results, .. } = self.program.steps[frame.call as usize].action
        else {
            return;
        };
        self.pass(strand, (formal, inner), (results, (strand.base, strand.local)));
    }

    /// Copies what is passed from one frame to another: the first registers and bytes of both are given.
    fn pass(
        &mut self,
        strand: &Strand,
        (from, from_at): (Slice, (u32, u32)),
        (to, to_at): (Slice, (u32, u32)),
    ) {
        let program = self.program;
        let mask = strand.mask;
        let at =
            |(base, local): (u32, u32)| Strand { base, local, ..Strand::new(strand.warp, mask, strand.step) };
        let (reader, writer) = (at(from_at), at(to_at));
        for (from, to) in program.passed[from.range()].iter().zip(&program.passed[to.range()]) {
            if let Some(influence) = &mut self.influence {
                let local = |(_, local): (u32, u32), offset: u32| Place::Local((local + offset).into());
                influence.read_passed(
                    &reader,
                    match *from {
                        Passed::Value(source) => Ok(source),
                        Passed::Memory { offset, .. } => Err(local(from_at, offset)),
                    },
                );
                if let Passed::Memory { offset, .. } = *to {
                    influence.store(local(to_at, offset), strand.warp);
                }
            }
            if self.trace.is_some() {
                self.trace_passed((&reader, *from), (&writer, *to));
            }
            match (*from, *to) {
                (Passed::Value(source), Passed::Value(destination)) => {
                    let (value, unknown) = self.value(&reader, source);
                    let partly = self.partly(&reader, source).copied();
                    self.set(&writer, destination, mask, &value, unknown);
                    if let Some(masks) = partly {
                        self.set_partly(&writer, destination, mask, &masks);
                    }
                }
                (Passed::Value(source), Passed::Memory { offset, bytes }) => {
                    let (value, unknown) = self.value(&reader, source);
                    let at = u64::from(to_at.1 + offset);
                    let warp = &mut self.warps[strand.warp as usize];
                    for lane in lanes(mask) {
                        let is_unknown = unknown >> lane & 1 != 0;
                        warp.local[lane].write(at, bytes.min(8) as usize, value[lane], is_unknown);
                    }
                }
                (Passed::Memory { offset, bytes }, Passed::Value(destination)) => {
                    let at = u64::from(from_at.1 + offset);
                    let (mut value, mut unknown): (Lanes, u32) = ([0; 32], 0);
                    for lane in lanes(mask) {
                        match self.warps[strand.warp as usize].local[lane].read(at, bytes.min(8) as usize) {
                            Some(read) if !read.unknown => value[lane] = read.value,
                            _ => unknown |= 1 << lane,
                        }
                    }
                    self.set(&writer, destination, mask, &value, unknown);
                }
                (Passed::Memory { offset, bytes }, Passed::Memory { offset: other, bytes: most }) => {
                    let (read_at, write_at) = (u64::from(from_at.1 + offset), u64::from(to_at.1 + other));
                    let warp = &mut self.warps[strand.warp as usize];
                    let count = u64::from(bytes.min(most));
                    for lane in lanes(mask) {
                        let memory = &mut warp.local[lane];
                        let mut at = 0;
                        while at < count {
                            let piece = (count - at).min(8) as usize;
                            if let Some(read) = memory.read(read_at + at, piece) {
                                memory.write(write_at + at, piece, read.value, read.unknown);
                            }
                            at += piece as u64;
                        }
                    }
                }
            }
        }
    }

    /// The operands that a slice names, to look at while the machine changes.
    pub(super) fn operands(&self, slice: Slice) -> SmallVec<[Operand; 8]> {
        SmallVec::from_slice(&self.program.operands[slice.range()])
    }
}
