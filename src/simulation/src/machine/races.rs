//! Accesses that nothing orders.

use smallvec::SmallVec;

use super::Machine;
use super::operation::Operation;
use super::tensor_core::Footprint;
use super::warp::Strand;
use crate::Checks;
use crate::clock::{Agent, Clock};
use crate::diagnostic::Code;
use crate::findings::Finding;
use crate::program::{Action, Scope, Tensor};
use crate::shadow::{Access, Conflict, Region, Via, Visit};

/// Bytes of one piece that is likely to be accessed as such again.
const LARGE: u32 = 256;

/// What is wrong where several threads of a warp give the tensor core something at once.
pub(super) const MANY: &str = "several threads of a warp issue the same operation of the tensor core: each of them \
                               starts one, and a commit tracks those of its own thread only";

/// What an arrival of one lane does not order.
const OTHER_LANES: &str = "an arrival does not release what the other lanes of its warp have stored since they last \
                           synchronised, and `elect.sync` orders no memory";
/// Why copies are not over.
const READS_ONLY: &str = "`cp.async.bulk.wait_group.read` waits until copies have read shared memory; what they write to \
                          global memory can be seen after `cp.async.bulk.wait_group`";
/// What orders the stores of the other lanes.
const SYNCHRONISE_LANES: &str = "put `bar.warp.sync` between the stores and the arrival";

