//! What words that are only assumed decide.
//!
//! Nobody says what a kernel is launched with that comes alone: what its parameters are, what its buffers
//! hold, and what is not computed, is assumed. Such words agree with each other by chance. If one role
//! counts its rounds by one word and another role by another, or an index that a word gives leads out of an
//! array, then it is the assumption that lets somebody wait forever, or lets two accesses meet. So values
//! remember from which words they were computed, and warps by which words their ways were chosen. What is
//! found between warps whose ways were chosen by different words, or where an address was computed from
//! one, is in doubt: most likely nobody launches the kernel like that.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::Machine;
use super::places::{Place, behind};
use super::warp::{Strand, Wait};
use crate::diagnostic::Code;
use crate::findings::Doubt;
use crate::program::{Action, Mbarrier, MbarrierKind, Operand, Program, Role, Step};

/// Words that something depends on, a bit for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Words(u128);

/// All words for which there is no bit.
const REST: Words = Words(1 << 127);
/// What is not computed.
const RESULTS: Words = Words(1 << 126);
/// Where buffers are, which does not matter to anybody.
const PLACES: Words = Words(1 << 125);
/// Words that have a bit of their own.
const MOST_WORDS: usize = 125;

impl Words {
    fn is_none(self) -> bool {
        self.0 & !PLACES.0 == 0
    }

    fn join(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// Whether both are the same words. Those without a bit may be any.
    fn are(self, other: Self) -> bool {
        (self.0 ^ other.0) & !PLACES.0 == 0 && self.0 & REST.0 == 0
    }
}

/// A word that is assumed: where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Word {
    Parameter(u64),
    Global(u64),
}

/// Where a value was stored that depends on words, by four bytes.
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
    way: Words,
    /// What it accesses in the CTA, and in global memory.
    address: Words,
    far: Words,
    /// How many it awaits, sends or brings, and to whom.
    count: Words,
    /// Whether it adds to what was there.
    addition: Words,
}

impl Decided {
    fn is_none(&self) -> bool {
        let Self { way, address, far, count, addition } = self;
        [way, address, far, count, addition].iter().all(|words| words.is_none())
    }

    fn join(&mut self, other: Self) {
        self.way.join(other.way);
        self.address.join(other.address);
        self.far.join(other.far);
        self.count.join(other.count);
        self.addition.join(other.addition);
    }
}

/// What depends on which words.
#[derive(Debug, Default)]
pub(super) struct Influence {
    bits: FxHashMap<Word, u32>,
    /// By warp: its registers.
    registers: Vec<Vec<Words>>,
    /// By warp: what chose its way.
    ways: Vec<Words>,
    /// By warp: how often words chose its way.
    choices: Vec<u32>,
    /// By warp and step that initialises an mbarrier: how often that was when it came there last.
    initialised: FxHashMap<(u32, u32), u32>,
    /// What says how many arrive, how many bytes come and to whom, or how many stages a ring has.
    counts: Words,
    memory: FxHashMap<Spot, Words>,
    /// What the instruction at hand reads.
    now: Words,
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
            | Action::Return
            | Action::Fence(_)
    )
}

