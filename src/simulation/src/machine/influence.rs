//! What assumed values decide.
//!
//! The parameters of a kernel that comes without a launch are assumed, and so are the contents of its buffers and results
//! that are not computed. Such values agree with each other by chance. If one warp counts its iterations by one value and
//! another warp by another, or an index that a value gives leads out of an array, then the assumption is why somebody waits
//! forever, or why two accesses meet. So each value remembers from which assumed values it was computed, and each warp which
//! of them chose its path. A finding between warps whose paths were chosen by different values, or at an address that was
//! computed from one, is in doubt: most likely no program launches the kernel like that.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::Machine;
use super::observed::Observed;
use super::places::{Place, behind};
use super::warp::{Strand, Wait};
use crate::diagnostic::Code;
use crate::findings::Doubt;
use crate::program::{Action, Mbarrier, MbarrierKind, Operand, Program, Role, Step};

/// Assumed values that something depends on, a bit for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Values(u128);

/// All assumed values for which there is no bit.
const REST: Values = Values(1 << 127);
/// What is not computed.
const RESULTS: Values = Values(1 << 126);
/// Where buffers are, on which no decision depends.
const PLACES: Values = Values(1 << 125);
/// Assumed values that have a bit of their own.
const MOST_SOURCES: usize = 125;

impl Values {
    fn is_none(self) -> bool {
        self.0 & !PLACES.0 == 0
    }

    fn join(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// Whether both are the same assumed values. Those without a bit may be any.
    fn are(self, other: Self) -> bool {
        (self.0 ^ other.0) & !PLACES.0 == 0 && self.0 & REST.0 == 0
    }
}

/// Where an assumed value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Source {
    Parameter(u64),
    Global(u64),
}

/// Where a value was stored that depends on values, by four bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Spot {
    Global(u64),
    Shared(u32, u32),
    Local(u32, u64),
}

/// What decided about an instruction of a warp.
#[derive(Clone, Copy, Debug, Default)]
struct Decided {
    /// Whether it is executed.
    path: Values,
    /// What it accesses in the CTA, and in global memory.
    address: Values,
    far: Values,
    /// How many it awaits, sends or brings, and to whom.
    count: Values,
    /// Whether it adds to what was there.
    addition: Values,
}

impl Decided {
    fn is_none(&self) -> bool {
        let Self { path, address, far, count, addition } = self;
        [path, address, far, count, addition].iter().all(|values| values.is_none())
    }

    fn join(&mut self, other: Self) {
        self.path.join(other.path);
        self.address.join(other.address);
        self.far.join(other.far);
        self.count.join(other.count);
        self.addition.join(other.addition);
    }
}

/// What depends on which values.
#[derive(Debug, Default)]
pub(super) struct Influence {
    bits: FxHashMap<Source, u32>,
    /// By warp: its registers.
    registers: Vec<Vec<Values>>,
    /// By warp: what chose its path.
    paths: Vec<Values>,
    /// By warp: how often values chose its path.
    choices: Vec<u32>,
    /// By warp and step that initialises an mbarrier: how often that was when it came there last.
    initialised: FxHashMap<(u32, u32), u32>,
    /// What copies and multiplies show about tensor maps.
    pub(super) observed: Observed,
    /// What says how many arrive, how many bytes come and to whom, or how many stages a ring has.
    counts: Values,
    memory: FxHashMap<Spot, Values>,
    /// What the instruction at hand reads.
    now: Values,
    /// Where it last read, and wrote: the threads of a warp often access the same place.
    loaded: Option<Place>,
    stored: Option<Place>,
    /// By warp and step.
    decided: FxHashMap<(u32, u32), Decided>,
}

/// Whether it matters to others that an instruction is executed.
pub(super) fn concerns_others(action: &Action) -> bool {
    !matches!(
        action,
        Action::Compute { .. }
            | Action::Opaque { .. }
            | Action::Mma(_)
            | Action::Nothing
            | Action::Convert { .. }
            | Action::IsInSpace { .. }
            | Action::MapAddress { .. }
            | Action::RankOf { .. }
            | Action::Branch { .. }
            | Action::IndexedBranch { .. }
            | Action::Call { .. }
            | Action::Print { .. }
            | Action::Return
            | Action::Fence(_)
    )
}

