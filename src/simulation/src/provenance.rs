//! Where values come from, for dynamic backward slices (Korel and Laski, "Dynamic Program Slicing", 1988).
//!
//! Nothing of this is kept in an ordinary run. A slice takes several runs of one schedule: each is asked who wrote
//! certain bytes before a certain time, which says what to ask next. So a run keeps a few writes, and not all.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use ptx_numbers::Accumulator;

use super::program::Slice;

/// Memory whose bytes have addresses of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Space {
    Global,
    Shared {
        cluster: u32,
        cta: u32,
    },
    /// Tensor Memory: four bytes for each lane of a column, column by column.
    Tensor {
        cluster: u32,
        cta: u32,
    },
    /// Eight bytes for each register of a thread, those of all frames one after the other.
    Registers(Thread),
    /// The local memory of a thread.
    Local(Thread),
}

/// A thread of the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Thread {
    pub(crate) cluster: u32,
    /// Its warp in the cluster.
    pub(crate) warp: u32,
    pub(crate) lane: u32,
}

/// Some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Cell {
    pub(crate) space: Space,
    pub(crate) at: u64,
    pub(crate) bytes: u32,
}

impl Cell {
    /// Some of its bytes.
    pub(crate) fn part(self, from: u32, bytes: u32) -> Self {
        let from = from.min(self.bytes);
        Self { at: self.at + u64::from(from), bytes: bytes.min(self.bytes - from), ..self }
    }

    /// The lane and the column, if it lies in Tensor Memory.
    pub(crate) fn lane_and_column(self) -> (u64, u64) {
        (self.at / 4 % LANES, self.at / 4 / LANES)
    }

    /// Some bytes of the shared memory of a CTA.
    pub(crate) fn shared(cluster: u32, cta: u32, offset: u32, bytes: u32) -> Self {
        Self { space: Space::Shared { cluster, cta }, at: offset.into(), bytes }
    }

    /// Some bytes of global memory.
    pub(crate) fn global(at: u64, bytes: u32) -> Self {
        Self { space: Space::Global, at, bytes }
    }

    /// A cell of Tensor Memory.
    pub(crate) fn tensor(space: Space, lane: u32, column: u32) -> Self {
        Self { space, at: (u64::from(column) * LANES + u64::from(lane) % LANES) * 4, bytes: 4 }
    }

    fn end(self) -> u64 {
        self.at + u64::from(self.bytes)
    }
}

/// Lanes of Tensor Memory.
const LANES: u64 = crate::isa::tensor_memory::TensorMemory::LANES as u64;

/// What a write has written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Source {
    /// The same bytes as here.
    Copied(Cell),
    /// What was there, reduced with these bytes; with a constant, if there are none.
    Reduced(Option<Cell>),
    /// Something that depends on all of these.
    Combined(Vec<Cell>),
    /// A result of arithmetic.
    Computed(Computed),
    /// An element of D.
    Multiplied(Box<Factors>),
    /// Nothing that is followed: which.
    End(&'static str),
}

/// Arithmetic in a thread.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Computed {
    /// Which, of the program.
    pub(crate) arithmetic: u32,
    /// Which of its destinations.
    pub(crate) position: u32,
    pub(crate) destinations: Slice,
    /// What it has read: where that was, if it was in a register, and its value.
    pub(crate) sources: SmallVec<[(Option<Cell>, u64); 3]>,
    /// Which byte of the destination is the first that is asked for.
    pub(crate) from: u32,
}

/// What an element of D is made of.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Factors {
    pub(crate) row: u32,
    pub(crate) column: u32,
    /// Along K.
    pub(crate) a: Vec<Cell>,
    pub(crate) b: Vec<Cell>,
    pub(crate) scales_a: Vec<Cell>,
    pub(crate) scales_b: Vec<Cell>,
    /// Whether what D held before is added.
    pub(crate) adds: bool,
    /// Where that is, if not in D itself.
    pub(crate) old: Option<Cell>,
    /// What D is, where its value is kept.
    pub(crate) format: Option<Accumulator>,
}

/// Who has written bytes, and what.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Write {
    /// When: later ones have greater numbers.
    pub(crate) now: u64,
    pub(crate) step: u32,
    /// The warp that executed or started it.
    pub(crate) warp: u32,
    pub(crate) cluster: u32,
    pub(crate) source: Source,
    /// What the bytes hold then, where it is looked at.
    pub(crate) value: Option<u64>,
}

/// The last write of bytes, and before it those that it adds to, in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Chain {
    pub(crate) writes: Vec<Write>,
    /// How many there are in the middle that are not kept.
    pub(crate) left_out: u64,
}

/// Whose writes are wanted: of these bytes, before this time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Question {
    pub(crate) cell: Cell,
    pub(crate) before: u64,
}

/// Writes of a thread that are kept: what came before is forgotten.
const MOST_OF_THREAD: usize = 1 << 20;
/// Writes that add to each other.
const MOST_IN_CHAIN: usize = 1 << 14;
/// Bytes that are asked for at once.
const WIDEST: u64 = 16;

/// What a run looks out for, and what it has seen.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    /// Counts steps and operations of all clusters.
    now: u64,
    cluster: u32,
    /// Questions about memory by their first byte, with the last write, and those that it adds to.
    watched: FxHashMap<Space, Vec<(Question, Chain)>>,
    /// What threads have written to their registers and their memory.
    threads: FxHashMap<Space, Vec<(Cell, Write)>>,
}