impl Influence {
    fn of(&self, strand: &Strand, operand: Operand) -> Words {
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
            | Operand::Sink => Words::default(),
        }
    }

    /// Notes what an instruction reads, and what decides about it.
    pub(super) fn step(&mut self, program: &Program, strand: &Strand, step: &Step) {
        let (mut now, mut decided) = (Words::default(), Decided::default());
        program.each_read(&step.action, &mut |role, operand| {
            let words = self.of(strand, operand);
            let of_role = match role {
                Role::Near => &mut decided.address,
                Role::Far => &mut decided.far,
                Role::Count | Role::Mask => &mut decided.count,
                // It says nothing of what is read.
                Role::Addition => return decided.addition.join(words),
                Role::Way | Role::State | Role::Data => &mut now,
            };
            of_role.join(words);
        });
        let guard =
            step.guard.map_or(Words::default(), |(register, _)| self.of(strand, Operand::Register(register)));
        let warp = strand.warp as usize;
        if self.ways.len() <= warp {
            self.ways.resize(warp + 1, Words::default());
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
            decided.way = self.ways[warp];
            decided.way.join(guard);
            if !decided.is_none() {
                self.decided.entry((strand.warp, strand.step)).or_default().join(decided);
            }
        }
    }

    /// Words choose the way of a warp.
    fn choose(&mut self, warp: usize, words: Words) {
        self.ways[warp].join(words);
        self.choices[warp] += u32::from(!words.is_none());
    }

    /// An mbarrier is initialised. If words have let the warp come here once more, they say how many stages a ring has.
    fn initialise(&mut self, strand: &Strand) {
        let warp = strand.warp as usize;
        let choices = self.choices[warp];
        let before = self.initialised.insert((strand.warp, strand.step), choices);
        if before.is_some_and(|before| before < choices) {
            self.counts.join(self.ways[warp]);
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
            if self.now == Words::default() {
                return;
            }
            registers.resize(register + 1, Words::default());
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
            self.assume(Word::Parameter(at >> 2));
        } else if !self.memory.is_empty()
            && let Some(words) = Self::spot(place, warp).and_then(|spot| self.memory.get(&spot))
        {
            self.now.join(*words);
        }
    }

    /// The address of a buffer is read that is assumed.
    pub(super) fn load_address(&mut self) {
        self.now.join(PLACES);
    }

    /// Something is read that is assumed.
    pub(super) fn load_assumed(&mut self, place: Place) {
        match place {
            Place::Global(address) => self.assume(Word::Global(address >> 2)),
            Place::Parameter(at) => self.assume(Word::Parameter(at >> 2)),
            Place::Shared { .. } | Place::Local(_) | Place::Const(_) => self.now.join(RESULTS),
        }
    }

    /// What is not computed is assumed.
    pub(super) fn load_result(&mut self) {
        self.now.join(RESULTS);
    }

    fn assume(&mut self, word: Word) {
        let next = self.bits.len();
        let bit = match self.bits.get(&word) {
            Some(bit) => Some(*bit),
            None if next < MOST_WORDS => {
                self.bits.insert(word, next as u32);
                Some(next as u32)
            }
            None => None,
        };
        self.now.join(bit.map_or(REST, |bit| Words(1 << bit)));
    }

    /// The words of the parameters that have chosen ways: where they are.
    pub(super) fn leading(&self) -> BTreeSet<u64> {
        let mut all = Words::default();
        for way in &self.ways {
            all.join(*way);
        }
        let chosen = self.bits.iter().filter(|(_, bit)| all.0 >> **bit & 1 != 0);
        chosen
            .filter_map(|(word, _)| match word {
                Word::Parameter(at) => Some(at << 2),
                Word::Global(_) => None,
            })
            .collect()
    }

    fn is_assumed(&self, place: Place, bytes: u32) -> bool {
        !self.memory.is_empty()
            && (0..bytes.div_ceil(4)).any(|word| {
                let place = behind(place, u64::from(word) * 4);
                Self::spot(place, 0).is_some_and(|spot| self.memory.contains_key(&spot))
            })
    }

    /// What a call passes from one frame to another depends on what it depended on there: in a register, or in the
    /// frame's memory of up to 8 bytes.
    pub(super) fn read_passed(&mut self, strand: &Strand, from: Result<Operand, Place>) {
        (self.loaded, self.stored) = (None, None);
        self.now = Words::default();
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
        if self.now != Words::default() {
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
        let differs = others.iter().any(|place| !decided(place).way.are(first.way));
        differs.then_some(Doubt::Ways)
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
        let way = |warp: u32| influence.ways.get(warp as usize).copied().unwrap_or_default();
        let stuck = |warp: u32| self.strands.iter().any(|strand| strand.warp == warp && strand.mask != 0);
        // If nobody ever came, any of those may have been to come that have ended.
        let all = 0..self.warps.len() as u32;
        let mut ways =
            all.filter(|warp| senders.is_empty() || stuck(*warp) || senders.contains(warp)).map(way);
        let first = ways.next()?;
        if !influence.counts.is_none() {
            return Some(Doubt::Count);
        }
        let differs = ways.any(|way| !way.are(first));
        differs.then_some(Doubt::Ways)
    }

    /// Whether every warp waits for an mbarrier whose way words have chosen that are assumed, but for those whose words
    /// have let all of these go on: none has done all that they say, so that it is not for them that something is missing.
    pub(super) fn all_led_wait_for_mbarriers(&self) -> bool {
        let Some(influence) = self.influence.as_deref() else { return false };
        let way = |warp: u32| influence.ways.get(warp as usize).copied().unwrap_or_default();
        let waits = |warp: &u32| {
            let is_there =
                |strand: &Strand| strand.warp == *warp && matches!(strand.wait, Wait::Mbarrier { .. });
            self.strands.iter().any(is_there)
        };
        let (waiting, others): (Vec<u32>, Vec<u32>) =
            (0..self.warps.len() as u32).filter(|warp| !way(*warp).is_none()).partition(waits);
        let common = waiting.iter().fold(u128::MAX, |common, warp| common & way(*warp).0);
        !waiting.is_empty() && others.iter().all(|warp| Words(way(*warp).0 & !common).is_none())
    }

    /// The same of one instruction.
    pub(super) fn doubt_of_place(&self, code: Code, step: u32) -> Option<Doubt> {
        let influence = self.influence.as_deref()?;
        let decided = |warp: u32| influence.decided.get(&(warp, step)).copied().unwrap_or_default();
        let mut all = (0..self.warps.len() as u32).map(decided);
        match code {
            // What a fence is missing for is ordered, wherever it is; and what words are judged are not assumed.
            Code::ProxyFenceMissing | Code::InvalidDescriptor => None,
            // What was counted wrongly, or is one stage too many, may be why.
            _ if !influence.counts.is_none() => Some(Doubt::Count),
            // A loop over too many elements leaves an array whatever its addresses are computed from.
            Code::OutOfBounds => {
                all.any(|it| !it.address.is_none() || !it.way.is_none()).then_some(Doubt::Address)
            }
            // Flags that say whether a multiply adds come from whoever launches the kernel, who knows.
            Code::TensorMemoryUninitialized if all.clone().any(|it| !it.addition.is_none()) => {
                Some(Doubt::Addition)
            }
            _ => all.any(|it| !it.address.is_none() || !it.far.is_none()).then_some(Doubt::Address),
        }
    }

    /// Whether a value depends on words that are assumed, or is where a buffer is.
    pub(super) fn is_made_up(&self, strand: &Strand, operand: Operand) -> bool {
        self.influence.as_deref().is_some_and(|influence| influence.of(strand, operand) != Words::default())
    }

    /// Whether some bytes depend on words that are assumed.
    pub(super) fn is_assumed_at(&self, place: Place, bytes: u32) -> bool {
        self.influence.as_deref().is_some_and(|influence| influence.is_assumed(place, bytes))
    }
}