impl Influence {
    fn of(&self, strand: &Strand, operand: Operand) -> Values {
        match operand {
            Operand::Register(number) | Operand::Not(number) => {
                let registers = self.registers.get(strand.warp as usize);
                let index = (strand.base + number) as usize;
                registers.and_then(|registers| registers.get(index)).copied().unwrap_or_default()
            }
            Operand::Constant(_)
            | Operand::Fixed(_)
            | Operand::Local(_)
            | Operand::Changing(_)
            | Operand::Sink => Values::default(),
        }
    }

    /// Notes what an instruction reads, and what decides about it.
    pub(super) fn step(&mut self, program: &Program, strand: &Strand, step: &Step) {
        let (mut now, mut decided) = (Values::default(), Decided::default());
        program.each_read(&step.action, &mut |role, operand| {
            let values = self.of(strand, operand);
            let of_role = match role {
                Role::Near => &mut decided.address,
                Role::Far => &mut decided.far,
                Role::Count | Role::Mask => &mut decided.count,
                // It says nothing of what is read.
                Role::Addition => return decided.addition.join(values),
                Role::Way | Role::State | Role::Data => &mut now,
            };
            of_role.join(values);
        });
        let guard = step
            .guard
            .map_or(Values::default(), |(register, _)| self.of(strand, Operand::Register(register)));
        let warp = strand.warp as usize;
        if self.paths.len() <= warp {
            self.paths.resize(warp + 1, Values::default());
            self.choices.resize(warp + 1, 0);
        }
        match step.action {
            Action::Branch { .. } | Action::Exit | Action::Return | Action::Call { .. } => {
                self.choose(warp, guard);
            }
            Action::IndexedBranch { .. } => {
                self.choose(warp, guard);
                self.choose(warp, now);
            }
            _ => {}
        }
        if let Action::Mbarrier(Mbarrier { kind: MbarrierKind::Init { .. }, .. }) = step.action {
            self.initialise(strand);
        }
        if !matches!(step.action, Action::WarpBarrier { .. }) {
            self.counts.join(decided.count);
        }
        now.join(guard);
        now.join(decided.address);
        now.join(decided.far);
        self.now = now;
        (self.loaded, self.stored) = (None, None);
        if concerns_others(&step.action) {
            decided.path = self.paths[warp];
            decided.path.join(guard);
            if !decided.is_none() {
                self.decided.entry((strand.warp, strand.step)).or_default().join(decided);
            }
        }
    }

    /// Assumed values choose the path of a warp.
    fn choose(&mut self, warp: usize, values: Values) {
        self.paths[warp].join(values);
        self.choices[warp] += u32::from(!values.is_none());
    }

    /// An mbarrier is initialised. If values have let the warp come here once more, they say how many stages a ring has.
    fn initialise(&mut self, strand: &Strand) {
        let warp = strand.warp as usize;
        let choices = self.choices[warp];
        let before = self.initialised.insert((strand.warp, strand.step), choices);
        if before.is_some_and(|before| before < choices) {
            self.counts.join(self.paths[warp]);
        }
    }

    /// A register is written.
    pub(super) fn write(&mut self, warp: u32, register: usize, all: bool) {
        let warp = warp as usize;
        if self.registers.len() <= warp {
            self.registers.resize(warp + 1, Vec::new());
        }
        let registers = &mut self.registers[warp];
        if registers.len() <= register {
            if self.now == Values::default() {
                return;
            }
            registers.resize(register + 1, Values::default());
        }
        if all {
            registers[register] = self.now;
        } else {
            registers[register].join(self.now);
        }
    }

    fn spot(place: Place, warp: u32) -> Option<Spot> {
        Some(match place {
            Place::Global(address) => Spot::Global(address >> 2),
            Place::Shared { cta, offset } => Spot::Shared(cta, offset >> 2),
            Place::Local(at) => Spot::Local(warp, at >> 2),
            Place::Const(_) | Place::Parameter(_) => return None,
        })
    }

    /// Up to 8 bytes are read that are known.
    pub(super) fn load(&mut self, place: Place, warp: u32) {
        if self.loaded.replace(place) == Some(place) {
            return;
        }
        if let Place::Parameter(at) = place {
            self.assume(Source::Parameter(at >> 2));
        } else if !self.memory.is_empty()
            && let Some(values) = Self::spot(place, warp).and_then(|spot| self.memory.get(&spot))
        {
            self.now.join(*values);
        }
    }