impl Trace {
    /// One that answers these questions.
    pub(crate) fn new(questions: impl IntoIterator<Item = Question>) -> Self {
        let mut this = Self::default();
        for question in questions {
            match question.cell.space {
                Space::Registers(thread) | Space::Local(thread) => {
                    this.threads.entry(Space::Registers(thread)).or_default();
                    this.threads.entry(Space::Local(thread)).or_default();
                }
                space => this.watched.entry(space).or_default().push((question, Chain::default())),
            }
        }
        for watched in this.watched.values_mut() {
            watched.sort_by_key(|(question, _)| *question);
        }
        this
    }

    /// A step or an operation begins.
    pub(crate) fn tick(&mut self) {
        self.now += 1;
    }

    /// A cluster runs from now on.
    pub(crate) fn enter(&mut self, cluster: u32) {
        self.cluster = cluster;
    }

    pub(crate) fn cluster(&self) -> u32 {
        self.cluster
    }

    /// Whether it is looked at who writes some of these bytes.
    pub(crate) fn wants(&self, cell: Cell) -> bool {
        if self.threads.contains_key(&cell.space) {
            return true;
        }
        let Some(watched) = self.watched.get(&cell.space) else { return false };
        let first = watched.partition_point(|(question, _)| question.cell.at + WIDEST <= cell.at);
        watched[first..]
            .iter()
            .take_while(|(question, _)| question.cell.at < cell.end())
            .any(|(question, _)| cell.at < question.cell.end() && self.now < question.before)
    }

    /// What is looked at in some memory.
    pub(crate) fn cells_in(&self, space: Space) -> Vec<Cell> {
        let watched = self.watched.get(&space).into_iter().flatten();
        let mut cells: Vec<Cell> = watched.map(|(question, _)| question.cell).collect();
        cells.dedup();
        cells
    }

    /// Bytes are written: `source` says what those are that are written from an offset on, so many of them, and what
    /// they hold.
    pub(crate) fn write(
        &mut self,
        (step, warp): (u32, u32),
        cell: Cell,
        mut source: impl FnMut(u32, u32) -> (Source, Option<u64>),
    ) {
        let (now, cluster) = (self.now, self.cluster);
        let mut write = |from: u32, bytes: u32| {
            let (source, value) = source(from, bytes);
            Write { now, step, warp, cluster, source, value }
        };
        if let Some(all) = self.threads.get_mut(&cell.space) {
            if all.len() == MOST_OF_THREAD {
                all.drain(..MOST_OF_THREAD / 2);
            }
            all.push((cell, write(0, cell.bytes)));
            return;
        }
        let Some(watched) = self.watched.get_mut(&cell.space) else { return };
        let first = watched.partition_point(|(question, _)| question.cell.at + WIDEST <= cell.at);
        for (question, chain) in &mut watched[first..] {
            if question.cell.at >= cell.end() {
                break;
            }
            if cell.at >= question.cell.end() || now >= question.before {
                continue;
            }
            // The first byte that both have.
            let start = cell.at.max(question.cell.at);
            let bytes = cell.end().min(question.cell.end()) - start;
            let write = write((start - cell.at) as u32, bytes as u32);
            if !write.source.adds() {
                *chain = Chain::default();
            } else if chain.writes.len() == MOST_IN_CHAIN {
                // The first and the last ones are shown.
                let left_out = chain.writes.drain(MOST_IN_CHAIN / 4..MOST_IN_CHAIN * 3 / 4).count();
                chain.left_out += left_out as u64;
            }
            chain.writes.push(write);
        }
    }

    /// Whether the registers of a thread are looked at.
    pub(crate) fn knows(&self, thread: Thread) -> bool {
        self.threads.contains_key(&Space::Registers(thread))
    }

    /// How many threads that are.
    pub(crate) fn threads(&self) -> usize {
        self.threads.len() / 2
    }

    /// The write that a question is about, and before it those that it adds to; `None` if nothing was seen of its
    /// memory.
    pub(crate) fn answer(&self, question: Question) -> Option<Chain> {
        if let Some(all) = self.threads.get(&question.cell.space) {
            let meets = |cell: &Cell| cell.at < question.cell.end() && question.cell.at < cell.end();
            let until = all.partition_point(|(_, write)| write.now < question.before);
            let last = all[..until].iter().rev().find(|(cell, _)| meets(cell));
            let Some((cell, write)) = last else { return Some(Chain::default()) };
            let from = question.cell.at.saturating_sub(cell.at) as u32;
            let bytes = question.cell.bytes;
            let write = Write { source: write.source.part(from, bytes), ..write.clone() };
            return Some(Chain { writes: vec![write], left_out: 0 });
        }
        let watched = self.watched.get(&question.cell.space)?;
        let at = watched.binary_search_by_key(&question, |(known, _)| *known).ok()?;
        Some(watched[at].1.clone())
    }
}

impl Source {
    /// Whether what was there before is a part of it.
    pub(crate) fn adds(&self) -> bool {
        match self {
            Self::Reduced(_) => true,
            Self::Multiplied(factors) => factors.adds && factors.old.is_none(),
            Self::Copied(_) | Self::Combined(_) | Self::Computed(_) | Self::End(_) => false,
        }
    }

    /// The same of some of the bytes.
    pub(crate) fn part(&self, from: u32, bytes: u32) -> Self {
        match self {
            Self::Copied(cell) => Self::Copied(cell.part(from, bytes)),
            Self::Reduced(cell) => Self::Reduced(cell.map(|cell| cell.part(from, bytes))),
            Self::Computed(computed) => Self::Computed(Computed { from, ..computed.clone() }),
            other => other.clone(),
        }
    }
}
