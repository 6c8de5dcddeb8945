//! Small programs, and the PTX that they are.

use std::fmt::Write as _;

/// Chance that can be repeated.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// Less than a bound.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound.max(1)
    }
}

/// What a warp does: its first thread, or all where that makes no difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    /// Of a piece of shared memory.
    Store(usize),
    Load(usize),
    /// At an mbarrier.
    Arrive(usize),
    Wait(usize, u32),
    /// `cp.async.bulk` to shared memory, whose bytes are expected by an arrival.
    Fetch(usize, usize),
    /// `cp.async.bulk` from shared memory, in a group.
    Put(usize),
    PutWait,
    /// `cp.async`
    Copy(usize),
    CopyWait,
    CopyArrive(usize),
    /// `tcgen05.cp`
    Multiply(usize),
    Commit(usize),
    /// `bar.sync`, `bar.arrive`
    Sync(usize),
    Pass(usize),
    /// Adds to a flag: whether by a release.
    Raise(usize, bool),
    /// Waits until all have added to a flag: whether by an acquire.
    Watch(usize, bool),
    Fence,
    ProxyFence,
}

pub(super) const PIECES: usize = 2;
pub(super) const BARRIERS: usize = 2;
pub(super) const NAMED: usize = 2;
pub(super) const FLAGS: usize = 2;
/// Operations of a warp.
pub(super) const MOST: usize = 8;
/// Bytes of a piece.
pub(super) const BYTES: u32 = 128;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Program {
    pub(super) warps: Vec<Vec<Op>>,
    /// Arrivals that phases await.
    pub(super) counts: [u32; BARRIERS],
    /// Warps that barriers of the CTA await.
    pub(super) warps_of: [u32; NAMED],
}

impl Program {
    pub(super) fn random(random: &mut Random) -> Self {
        let count = 2 + random.below(2);
        let mut program =
            Self { warps: vec![Vec::new(); count], counts: [1; BARRIERS], warps_of: [2; NAMED] };
        if random.below(4) == 0 {
            for warp in 0..count {
                for _ in 0..=random.below(4) {
                    let op = random_op(random);
                    program.warps[warp].push(op);
                }
            }
            program.counts = std::array::from_fn(|_| 1 + random.below(2) as u32);
            program.warps_of = std::array::from_fn(|_| 2 + random.below(count - 1) as u32);
            return program;
        }
        let mut phases = [0; BARRIERS];
        let mut flags = 0;
        for _ in 0..=random.below(3) {
            program.tell(random, &mut phases, &mut flags);
        }
        for _ in 0..random.below(3) {
            program.change(random);
        }
        for warp in &mut program.warps {
            warp.truncate(MOST);
        }
        program
    }

    /// A warp does something, and another one goes on from there.
    fn tell(&mut self, random: &mut Random, phases: &mut [u32; BARRIERS], flags: &mut usize) {
        let from = random.below(self.warps.len());
        let to = (from + 1 + random.below(self.warps.len() - 1)) % self.warps.len();
        let piece = random.below(PIECES);
        let barrier = random.below(BARRIERS);
        let parity = phases[barrier] & 1;
        let mut first: Vec<Op> = Vec::new();
        let mut then: Vec<Op> = Vec::new();
        match random.below(8) {
            0 => {
                first.extend([Op::Fetch(piece, barrier)]);
                then.push(Op::Wait(barrier, parity));
                phases[barrier] += 1;
            }
            1 => {
                first.extend([Op::Copy(piece), Op::CopyArrive(barrier)]);
                then.push(Op::Wait(barrier, parity));
                phases[barrier] += 1;
            }
            2 => {
                first.extend(fence(random));
                first.extend([Op::Multiply(piece), Op::Commit(barrier)]);
                then.push(Op::Wait(barrier, parity));
                phases[barrier] += 1;
            }
            3 | 4 => {
                first.extend([data(random, piece), Op::Arrive(barrier)]);
                then.push(Op::Wait(barrier, parity));
                phases[barrier] += 1;
            }
            5 => {
                let id = random.below(NAMED);
                first.extend([data(random, piece), [Op::Sync(id), Op::Pass(id)][random.below(2)]]);
                then.push(Op::Sync(id));
            }
            6 if *flags < FLAGS => {
                let flag = *flags;
                *flags += 1;
                if random.below(2) == 0 {
                    first.extend([data(random, piece), Op::Raise(flag, true)]);
                } else {
                    first.extend([data(random, piece), Op::Fence, Op::Raise(flag, false)]);
                }
                if random.below(2) == 0 {
                    then.push(Op::Watch(flag, true));
                } else {
                    then.extend([Op::Watch(flag, false), Op::Fence]);
                }
            }
            _ => {
                first.push(data(random, piece));
                first.extend(fence(random));
                first.extend([Op::Put(piece), Op::PutWait, Op::Arrive(barrier)]);
                then.push(Op::Wait(barrier, parity));
                phases[barrier] += 1;
            }
        }
        match random.below(5) {
            0 => then.push(Op::Load(piece)),
            1 => then.push(Op::Store(piece)),
            2 => {
                then.extend(fence(random));
                then.push(Op::Put(piece));
            }
            3 => then.push(Op::Copy(piece)),
            _ => {}
        }
        self.warps[from].extend(first);
        self.warps[to].extend(then);
    }