    /// The address of a buffer is read that is assumed.
    pub(super) fn load_address(&mut self) {
        self.now.join(PLACES);
    }

    /// Something is read that is assumed.
    pub(super) fn load_assumed(&mut self, place: Place) {
        match place {
            Place::Global(address) => self.assume(Source::Global(address >> 2)),
            Place::Parameter(at) => self.assume(Source::Parameter(at >> 2)),
            Place::Shared { .. } | Place::Local(_) | Place::Const(_) => self.now.join(RESULTS),
        }
    }

    /// What is not computed is assumed.
    pub(super) fn load_result(&mut self) {
        self.now.join(RESULTS);
    }

    fn assume(&mut self, value: Source) {
        let next = self.bits.len();
        let bit = match self.bits.get(&value) {
            Some(bit) => Some(*bit),
            None if next < MOST_SOURCES => {
                self.bits.insert(value, next as u32);
                Some(next as u32)
            }
            None => None,
        };
        self.now.join(bit.map_or(REST, |bit| Values(1 << bit)));
    }

    /// Which of several copies a multicast brings first is not known.
    pub(super) fn guess(&mut self) {
        self.counts.join(RESULTS);
    }

    /// The parameters that have chosen paths: their first bytes.
    pub(super) fn leading(&self) -> BTreeSet<u64> {
        let mut all = Values::default();
        for path in &self.paths {
            all.join(*path);
        }
        let chosen = self.bits.iter().filter(|(_, bit)| all.0 >> **bit & 1 != 0);
        chosen
            .filter_map(|(value, _)| match value {
                Source::Parameter(at) => Some(at << 2),
                Source::Global(_) => None,
            })
            .collect()
    }

    fn is_assumed(&self, place: Place, bytes: u32) -> bool {
        !self.memory.is_empty()
            && (0..bytes.div_ceil(4)).any(|value| {
                let place = behind(place, u64::from(value) * 4);
                Self::spot(place, 0).is_some_and(|spot| self.memory.contains_key(&spot))
            })
    }

    /// What a call passes from one frame to another depends on what it depended on there: in a register, or in the
    /// frame's memory of up to 8 bytes.
    pub(super) fn read_passed(&mut self, strand: &Strand, from: Result<Operand, Place>) {
        (self.loaded, self.stored) = (None, None);
        self.now = Values::default();
        match from {
            Ok(operand) => self.now = self.of(strand, operand),
            Err(place) => self.load(place, strand.warp),
        }
    }

    /// Up to 8 bytes are written.
    pub(super) fn store(&mut self, place: Place, warp: u32) {
        if self.stored.replace(place) == Some(place) {
            return;
        }
        let Some(spot) = Self::spot(place, warp) else { return };
        if self.now != Values::default() {
            self.memory.insert(spot, self.now);
        } else if !self.memory.is_empty() {
            self.memory.remove(&spot);
        }
    }
}

