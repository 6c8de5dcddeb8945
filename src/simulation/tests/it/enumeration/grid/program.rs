//! Small programs of warps in several CTAs and clusters, which meet in global memory.

use std::fmt::Write as _;

use super::super::program::Random;

/// Which threads take part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Scope {
    Cta,
    Cluster,
    Gpu,
}

/// What a warp does: its first thread, or all where that makes no difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    /// Of a piece of global memory: weakly, or with a scope.
    Store(usize, Option<Scope>),
    Load(usize, Option<Scope>),
    /// Adds to a flag: whether by a release.
    Raise(usize, bool, Scope),
    /// Adds to a flag, and goes on if all others have: whether by a release that acquires, too.
    Last(usize, bool, Scope),
    /// Waits until all have added to a flag: whether by an acquire.
    Watch(usize, bool, Scope),
    /// Whether it is `.sc`.
    Fence(bool, Scope),
    /// `bar.sync` of the CTA.
    Sync,
    /// `barrier.cluster`: whether its arrival releases.
    Meet(bool),
}

pub(super) const PIECES: usize = 2;
pub(super) const FLAGS: usize = 3;
/// Operations of a warp.
pub(super) const MOST: usize = 9;
/// Bytes between places.
const STRIDE: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Program {
    /// CTAs of a cluster, and warps of each.
    pub(super) ctas: usize,
    pub(super) warps: usize,
    /// By warp, those of one CTA next to each other.
    pub(super) ops: Vec<Vec<Op>>,
}

impl Program {
    pub(super) fn random(random: &mut Random) -> Self {
        // Clusters, CTAs and warps.
        let (clusters, ctas, warps) =
            [(2, 1, 1), (3, 1, 1), (2, 1, 2), (1, 2, 1), (1, 2, 2), (2, 2, 1), (1, 1, 2), (4, 1, 1)]
                [random.below(8)];
        let mut program = Self { ctas, warps, ops: vec![Vec::new(); clusters * ctas * warps] };
        let mut flags = 0;
        for _ in 0..=random.below(3) {
            program.tell(random, &mut flags);
        }
        if flags < FLAGS && random.below(4) == 0 {
            program.count(random, flags);
        }
        for _ in 0..random.below(3) {
            program.change(random);
        }
        for ops in &mut program.ops {
            ops.truncate(MOST);
        }
        program.keep_once();
        program
    }

    pub(super) fn cta_of(&self, warp: usize) -> usize {
        warp / self.warps
    }

    pub(super) fn cluster_of(&self, warp: usize) -> usize {
        warp / self.warps / self.ctas
    }

    /// The scope that has both.
    pub(super) fn scope_of(&self, one: usize, other: usize) -> Scope {
        if self.cta_of(one) == self.cta_of(other) {
            Scope::Cta
        } else if self.cluster_of(one) == self.cluster_of(other) {
            Scope::Cluster
        } else {
            Scope::Gpu
        }
    }

    /// Of the operations of a warp on one flag only the first of a kind stays.
    fn keep_once(&mut self) {
        for ops in &mut self.ops {
            let mut seen = Vec::new();
            ops.retain(|op| {
                let key = match op {
                    Op::Raise(flag, ..) | Op::Last(flag, ..) => (0, *flag),
                    Op::Watch(flag, ..) => (1, *flag),
                    _ => return true,
                };
                let is_new = !seen.contains(&key);
                seen.push(key);
                is_new
            });
        }
    }

    /// Some warps do something, and others go on from there.
    fn tell(&mut self, random: &mut Random, flags: &mut usize) {
        let count = self.ops.len();
        let from = random.below(count);
        let to = (from + 1 + random.below(count - 1)) % count;
        let piece = random.below(PIECES);
        let needed = self.scope_of(from, to);
        self.ops[from].push(data(random, piece));
        let kind = random.below(6);
        if kind == 0 && needed == Scope::Cta {
            let cta = self.cta_of(from);
            self.all(|program, warp| program.cta_of(warp) == cta, Op::Sync);
        } else if kind == 0 && needed == Scope::Cluster {
            let cluster = self.cluster_of(from);
            let releases = random.below(4) > 0;
            if !releases && random.below(2) == 0 {
                self.ops[from].push(Op::Fence(false, scope(random, needed)));
            }
            self.all(|program, warp| program.cluster_of(warp) == cluster, Op::Meet(releases));
        } else if *flags < FLAGS {
            let flag = *flags;
            *flags += 1;
            // Others count, too, or one does it for its CTA.
            let mut teller = from;
            if kind == 1 {
                let other = random.below(count);
                if other != to && other != from {
                    let own = random.below(PIECES);
                    self.ops[other].push(data(random, own));
                    self.raise(random, other, flag, needed.max(self.scope_of(other, to)));
                }
            } else if kind == 2 && self.warps == 2 {
                if random.below(2) == 0 {
                    self.ops[from].push(Op::Fence(false, scope(random, needed)));
                }
                let cta = self.cta_of(from);
                self.all(|program, warp| program.cta_of(warp) == cta, Op::Sync);
                teller = from ^ 1;
            }
            let needed = needed.max(self.scope_of(teller, to));
            self.raise(random, teller, flag, needed);
            self.watch(random, to, flag, needed);
            if kind == 3 && self.warps == 2 {
                let cta = self.cta_of(to);
                self.all(|program, warp| program.cta_of(warp) == cta, Op::Sync);
                self.ops[to ^ 1].push(data(random, piece));
            }
        }
        self.ops[to].push(data(random, piece));
    }

