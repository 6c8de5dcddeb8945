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
use smallvec::SmallVec;

use super::Machine;
use super::places::{Place, behind};
use super::warp::{Strand, Wait};
use crate::diagnostic::Code;
use crate::findings::Doubt;
use crate::program::{Action, Address, Matrix, MbarrierKind, Operand, Program, Slice, Step, Tensor, Where};

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
    /// Whether it adds to what was there.
    addition: Words,
}

/// What depends on which words.
#[derive(Debug, Default)]
pub(super) struct Influence {
    bits: FxHashMap<Word, u32>,
    /// By warp: its registers.
    registers: Vec<Vec<Words>>,
    /// By warp: what chose its way.
    ways: Vec<Words>,
    memory: FxHashMap<Spot, Words>,
    /// What the instruction at hand reads.
    now: Words,
    /// Where it last read, and wrote: the threads of a warp often access the same place.
    loaded: Option<Place>,
    stored: Option<Place>,
    /// By warp and step.
    decided: FxHashMap<(u32, u32), Decided>,
}

/// What an instruction reads.
#[derive(Debug, Default)]
struct Reads {
    values: SmallVec<[Operand; 8]>,
    slices: SmallVec<[Slice; 2]>,
    /// What its addresses in shared memory and Tensor Memory are computed from.
    addresses: SmallVec<[Operand; 6]>,
    /// The same in global memory.
    far: SmallVec<[Operand; 2]>,
    /// What says whether a multiply adds to its accumulator.
    addition: Option<Operand>,
}

impl Reads {
    fn of(action: &Action) -> Self {
        let mut this = Self::default();
        match action {
            Action::Compute { sources, .. } => this.slices.push(*sources),
            Action::Convert { source, .. }
            | Action::IsInSpace { source, .. }
            | Action::RankOf { source, .. } => this.values.push(*source),
            Action::MapAddress { source, rank, .. } => this.values.extend([*source, *rank]),
            Action::IndexedBranch { index, .. } => this.values.push(*index),
            Action::Load(access) => this.address(access.space, access.address),
            Action::Store(access) => {
                this.address(access.space, access.address);
                this.slices.push(access.registers);
            }
            Action::Atomic(atomic) => {
                this.address(atomic.space, atomic.address);
                this.slices.push(atomic.sources);
            }
            Action::Matrix { store, address, space, registers, .. } => {
                this.address(*space, *address);
                if *store {
                    this.slices.push(*registers);
                }
            }
            Action::CopyAsync { destination, .. } => this.address(Where::Shared, *destination),
            Action::CopyArrive { space, address, .. } => this.address(*space, *address),
            Action::StoreAsync { address, barrier, registers, .. } => {
                this.address(Where::SharedCluster, *address);
                this.address(Where::SharedCluster, *barrier);
                this.slices.push(*registers);
            }
            Action::Bulk(bulk) => {
                for (space, address) in [bulk.destination, bulk.source] {
                    this.address(space, address);
                }
                if let Some(barrier) = bulk.barrier {
                    this.address(Where::SharedCluster, barrier);
                }
            }
            Action::TryCancel { destination, barrier, .. } => {
                this.address(Where::Shared, *destination);
                this.address(Where::Shared, *barrier);
            }
            Action::IsCanceled { response, .. } | Action::FirstCta { response, .. } => {
                this.slices.push(*response);
            }
            Action::Fill { address, .. } => this.address(Where::SharedCluster, *address),
            Action::Mbarrier(mbarrier) => {
                this.address(mbarrier.space, mbarrier.address);
                match mbarrier.kind {
                    MbarrierKind::Wait { value, .. } => this.values.push(value),
                    MbarrierKind::PendingCount { state, .. } => this.values.push(state),
                    MbarrierKind::Init { .. }
                    | MbarrierKind::Invalidate
                    | MbarrierKind::Expect { .. }
                    | MbarrierKind::Complete { .. }
                    | MbarrierKind::Arrive { .. } => {}
                }
            }
            Action::Tensor(tensor) => this.tensor(tensor),
            Action::Opaque { .. }
            | Action::Nothing
            | Action::Branch { .. }
            | Action::Call { .. }
            | Action::Return
            | Action::Exit
            | Action::Trap
            | Action::Barrier { .. }
            | Action::WarpBarrier { .. }
            | Action::ClusterArrive { .. }
            | Action::ClusterWait { .. }
            | Action::ProxyFence
            | Action::InitFence
            | Action::Fence(_)
            | Action::CopyCommit
            | Action::CopyWait { .. }
            | Action::BulkCommit
            | Action::BulkWait { .. }
            | Action::SetRegisters { .. }
            | Action::Sleep
            | Action::ReplaceTensorMap { .. }
            | Action::CopyTensorMap { .. }
            | Action::Unknown(_) => {}
        }
        this
    }