impl Machine<'_> {
    /// Why what happens between some instructions of warps may be due to what is assumed.
    pub(super) fn doubt(&self, places: &[(u32, u32)]) -> Option<Doubt> {
        let influence = self.influence.as_deref()?;
        let decided = |place: &(u32, u32)| influence.decided.get(place).copied().unwrap_or_default();
        let (first, others) = places.split_first()?;
        let cta = |warp: u32| self.warps[warp as usize].cta;
        if self.assumes_cluster() && others.iter().any(|other| cta(other.0) != cta(first.0)) {
            return Some(Doubt::Cluster);
        }
        let first = decided(first);
        if !first.address.is_none() || others.iter().any(|place| !decided(place).address.is_none()) {
            return Some(Doubt::Address);
        }
        // Who comes too early may do so because too few were to come.
        if !influence.counts.is_none() {
            return Some(Doubt::Count);
        }
        let differs = others.iter().any(|place| !decided(place).path.are(first.path));
        if differs && places.iter().any(|(_, step)| self.is_open_store(*step)) {
            return Some(Doubt::Extent);
        }
        differs.then_some(Doubt::Paths)
    }

    /// Whether the size of what a tensor copy stores is unknown.
    fn is_open_store(&self, step: u32) -> bool {
        self.program.steps.get(step as usize).is_some_and(|step| {
            matches!(&step.action, Action::Bulk(bulk) if bulk.tensor.is_some() && bulk.barrier.is_none())
        })
    }

    /// Why what happens between CTAs may be due to what is assumed.
    pub(super) fn doubt_of_clusters(&self) -> Option<Doubt> {
        (self.assumes_cluster() && self.ctas.len() > 1).then_some(Doubt::Cluster)
    }

    fn assumes_cluster(&self) -> bool {
        self.assumes.is_some_and(|assumption| assumption.assumes_cluster)
    }

    /// The same of all who wait forever, and of those for whom they wait.
    pub(super) fn doubt_of_hang(&self, senders: &[u32]) -> Option<Doubt> {
        let influence = self.influence.as_deref()?;
        if self.assumes_cluster() && self.ctas.len() > 1 {
            return Some(Doubt::Cluster);
        }
        let path = |warp: u32| influence.paths.get(warp as usize).copied().unwrap_or_default();
        let stuck = |warp: u32| self.strands.iter().any(|strand| strand.warp == warp && strand.mask != 0);
        // If nobody ever came, any of those may have been to come that have ended.
        let all = 0..self.warps.len() as u32;
        let mut paths =
            all.filter(|warp| senders.is_empty() || stuck(*warp) || senders.contains(warp)).map(path);
        let first = paths.next()?;
        if !influence.counts.is_none() {
            return Some(Doubt::Count);
        }
        let differs = paths.any(|path| !path.are(first));
        differs.then_some(Doubt::Paths)
    }

    /// Whether every warp waits for an mbarrier whose path values have chosen that are assumed, but for those whose values
    /// have let all of these go on: none has done all that they say, so that it is not for them that something is missing.
    pub(super) fn all_led_wait_for_mbarriers(&self) -> bool {
        let Some(influence) = self.influence.as_deref() else { return false };
        let path = |warp: u32| influence.paths.get(warp as usize).copied().unwrap_or_default();
        let waits = |warp: &u32| {
            let is_there =
                |strand: &Strand| strand.warp == *warp && matches!(strand.wait, Wait::Mbarrier { .. });
            self.strands.iter().any(is_there)
        };
        let (waiting, others): (Vec<u32>, Vec<u32>) =
            (0..self.warps.len() as u32).filter(|warp| !path(*warp).is_none()).partition(waits);
        let common = waiting.iter().fold(u128::MAX, |common, warp| common & path(*warp).0);
        !waiting.is_empty() && others.iter().all(|warp| Values(path(*warp).0 & !common).is_none())
    }

    /// The same of one instruction.
    pub(super) fn doubt_of_place(&self, code: Code, step: u32) -> Option<Doubt> {
        let influence = self.influence.as_deref()?;
        let decided = |warp: u32| influence.decided.get(&(warp, step)).copied().unwrap_or_default();
        let mut all = (0..self.warps.len() as u32).map(decided);
        match code {
            // What a fence is missing for is ordered, wherever it is; and what values are judged are not assumed.
            Code::ProxyFenceMissing | Code::InvalidDescriptor => None,
            // What was counted wrongly, or is one stage too many, may be why.
            _ if !influence.counts.is_none() => Some(Doubt::Count),
            // A loop over too many elements leaves an array whatever its addresses are computed from.
            Code::OutOfBounds => {
                all.any(|it| !it.address.is_none() || !it.path.is_none()).then_some(Doubt::Address)
            }
            // Flags that say whether a multiply adds come from whoever launches the kernel, who knows.
            Code::TensorMemoryUninitialized if all.clone().any(|it| !it.addition.is_none()) => {
                Some(Doubt::Addition)
            }
            _ => all.any(|it| !it.address.is_none() || !it.far.is_none()).then_some(Doubt::Address),
        }
    }

    /// Whether a value depends on values that are assumed, or is where a buffer is.
    pub(super) fn is_made_up(&self, strand: &Strand, operand: Operand) -> bool {
        self.influence.as_deref().is_some_and(|influence| influence.of(strand, operand) != Values::default())
    }

    /// Whether some bytes depend on values that are assumed.
    pub(super) fn is_assumed_at(&self, place: Place, bytes: u32) -> bool {
        self.influence.as_deref().is_some_and(|influence| influence.is_assumed(place, bytes))
    }
}