    /// Some warps leave something, and the last one to count reads it.
    fn count(&mut self, random: &mut Random, flag: usize) {
        let from = random.below(self.ops.len());
        for step in 0..2 + random.below(2).min(self.ops.len() - 2) {
            let warp = (from + step) % self.ops.len();
            let piece = random.below(PIECES);
            self.ops[warp].push(data(random, piece));
            if random.below(2) == 0 {
                self.ops[warp].push(Op::Last(flag, true, scope(random, Scope::Gpu)));
            } else {
                self.ops[warp].push(Op::Fence(false, scope(random, Scope::Gpu)));
                self.ops[warp].push(Op::Last(flag, false, scope(random, Scope::Gpu)));
                self.ops[warp].push(Op::Fence(false, scope(random, Scope::Gpu)));
            }
            self.ops[warp].extend((0..PIECES).map(|piece| Op::Load(piece, None)));
        }
    }

    /// Whether it depends on who comes last what is done.
    pub(super) fn has_last(&self) -> bool {
        self.ops.iter().flatten().any(|op| matches!(op, Op::Last(..)))
    }

    /// Whether there are several clusters.
    pub(super) fn has_clusters(&self) -> bool {
        self.ops.len() > self.ctas * self.warps
    }

    fn all(&mut self, takes_part: impl Fn(&Self, usize) -> bool, op: Op) {
        for warp in 0..self.ops.len() {
            if takes_part(self, warp) {
                self.ops[warp].push(op);
            }
        }
    }

    fn raise(&mut self, random: &mut Random, warp: usize, flag: usize, needed: Scope) {
        if random.below(2) == 0 {
            self.ops[warp].push(Op::Raise(flag, true, scope(random, needed)));
        } else {
            self.ops[warp].push(Op::Fence(random.below(3) == 0, scope(random, needed)));
            self.ops[warp].push(Op::Raise(flag, false, scope(random, needed)));
        }
    }

    fn watch(&mut self, random: &mut Random, warp: usize, flag: usize, needed: Scope) {
        if random.below(2) == 0 {
            self.ops[warp].push(Op::Watch(flag, true, scope(random, needed)));
        } else {
            self.ops[warp].push(Op::Watch(flag, false, scope(random, needed)));
            self.ops[warp].push(Op::Fence(random.below(3) == 0, scope(random, needed)));
        }
    }

    /// Something else than was meant.
    fn change(&mut self, random: &mut Random) {
        let count = self.ops.len();
        let ops = &mut self.ops[random.below(count)];
        let at = random.below(ops.len());
        match random.below(4) {
            0 if !ops.is_empty() => {
                ops.remove(at);
            }
            1 if ops.len() > at + 1 => ops.swap(at, at + 1),
            2 => ops.insert(at, random_op(random)),
            _ => {
                let op = random_op(random);
                if let Some(old) = ops.get_mut(at) {
                    *old = op;
                }
            }
        }
    }

    /// The same with one operation less.
    pub(super) fn smaller(&self) -> impl Iterator<Item = Self> + use<> {
        let all = self.clone();
        let places: Vec<(usize, usize)> = all
            .ops
            .iter()
            .enumerate()
            .flat_map(|(warp, ops)| (0..ops.len()).map(move |at| (warp, at)))
            .collect();
        places.into_iter().map(move |(warp, at)| {
            let mut less = all.clone();
            less.ops[warp].remove(at);
            less
        })
    }

    /// How often a flag is raised.
    pub(super) fn raises(&self, flag: usize) -> u32 {
        let is_raise = |op: &&Op| matches!(op, Op::Raise(other, ..) | Op::Last(other, ..) if *other == flag);
        self.ops.iter().flatten().filter(is_raise).count() as u32
    }

    /// Its launch.
    pub(super) fn launch(&self) -> String {
        let grid = self.ops.len() / self.warps;
        let bytes = STRIDE * (PIECES + FLAGS);
        format!(
            "grid = [{grid}]\ncluster = [{}]\n[[arg]]\ntype = \"buffer\"\nbytes = {bytes}\nfill = 0\n",
            self.ctas
        )
    }

