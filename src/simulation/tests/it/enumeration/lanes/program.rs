//! Small programs of the first lanes of a few warps.

use std::fmt::Write as _;

use super::super::program::Random;

/// What a warp does: one of its lanes, or all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    /// Of a lane: a word of a piece.
    Store(usize, usize, usize),
    Load(usize, usize, usize),
    /// Each of the lanes stores its word of a piece.
    StoreEach(usize),
    /// Of a lane, at an mbarrier.
    Arrive(usize, usize),
    ArriveEach(usize),
    Wait(usize, u32),
    /// `bar.warp.sync` of all lanes, or of the first two.
    WarpSync(bool),
    /// `shfl.sync` of all lanes, and `elect.sync`, which orders nothing.
    Shuffle,
    Elect,
    /// `bar.sync` of all warps.
    Sync,
    /// A lane adds to a flag: whether by a release.
    Raise(usize, usize, bool),
    /// Waits until all have added to a flag: whether by an acquire.
    Watch(usize, bool),
    Fence,
}

/// Lanes that do something of their own.
pub(super) const LANES: usize = 4;
/// The first is in shared memory, the second in global memory.
pub(super) const PIECES: usize = 2;
pub(super) const BARRIERS: usize = 2;
pub(super) const FLAGS: usize = 2;
/// Operations of a warp.
pub(super) const MOST: usize = 8;
/// Its launch.
pub(super) const LAUNCH: &str = "grid = [1]\n[[arg]]\ntype = \"buffer\"\nbytes = 256\nfill = 0\n";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Program {
    pub(super) warps: Vec<Vec<Op>>,
    /// Arrivals that phases await.
    pub(super) counts: [u32; BARRIERS],
}

impl Program {
    pub(super) fn random(random: &mut Random) -> Self {
        let count = 2 + random.below(2);
        let counts = std::array::from_fn(|_| [1, LANES as u32][usize::from(random.below(3) == 0)]);
        let mut program = Self { warps: vec![Vec::new(); count], counts };
        let mut phases = [0; BARRIERS];
        let mut flags = 0;
        for _ in 0..=random.below(3) {
            program.tell(random, &mut phases, &mut flags);
        }
        for _ in 0..random.below(3) {
            program.change(random);
        }
        for ops in &mut program.warps {
            ops.truncate(MOST);
            // Of the operations on one flag only the first of a kind stays.
            let mut seen = Vec::new();
            ops.retain(|op| {
                let key = match op {
                    Op::Raise(_, flag, _) => (0, *flag),
                    Op::Watch(flag, _) => (1, *flag),
                    _ => return true,
                };
                let is_new = !seen.contains(&key);
                seen.push(key);
                is_new
            });
        }
        program
    }

    /// Lanes of a warp do something, and another warp goes on from there.
    fn tell(&mut self, random: &mut Random, phases: &mut [u32; BARRIERS], flags: &mut usize) {
        let from = random.below(self.warps.len());
        let to = (from + 1 + random.below(self.warps.len() - 1)) % self.warps.len();
        let piece = random.below(PIECES);
        let barrier = random.below(BARRIERS);
        let word = random.below(LANES);
        let first = data(random, piece, word);
        self.warps[from].push(first);
        for _ in 0..random.below(3) {
            self.warps[from].push(between(random));
        }
        match random.below(4) {
            0 if *flags < FLAGS => {
                let flag = *flags;
                *flags += 1;
                let releases = random.below(2) == 0;
                if !releases {
                    self.warps[from].push(Op::Fence);
                    if random.below(3) == 0 {
                        self.warps[from].push(Op::WarpSync(true));
                    }
                }
                self.warps[from].push(Op::Raise(lane(random), flag, releases));
                let acquires = random.below(2) == 0;
                self.warps[to].push(Op::Watch(flag, acquires));
                if !acquires {
                    self.warps[to].push(Op::Fence);
                }
            }
            1 => self.warps.iter_mut().for_each(|ops| ops.push(Op::Sync)),
            _ => {
                let arrival = if self.counts[barrier] == 1 {
                    Op::Arrive(lane(random), barrier)
                } else {
                    Op::ArriveEach(barrier)
                };
                self.warps[from].push(arrival);
                self.warps[to].push(Op::Wait(barrier, phases[barrier] & 1));
                phases[barrier] += 1;
            }
        }
        let then = data(random, piece, word);
        self.warps[to].push(then);
    }