    /// Something else than was meant.
    fn change(&mut self, random: &mut Random) {
        let count = self.warps.len();
        let warp = &mut self.warps[random.below(count)];
        let at = random.below(warp.len());
        match random.below(5) {
            0 if !warp.is_empty() => {
                warp.remove(at);
            }
            1 if warp.len() > at + 1 => warp.swap(at, at + 1),
            2 if !warp.is_empty() => {
                let op = warp[at];
                warp.insert(at, op);
            }
            3 => warp.insert(at, random_op(random)),
            _ => {
                let op = random_op(random);
                if let Some(old) = warp.get_mut(at) {
                    *old = op;
                }
            }
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
        let is_raise = |op: &&Op| matches!(op, Op::Raise(other, _) if *other == flag);
        self.warps.iter().flatten().filter(is_raise).count() as u32
    }

    pub(super) fn ptx(&self) -> String {
        let threads = self.warps.len() * 32;
        let mut text = format!(
            ".version 9.0\n.target sm_100a\n.address_size 64\n\
             .visible .entry k(.param .u64 in, .param .u64 out)\n.reqntid {threads}\n{{\n\
             .reg .pred lead, q;\n.reg .b32 tid, lane, warp, r<4>, taddr;\n.reg .b64 source, target, desc;\n\
             .shared .align 128 .b8 data[{}];\n.shared .align 8 .b64 bars[{BARRIERS}];\n\
             .shared .align 4 .b32 flags[{FLAGS}];\n.shared .align 4 .b32 slot;\n\
             ld.param.u64 source, [in];\nld.param.u64 target, [out];\n\
             mov.u32 tid, %tid.x;\nand.b32 lane, tid, 31;\nshr.u32 warp, tid, 5;\n\
             setp.eq.u32 q, warp, 0;\n@!q bra begin;\nsetp.eq.u32 lead, lane, 0;\n",
            BYTES as usize * PIECES
        );
        for (barrier, count) in self.counts.iter().enumerate() {
            let _ = writeln!(text, "@lead mbarrier.init.shared::cta.b64 [bars+{}], {count};", barrier * 8);
        }
        for flag in 0..FLAGS {
            let _ = writeln!(text, "@lead st.shared.b32 [flags+{}], 0;", flag * 4);
        }
        for at in (0..BYTES as usize * PIECES).step_by(16) {
            let _ = writeln!(text, "@lead st.shared.v4.b32 [data+{at}], {{0, 0, 0, 0}};");
        }
        text.push_str(
            "fence.proxy.async.shared::cta;\n\
             tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32;\n\
             begin:\nbar.sync 0;\nld.shared.b32 taddr, [slot];\nsetp.eq.u32 lead, lane, 0;\n",
        );
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
        let place = |piece: usize| format!("[data+{}]", piece * BYTES as usize);
        let bar = |barrier: usize| format!("[bars+{}]", barrier * 8);
        let _ = match op {
            // Each has a value of its own.
            Op::Store(piece) => writeln!(text, "@lead st.shared.b32 {}, {};", place(piece), number + 1),
            Op::Load(piece) => writeln!(text, "ld.shared.b32 r0, {};", place(piece)),
            Op::Arrive(it) => writeln!(text, "@lead mbarrier.arrive.shared::cta.b64 _, {};", bar(it)),
            Op::Wait(it, parity) => writeln!(
                text,
                "L{number}: mbarrier.try_wait.parity.shared::cta.b64 q, {}, {parity};\n@!q bra L{number};",
                bar(it)
            ),
            Op::Fetch(piece, it) => writeln!(
                text,
                "@lead mbarrier.arrive.expect_tx.shared::cta.b64 _, {}, {BYTES};\n\
                 @lead cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes {}, [source], {BYTES}, {};",
                bar(it),
                place(piece),
                bar(it)
            ),
            Op::Put(piece) => writeln!(
                text,
                "@lead cp.async.bulk.global.shared::cta.bulk_group [target], {}, {BYTES};\n\
                 @lead cp.async.bulk.commit_group;",
                place(piece)
            ),
            Op::PutWait => writeln!(text, "cp.async.bulk.wait_group 0;"),
            Op::Copy(piece) => {
                writeln!(text, "@lead cp.async.ca.shared.global {}, [source], 16;", place(piece))
            }
            Op::CopyWait => writeln!(text, "cp.async.wait_all;"),
            Op::CopyArrive(it) => {
                writeln!(text, "@lead cp.async.mbarrier.arrive.noinc.shared::cta.b64 {};", bar(it))
            }
            Op::Multiply(piece) => writeln!(
                text,
                "mov.u32 r1, data;\nshr.u32 r1, r1, 4;\nadd.u32 r1, r1, {};\ncvt.u64.u32 desc, r1;\n\
                 or.b64 desc, desc, {};\n@lead tcgen05.cp.cta_group::1.4x256b [taddr], desc;",
                piece as u32 * BYTES / 16,
                1_u64 << 46 | 4 << 16
            ),
            Op::Commit(it) => writeln!(
                text,
                "@lead tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 {};",
                bar(it)
            ),
            Op::Sync(id) => writeln!(text, "bar.sync {}, {};", id + 1, self.warps_of[id] * 32),
            Op::Pass(id) => writeln!(text, "bar.arrive {}, {};", id + 1, self.warps_of[id] * 32),
            Op::Raise(flag, release) => {
                let semantics = if release { "release" } else { "relaxed" };
                if self.raises(flag) == 1 {
                    writeln!(text, "@lead st.{semantics}.cta.shared.b32 [flags+{}], 1;", flag * 4)
                } else {
                    writeln!(text, "@lead red.{semantics}.cta.shared.add.u32 [flags+{}], 1;", flag * 4)
                }
            }
            Op::Watch(flag, acquire) => {
                let semantics = if acquire { "acquire" } else { "relaxed" };
                let wanted = self.raises(flag).max(1);
                writeln!(
                    text,
                    "L{number}: ld.{semantics}.cta.shared.b32 r2, [flags+{}];\nsetp.lt.u32 q, r2, {wanted};\n\
                     @q bra L{number};",
                    flag * 4
                )
            }
            Op::Fence => writeln!(text, "fence.acq_rel.cta;"),
            Op::ProxyFence => writeln!(text, "fence.proxy.async.shared::cta;"),
        };
    }
}

/// Something with a piece of memory.
fn data(random: &mut Random, piece: usize) -> Op {
    if random.below(3) == 0 { Op::Load(piece) } else { Op::Store(piece) }
}

/// The fence that shows what was written, most often.
fn fence(random: &mut Random) -> Option<Op> {
    (random.below(3) > 0).then_some(Op::ProxyFence)
}

fn random_op(random: &mut Random) -> Op {
    let piece = random.below(PIECES);
    let barrier = random.below(BARRIERS);
    match random.below(18) {
        0 | 1 => Op::Store(piece),
        2 => Op::Load(piece),
        3 | 4 => Op::Arrive(barrier),
        5 | 6 => Op::Wait(barrier, random.below(2) as u32),
        7 => Op::Fetch(piece, barrier),
        8 => Op::Put(piece),
        9 => Op::PutWait,
        10 => Op::Copy(piece),
        11 => [Op::CopyWait, Op::CopyArrive(barrier)][random.below(2)],
        12 => Op::Multiply(piece),
        13 => Op::Commit(barrier),
        14 => Op::Sync(random.below(NAMED)),
        15 => [Op::Pass(random.below(NAMED)), Op::Fence][random.below(2)],
        16 => [Op::Raise(random.below(FLAGS), random.below(2) == 0), Op::ProxyFence][random.below(2)],
        _ => Op::Watch(random.below(FLAGS), random.below(2) == 0),
    }
}