    pub(super) fn ptx(&self) -> String {
        let threads = self.warps * 32;
        let mut text = format!(
            ".version 9.0\n.target sm_100a\n.address_size 64\n\
             .visible .entry k(.param .u64 in)\n.reqntid {threads}\n{{\n\
             .reg .pred lead, q;\n.reg .b32 tid, warp, cta, r<4>;\n.reg .b64 data;\n\
             ld.param.u64 data, [in];\n\
             mov.u32 tid, %tid.x;\nand.b32 r0, tid, 31;\nsetp.eq.u32 lead, r0, 0;\n\
             shr.u32 warp, tid, 5;\nmov.u32 cta, %ctaid.x;\nmad.lo.u32 warp, cta, {}, warp;\n",
            self.warps
        );
        for warp in 1..self.ops.len() {
            let _ = writeln!(text, "setp.eq.u32 q, warp, {warp};\n@q bra warp{warp};");
        }
        for (warp, ops) in self.ops.iter().enumerate() {
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
        let place = |piece: usize| format!("[data+{}]", piece * STRIDE);
        let flag_at = |flag: usize| format!("[data+{}]", (PIECES + flag) * STRIDE);
        let word = |scope: Scope| match scope {
            Scope::Cta => "cta",
            Scope::Cluster => "cluster",
            Scope::Gpu => "gpu",
        };
        let strength =
            |scope: Option<Scope>| scope.map_or(String::new(), |scope| format!(".relaxed.{}", word(scope)));
        let _ = match op {
            // Each has a value of its own.
            Op::Store(piece, scope) => {
                writeln!(text, "@lead st{}.global.b32 {}, {};", strength(scope), place(piece), number + 1)
            }
            Op::Load(piece, scope) => {
                writeln!(text, "ld{}.global.b32 r0, {};", strength(scope), place(piece))
            }
            Op::Raise(flag, release, scope) => {
                let semantics = if release { "release" } else { "relaxed" };
                let (scope, at) = (word(scope), flag_at(flag));
                if self.raises(flag) == 1 {
                    writeln!(text, "@lead st.{semantics}.{scope}.global.b32 {at}, 1;")
                } else {
                    writeln!(text, "@lead red.{semantics}.{scope}.global.add.u32 {at}, 1;")
                }
            }
            Op::Last(flag, both, scope) => {
                let semantics = if both { "acq_rel" } else { "relaxed" };
                writeln!(
                    text,
                    "mov.u32 r2, 0;\n@lead atom.{semantics}.{}.global.add.u32 r2, {}, 1;\n\
                     shfl.sync.idx.b32 r2, r2, 0, 31, -1;\nsetp.ne.u32 q, r2, {};\n@q ret;",
                    word(scope),
                    flag_at(flag),
                    self.raises(flag) - 1
                )
            }
            Op::Watch(flag, acquire, scope) => {
                let semantics = if acquire { "acquire" } else { "relaxed" };
                let wanted = self.raises(flag).max(1);
                writeln!(
                    text,
                    "L{number}: ld.{semantics}.{}.global.b32 r2, {};\nsetp.lt.u32 q, r2, {wanted};\n\
                     @q bra L{number};",
                    word(scope),
                    flag_at(flag)
                )
            }
            Op::Fence(sc, scope) => {
                writeln!(text, "fence.{}.{};", if sc { "sc" } else { "acq_rel" }, word(scope))
            }
            Op::Sync => writeln!(text, "bar.sync 1, {};", self.warps * 32),
            Op::Meet(releases) => writeln!(
                text,
                "barrier.cluster.arrive{}.aligned;\nbarrier.cluster.wait.aligned;",
                if releases { "" } else { ".relaxed" }
            ),
        };
    }
}

/// Something with a piece of memory: weakly, most often.
fn data(random: &mut Random, piece: usize) -> Op {
    let strong = (random.below(6) == 0).then(|| any_scope(random));
    if random.below(3) == 0 { Op::Load(piece, strong) } else { Op::Store(piece, strong) }
}

fn any_scope(random: &mut Random) -> Scope {
    [Scope::Cta, Scope::Cluster, Scope::Gpu][random.below(3)]
}

/// The scope that is needed or a wider one, most often.
fn scope(random: &mut Random, needed: Scope) -> Scope {
    match random.below(6) {
        0 => any_scope(random),
        1 | 2 => Scope::Gpu,
        _ => needed,
    }
}

fn random_op(random: &mut Random) -> Op {
    let (flag, piece) = (random.below(FLAGS), random.below(PIECES));
    let scope = any_scope(random);
    match random.below(8) {
        0 | 1 => data(random, piece),
        2 => Op::Raise(flag, random.below(2) == 0, scope),
        3 => Op::Watch(flag, random.below(2) == 0, scope),
        4 | 5 => Op::Fence(random.below(2) == 0, scope),
        6 => Op::Sync,
        _ => Op::Meet(random.below(2) == 0),
    }
}