    /// Something else than was meant.
    fn change(&mut self, random: &mut Random) {
        let count = self.warps.len();
        let ops = &mut self.warps[random.below(count)];
        let at = random.below(ops.len());
        match random.below(4) {
            0 if !ops.is_empty() => {
                ops.remove(at);
            }
            1 if ops.len() > at + 1 => ops.swap(at, at + 1),
            2 => ops.insert(at, random_op(random)),
            _ => ops.insert(at, between(random)),
        }
    }

    /// The same with one operation less.
    pub(super) fn smaller(&self) -> impl Iterator<Item = Self> + use<> {
        let all = self.clone();
        let places: Vec<(usize, usize)> = all
            .warps
            .iter()
            .enumerate()
            .flat_map(|(warp, ops)| (0..ops.len()).map(move |at| (warp, at)))
            .collect();
        places.into_iter().map(move |(warp, at)| {
            let mut less = all.clone();
            less.warps[warp].remove(at);
            less
        })
    }

    /// How often a flag is raised.
    pub(super) fn raises(&self, flag: usize) -> u32 {
        let is_raise = |op: &&Op| matches!(op, Op::Raise(_, other, _) if *other == flag);
        self.warps.iter().flatten().filter(is_raise).count() as u32
    }

    pub(super) fn ptx(&self) -> String {
        let threads = self.warps.len() * 32;
        let mut text = format!(
            ".version 9.0\n.target sm_100a\n.address_size 64\n\
             .visible .entry k(.param .u64 in)\n.reqntid {threads}\n{{\n\
             .reg .pred l<{LANES}>, two, each, first, q;\n.reg .b32 tid, lane, warp, r<4>, own;\n\
             .reg .b64 buffer, there;\n\
             .shared .align 16 .b8 data[16];\n.shared .align 8 .b64 bars[{BARRIERS}];\n\
             ld.param.u64 buffer, [in];\nmov.u32 tid, %tid.x;\nand.b32 lane, tid, 31;\nshr.u32 warp, tid, 5;\n\
             setp.lt.u32 two, lane, 2;\nsetp.lt.u32 each, lane, {LANES};\nsetp.eq.u32 first, tid, 0;\n\
             shl.b32 own, lane, 2;\ncvt.u64.u32 there, own;\nadd.u64 there, there, buffer;\n\
             mov.u32 r0, data;\nadd.u32 own, own, r0;\n"
        );
        for lane in 0..LANES {
            let _ = writeln!(text, "setp.eq.u32 l{lane}, lane, {lane};");
        }
        for (barrier, count) in self.counts.iter().enumerate() {
            let _ = writeln!(text, "@first mbarrier.init.shared::cta.b64 [bars+{}], {count};", barrier * 8);
        }
        text.push_str("@first st.shared.v4.b32 [data], {0, 0, 0, 0};\nbar.sync 0;\n");
        for warp in 1..self.warps.len() {
            let _ = writeln!(text, "setp.eq.u32 q, warp, {warp};\n@q bra warp{warp};");
        }
        for (warp, ops) in self.warps.iter().enumerate() {
            if warp > 0 {
                let _ = writeln!(text, "warp{warp}:");
            }
            for (at, op) in ops.iter().enumerate() {
                self.op(*op, warp * MOST + at, &mut text);
            }
            text.push_str("ret;\n");
        }
        text.push_str("}\n");
        text
    }