    fn tensor(&mut self, tensor: &Tensor) {
        match tensor {
            Tensor::Alloc { destination, space, .. } => self.address(*space, *destination),
            Tensor::Dealloc { address, .. } => self.addresses.push(*address),
            Tensor::Load { address, .. } | Tensor::Shift { address, .. } => self.addresses.push(address.base),
            Tensor::Store { address, registers, .. } => {
                self.addresses.push(address.base);
                self.slices.push(*registers);
            }
            Tensor::Copy { address, descriptor, .. } => self.addresses.extend([address.base, *descriptor]),
            Tensor::Multiply(multiply) => {
                let a = match multiply.a {
                    Matrix::Shared(descriptor) => descriptor,
                    Matrix::TensorMemory(address) => address.base,
                };
                // How far the matrices reach the instruction's descriptor says.
                self.addresses.extend([multiply.d.base, a, multiply.b, multiply.idesc]);
                let scales = multiply.scales.iter().flatten().chain(&multiply.metadata);
                self.addresses.extend(scales.map(|address| address.base));
                self.addition = Some(multiply.enable_input.0);
            }
            Tensor::Commit { space, barrier, .. } => self.address(*space, *barrier),
            Tensor::Relinquish
            | Tensor::WaitLoad
            | Tensor::WaitStore
            | Tensor::FenceBefore
            | Tensor::FenceAfter => {}
        }
    }

    fn address(&mut self, space: Where, address: Address) {
        match space {
            // What lies at another index of a buffer is another element of the same.
            Where::Global | Where::Const | Where::Param | Where::Local => self.far.push(address.base),
            Where::Generic | Where::Shared | Where::SharedCluster => self.addresses.push(address.base),
        }
    }
}

/// Whether it matters to others that an instruction is executed.
pub(super) fn concerns_others(action: &Action) -> bool {
    !matches!(
        action,
        Action::Compute { .. }
            | Action::Opaque { .. }
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
        let reads = Reads::of(&step.action);
        let mut now = Words::default();
        for operand in &reads.values {
            now.join(self.of(strand, *operand));
        }
        for slice in &reads.slices {
            for operand in &program.operands[slice.range()] {
                now.join(self.of(strand, *operand));
            }
        }
        let mut address = Words::default();
        for operand in &reads.addresses {
            address.join(self.of(strand, *operand));
        }
        let mut far = Words::default();
        for operand in &reads.far {
            far.join(self.of(strand, *operand));
        }
        let addition = reads.addition.map_or(Words::default(), |operand| self.of(strand, operand));
        let guard =
            step.guard.map_or(Words::default(), |(register, _)| self.of(strand, Operand::Register(register)));
        let warp = strand.warp as usize;
        if self.ways.len() <= warp {
            self.ways.resize(warp + 1, Words::default());
        }
        match step.action {
            Action::Branch { .. } | Action::Exit | Action::Return | Action::Call { .. } => {
                self.ways[warp].join(guard);
            }
            Action::IndexedBranch { .. } => {
                self.ways[warp].join(guard);
                self.ways[warp].join(now);
            }
            _ => {}
        }
        now.join(guard);
        now.join(address);
        now.join(far);
        self.now = now;
        (self.loaded, self.stored) = (None, None);
        if concerns_others(&step.action) {
            let mut way = self.ways[warp];
            way.join(guard);
            if !way.is_none() || !address.is_none() || !far.is_none() || !addition.is_none() {
                let known = self.decided.entry((strand.warp, strand.step)).or_default();
                known.way.join(way);
                known.address.join(address);
                known.far.join(far);
                known.addition.join(addition);
            }
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