impl Machine<'_> {
    /// An access of threads.
    pub(super) fn access_of(&self, strand: &Strand, via: Via, writes: bool, mask: u32) -> Access {
        let warp = &self.warps[strand.warp as usize];
        Access {
            agent: warp.agent,
            tick: warp.clock.of(warp.agent),
            step: strand.step,
            warp: strand.warp,
            mask,
            iteration: self.iterations(strand),
            via,
            writes,
            strong: None,
            cluster: self.shape.index,
            cta: warp.cta,
            keeps: false,
            is_late: false,
            does: None,
        }
    }

    pub(super) fn access_of_operation(&self, operation: &Operation, via: Via, writes: bool) -> Access {
        Access {
            agent: operation.agent,
            tick: operation.tick,
            step: operation.step,
            warp: operation.warp,
            mask: operation.mask,
            iteration: operation.iteration,
            via,
            writes,
            strong: None,
            cluster: self.shape.index,
            cta: self.warps[operation.warp as usize].cta,
            keeps: false,
            is_late: false,
            does: None,
        }
    }

    /// Looks for races of accesses of threads to shared memory.
    pub(super) fn touch(
        &mut self,
        strand: &Strand,
        places: &[(u32, u32, u32)],
        (writes, keeps): (bool, bool),
        strong: Option<Scope>,
        mask: u32,
    ) {
        if writes {
            for (cta, start, bytes) in places {
                self.ctas[*cta as usize].layouts.forget(*start, *bytes);
            }
        }
        let access = self.access_of(strand, Via::Generic, writes, mask);
        let access = Access { strong, keeps, ..access };
        for (cta, _, _) in places {
            self.reach(*cta, access.cta, (access.agent, access.tick), access.step);
        }
        let clock = std::mem::take(&mut self.warps[strand.warp as usize].clock);
        self.visit(access, &clock, places);
        self.warps[strand.warp as usize].clock = clock;
    }

    /// Someone comes to the shared memory of a CTA, which is there until its last thread ends.
    pub(super) fn reach(&mut self, cta: u32, from: u32, at: (Agent, u32), step: u32) {
        if cta == from {
            return;
        }
        self.unseen.insert((cta, at.0), (at.1, step));
        let Some(end) = self.ctas[cta as usize].end else { return };
        self.outlives(step, end);
    }

    /// The same of an operation.
    pub(super) fn touch_by(
        &mut self,
        operation: &Operation,
        places: &[(u32, u32, u32)],
        via: Via,
        writes: bool,
    ) {
        let access = self.access_of_operation(operation, via, writes);
        self.visit(access, &operation.clock, places);
    }

    /// The same of a tensor copy that stores what its start says, as nobody has said its map.
    pub(super) fn touch_by_open(&mut self, operation: &Operation, places: &[(u32, u32, u32)]) {
        let access = self.access_of_operation(operation, Via::Async, false);
        self.compare(access, &operation.clock, places);
    }

    /// The same of an operation that reads a matrix.
    pub(super) fn touch_matrix(&mut self, operation: &Operation, cta: u32, matrix: &Footprint) {
        if self.checks == Checks::None {
            return;
        }
        let access = self.access_of_operation(operation, Via::Async, false);
        let Self { history, ctas, stored, .. } = self;
        let mut visit = Visit::new(history, &operation.clock, access);
        visit.memory = cta;
        if let Some(stored) = stored {
            for (start, bytes) in &*matrix.pieces {
                stored.note(&access, cta, *start, *bytes);
            }
        }
        let region = Region::Matrix(matrix.number);
        ctas[cta as usize].shadow.access_region(region, matrix.pieces.iter().copied(), &mut visit);
        let (number, conflicts) = (visit.number, visit.conflicts);
        for (conflict, (cta, offset)) in conflicts {
            let place = self.place_name(cta, offset);
            self.race(number, (conflict, &operation.clock), Code::SharedMemoryRace, &place);
        }
    }

    pub(super) fn visit(&mut self, access: Access, clock: &Clock, places: &[(u32, u32, u32)]) {
        if let Some(stored) = &mut self.stored {
            for (cta, start, bytes) in places {
                stored.note(&access, *cta, *start, *bytes);
            }
        }
        self.compare(access, clock, places);
    }

    /// Looks for accesses that conflict with one.
    pub(super) fn compare(&mut self, access: Access, clock: &Clock, places: &[(u32, u32, u32)]) {
        if self.checks == Checks::None {
            return;
        }
        let Self { history, ctas, .. } = self;
        let mut visit = Visit::new(history, clock, access);
        for places in places.chunk_by(|(one, ..), (other, ..)| one == other) {
            visit.memory = places[0].0;
            let shadow = &mut ctas[places[0].0 as usize].shadow;
            match *places {
                [(_, start, bytes)] if bytes >= LARGE => {
                    shadow.access_region(
                        Region::Span(start, bytes),
                        [(start, bytes)].into_iter(),
                        &mut visit,
                    );
                }
                _ => shadow.access(joined(places).into_iter(), &mut visit),
            }
        }
        let (number, conflicts) = (visit.number, visit.conflicts);
        for (conflict, (cta, offset)) in conflicts {
            let place = self.place_name(cta, offset);
            self.race(number, (conflict, clock), Code::SharedMemoryRace, &place);
        }
    }

    /// Reports two accesses that conflict; `clock` is what the second one is ordered after.
    pub(super) fn race(&mut self, own: u32, (conflict, clock): (Conflict, &Clock), code: Code, place: &str) {
        let (code, other) = match conflict {
            Conflict::Race(other) => (code, other),
            Conflict::Proxy(other) => (Code::ProxyFenceMissing, other),
        };
        let (own, other) = (*self.history.access(own), *self.history.access(other));
        let message = match code {
            Code::TensorMemoryRace => "two accesses to the same cells of Tensor Memory are not ordered",
            Code::GlobalMemoryRace => "two accesses to the same bytes of global memory are not ordered",
            Code::ProxyFenceMissing => {
                "the async proxy reads what threads wrote, with no `fence.proxy.async` between"
            }
            _ => "two accesses to the same bytes of shared memory are not ordered",
        };
        let verb = |access: &Access| {
            let frees = |tensor: &Tensor| matches!(tensor, Tensor::Dealloc { .. });
            match &self.program.steps[access.step as usize].action {
                Action::Tensor(tensor) if frees(tensor) => "frees",
                _ if access.writes => "writes",
                _ => "reads",
            }
        };
        let (mine, theirs) = (self.describe(&own), self.describe(&other));
        let remark = match code {
            Code::ProxyFenceMissing => format!("{mine} {} {place} through the async proxy", verb(&own)),
            _ => format!("{mine} {} {place}, and nothing orders that", verb(&own)),
        };
        let mut finding = Finding::new(code, own.step, message, remark)
            .label(other.step, format!("with what {theirs} {} here", verb(&other)));
        if code == Code::GlobalMemoryRace && own.strong.is_some() && other.strong.is_some() {
            finding = finding.note(super::global_races::NARROW);
        }
        if code == Code::GlobalMemoryRace
            && other.via == Via::Async
            && other.writes
            && let Some(step) = self.warps[other.warp as usize].copies.waited_for_reads()
        {
            finding = finding.label(step, "this waits for reads only").note(READS_ONLY);
        }
        if self.many.contains(&own.step) || self.many.contains(&other.step) {
            finding = finding.note(MANY);
        }
        if let Some(arrival) = self.arrivals_of_lanes.get(&other.agent) {
            finding = finding
                .label(
                    *arrival,
                    "one thread of that warp arrives here, and releases what it has stored itself",
                )
                .note(OTHER_LANES)
                .help(SYNCHRONISE_LANES);
        } else if let Conflict::Race(_) = conflict {
            finding = self.handed_over_early(finding, (&own, &other), clock);
        }
        // Only the fence is missing where something orders them.
        let doubt = match code {
            Code::ProxyFenceMissing => None,
            _ => self.doubt(&[(own.warp, own.step), (other.warp, other.step)]),
        };
        let finding = finding.doubted(doubt);
        self.report(finding);
    }

    /// Who made an access, and when.
    pub(super) fn describe(&self, access: &Access) -> String {
        let mut words = self.role(access.warp);
        let live = u32::MAX;
        if access.mask.is_power_of_two() {
            words.push_str(&format!(" (lane {})", access.mask.trailing_zeros()));
        } else if access.mask != live {
            words.push_str(&format!(" ({} lanes)", access.mask.count_ones()));
        }
        if access.iteration > 0 {
            words.push_str(&format!(", {} iteration of its loop,", ordinal(access.iteration + 1)));
        }
        words
    }
}

/// Pieces of one CTA, those that follow each other as one.
fn joined(places: &[(u32, u32, u32)]) -> SmallVec<[(u32, u32); 4]> {
    let mut joined: SmallVec<[(u32, u32); 4]> = SmallVec::new();
    for (_, start, bytes) in places {
        match joined.last_mut() {
            Some((first, len)) if *first + *len == *start => *len += bytes,
            _ => joined.push((*start, *bytes)),
        }
    }
    joined
}

/// `1st`, `2nd`
fn ordinal(number: u32) -> String {
    let ending = match (number % 100, number % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}