    fn op(&self, op: Op, number: usize, text: &mut String) {
        let place = |piece: usize, word: usize| match piece {
            0 => format!("shared.b32 [data+{}]", word * 4),
            _ => format!("global.b32 [buffer+{}]", word * 4),
        };
        // A lane by a predicate, or on a path of its own.
        let by_lane = |lane: usize, line: String| {
            if number & 1 == 0 {
                format!("@l{lane} {line}")
            } else {
                format!("@!l{lane} bra S{number};\n{line}\nS{number}:")
            }
        };
        let load = |piece: usize, word: usize| {
            let (form, at) = match piece {
                0 => ("ld.shared.b32", format!("[data+{}]", word * 4)),
                _ => ("ld.global.b32", format!("[buffer+{}]", word * 4)),
            };
            format!("{form} r1, {at};")
        };
        let value = number * LANES + 1;
        let line = match op {
            // Each has a value of its own.
            Op::Store(lane, piece, word) => by_lane(lane, format!("st.{}, {value};", place(piece, word))),
            Op::Load(lane, piece, word) => by_lane(lane, load(piece, word)),
            Op::StoreEach(piece) => {
                let at = if piece == 0 { "shared.b32 [own]" } else { "global.b32 [there]" };
                format!("add.u32 r3, lane, {value};\n@each st.{at}, r3;")
            }
            Op::Arrive(lane, it) => {
                by_lane(lane, format!("mbarrier.arrive.shared::cta.b64 _, [bars+{}];", it * 8))
            }
            Op::ArriveEach(it) => format!("@each mbarrier.arrive.shared::cta.b64 _, [bars+{}];", it * 8),
            Op::Wait(it, parity) => format!(
                "L{number}: mbarrier.try_wait.parity.shared::cta.b64 q, [bars+{}], {parity};\n@!q bra L{number};",
                it * 8
            ),
            Op::WarpSync(true) => "bar.warp.sync -1;".to_owned(),
            Op::WarpSync(false) => "@two bar.warp.sync 3;".to_owned(),
            Op::Shuffle => "shfl.sync.idx.b32 r2, lane, 0, 31, -1;".to_owned(),
            Op::Elect => "elect.sync _|q, -1;".to_owned(),
            Op::Sync => format!("bar.sync 1, {};", self.warps.len() * 32),
            Op::Raise(lane, flag, release) => {
                let semantics = if release { "release" } else { "relaxed" };
                let at = format!("[buffer+{}]", 64 * (flag + 1));
                by_lane(
                    lane,
                    if self.raises(flag) == 1 {
                        format!("st.{semantics}.gpu.global.b32 {at}, 1;")
                    } else {
                        format!("red.{semantics}.gpu.global.add.u32 {at}, 1;")
                    },
                )
            }
            Op::Watch(flag, acquire) => {
                let semantics = if acquire { "acquire" } else { "relaxed" };
                format!(
                    "L{number}: ld.{semantics}.gpu.global.b32 r2, [buffer+{}];\nsetp.lt.u32 q, r2, {};\n\
                     @q bra L{number};",
                    64 * (flag + 1),
                    self.raises(flag).max(1)
                )
            }
            Op::Fence => "fence.acq_rel.gpu;".to_owned(),
        };
        text.push_str(&line);
        text.push('\n');
    }
}

fn lane(random: &mut Random) -> usize {
    random.below(3)
}

/// Something with a piece of memory.
fn data(random: &mut Random, piece: usize, word: usize) -> Op {
    match random.below(5) {
        0 => Op::Load(lane(random), piece, word),
        1 | 2 => Op::StoreEach(piece),
        _ => Op::Store(lane(random), piece, word),
    }
}

/// What may synchronise lanes.
fn between(random: &mut Random) -> Op {
    match random.below(6) {
        0 | 1 => Op::WarpSync(true),
        2 => Op::WarpSync(false),
        3 => Op::Shuffle,
        4 => Op::Elect,
        _ => Op::Fence,
    }
}

fn random_op(random: &mut Random) -> Op {
    let (piece, word) = (random.below(PIECES), random.below(LANES));
    match random.below(8) {
        0 | 1 => data(random, piece, word),
        2 => Op::Arrive(lane(random), random.below(BARRIERS)),
        3 => Op::Wait(random.below(BARRIERS), random.below(2) as u32),
        4 => Op::Sync,
        5 => Op::Raise(lane(random), random.below(FLAGS), random.below(2) == 0),
        6 => Op::Watch(random.below(FLAGS), random.below(2) == 0),
        _ => between(random),
    }
}
