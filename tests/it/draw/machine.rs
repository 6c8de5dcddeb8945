//! The machine does what is drawn: kernels that leave in each cell where it came from, compared with the pictures, cell by
//! cell.

use std::collections::BTreeMap;

use ptx_tc::descriptor::Features;
use ptx_tc::descriptor::shared_memory::{Matrix, SharedMemoryDescriptor, SwizzleMode};
use ptx_tc::draw::copies::{self, Copied};
use ptx_tc::draw::mma::{self, Multiply, Shown};
use ptx_tc::draw::registers::{self, Moved};
use ptx_tc::draw::smem::Operand;
use ptx_tc::draw::window::Window;
use ptx_tc::draw::{Block, Grid, Picture};
use ptx_tc::isa::element_types::ElementType;
use ptx_tc::isa::vocabulary::{CpShape, CtaGroup, Kind, LdShape, Num, WarpMulticast};
use ptx_tc::simulation::array::{Dtype, Form, OutFile};
use ptx_tc::simulation::launch::{Argument, Launch};
use ptx_tc::simulation::memory::Memory;
use ptx_tc::simulation::{Kernel, Output, Settings};
use ptx_tc::{Source, Unit};
use strum::IntoEnumIterator;

/// A kernel of four warps. `area` is filled with the bytes of shared memory, then Tensor Memory with columns of 128 lanes;
/// then a part of the text is executed, and the buffer is kept.
struct Run {
    shared: Vec<u8>,
    columns: usize,
    /// Thread 0 executes it; `s` is the area in units of 16 bytes, `t` the allocation.
    body: String,
    /// Everybody executes it afterwards; `in` is the buffer, `id` the thread, `lane` the lanes of the warp.
    after: String,
}

/// What each cell holds at first.
const fn value(lane: usize, column: usize) -> u32 {
    (lane << 8 | column) as u32
}

/// What a buffer holds after a run.
struct Left(Output);

impl Left {
    /// A word of it, if it is known.
    fn word(&self, index: usize) -> Option<u32> {
        let (at, Output { bytes, unknown, .. }) = (4 * index, &self.0);
        let is_known = !unknown.iter().any(|it| it.start < at + 4 && at < it.end);
        is_known.then(|| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()))
    }
}

/// Runs the kernel of a text in one cluster of 128 threads a CTA, with a buffer, in which nothing is found.
fn launched(text: &str, cluster: [u32; 3], data: Vec<u8>) -> Left {
    let source = Source::new("kernel.ptx", text).unwrap();
    let unit = Unit::new(&source);
    assert!(unit.syntax_errors.is_empty(), "{:?}\n{text}", unit.syntax_errors);
    let kernel = Kernel::new(&unit, "k").unwrap();
    let form = Form { dtype: Dtype::named("u8").unwrap(), shape: Vec::new() };
    let launch = Launch {
        grid: cluster,
        block: [128, 1, 1],
        cluster,
        dynamic_smem: 0,
        registers: None,
        cooperative: false,
        assume_zeros: false,
        arguments: vec![Argument::Buffer { bytes: data.len() as u64, data: Some(data) }],
        memory: Memory::default(),
        assumes: None,
        outs: vec![OutFile { argument: 0, field: None, name: "out".to_owned(), form }],
        arrays: Vec::new(),
        believes: true,
        assumed: Vec::new(),
    };
    let report = kernel.simulate_all(&launch, &Settings::default()).unwrap();
    assert!(report.diagnostics.is_empty(), "{:?}\n{text}", report.diagnostics);
    Left(report.outputs.into_iter().next().unwrap())
}

impl Run {
    fn words(&self, count: usize) -> Vec<Option<u32>> {
        let Self { shared, columns, body, after } = self;
        let bytes = shared.len();
        let text = format!(
            ".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u64 m)\n.reqntid 128\n{{\n\
             .reg .b64 in, a, b, o, s; .reg .b32 id, i, w, at, t, lane, own, r<128>; .reg .pred p, q, first, never;\n\
             .shared .align 1024 .b8 area[{bytes}]; .shared .align 8 .b64 full; .shared .align 4 .b32 slot;\n\
             ld.param.u64 in, [m]; mov.u32 id, %tid.x; mov.u32 i, id; setp.eq.u32 first, id, 0;\n\
             setp.ne.u32 never, id, id;\n\
             copy: shl.b32 at, i, 2; cvt.u64.u32 o, at; add.u64 a, in, o; ld.global.b32 w, [a];\n\
             mov.u32 own, area; add.u32 at, at, own; st.shared.b32 [at], w;\n\
             add.u32 i, i, 128; setp.lt.u32 q, i, {words}; @q bra copy;\n\
             @first mbarrier.init.shared::cta.b64 [full], 1;\n\
             setp.lt.u32 q, id, 32; @!q bra allocated;\n\
             tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 512;\n\
             allocated: bar.sync 0; ld.shared.b32 t, [slot];\n\
             shr.u32 lane, id, 5; shl.b32 lane, lane, 21; add.u32 lane, lane, t; mov.u32 i, 0;\n\
             fill: shl.b32 w, id, 8; or.b32 w, w, i; add.u32 at, lane, i;\n\
             tcgen05.st.sync.aligned.32x32b.x1.b32 [at], {{w}};\n\
             add.u32 i, i, 1; setp.lt.u32 q, i, {columns}; @q bra fill;\n\
             tcgen05.wait::st.sync.aligned; tcgen05.fence::before_thread_sync; fence.proxy.async; bar.sync 0;\n\
             @!first bra wait; tcgen05.fence::after_thread_sync;\n\
             mov.u32 at, area; shr.u32 at, at, 4; cvt.u64.u32 s, at;\n\
             {body}\n\
             tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [full];\n\
             wait: mbarrier.try_wait.parity.shared::cta.b64 q, [full], 0; @!q bra wait;\n\
             tcgen05.fence::after_thread_sync; bar.warp.sync -1;\n\
             {after}\n\
             tcgen05.fence::before_thread_sync; bar.sync 0;\n\
             setp.lt.u32 q, id, 32; @!q bra over;\n\
             tcgen05.dealloc.cta_group::1.sync.aligned.b32 t, 512;\n\
             over: ret;\n}}\n",
            words = bytes / 4,
        );
        let mut data = shared.clone();
        data.resize(data.len().max(4 * count), 0);
        let output = launched(&text, [1; 3], data);
        (0..count).map(|index| output.word(index)).collect()
    }

    /// What so many columns hold afterwards, by column and lane.
    fn cells(self, count: usize) -> Vec<Vec<Option<u32>>> {
        let after = format!(
            "mul.wide.u32 o, id, 4; add.u64 a, in, o; mov.u32 i, 0;\n\
             read: add.u32 at, lane, i; tcgen05.ld.sync.aligned.32x32b.x1.b32 {{w}}, [at];\n\
             tcgen05.wait::ld.sync.aligned; st.global.b32 [a], w;\n\
             add.u64 a, a, 512; add.u32 i, i, 1; setp.lt.u32 q, i, {count}; @q bra read;\n"
        );
        let after = format!("{}\n{after}", self.after);
        let words = Self { after, ..self }.words(128 * count);
        words.chunks(128).map(<[_]>::to_vec).collect()
    }
}

fn grids(picture: &Picture) -> Vec<&Grid> {
    picture.blocks.iter().filter_map(grid).collect()
}

fn grid(block: &Block) -> Option<&Grid> {
    match block {
        Block::Grid(grid) => Some(grid),
        _ => None,
    }
}

/// `3` or `0-31`: the first one.
fn first(text: &str) -> usize {
    text.split('-').next().unwrap().parse().unwrap()
}

/// The columns from the first address to the second one of `.16x32bx2`.
const SPLIT: u32 = 64;

fn forms() -> impl Iterator<Item = (LdShape, Num, bool)> {
    let shapes = LdShape::iter().flat_map(|shape| [Num::X1, Num::X2, Num::X8].map(|num| (shape, num)));
    shapes.flat_map(|(shape, num)| [(shape, num, false), (shape, num, true)])
}

/// Thread and register of a cell, and whether it is the upper half: `T3 r1.hi`.
fn register(text: &str) -> (usize, usize, bool) {
    let (thread, register) = text.split_once(' ').unwrap();
    let (register, is_high) = match register.split_once('.') {
        Some((register, half)) => (register, half == "hi"),
        None => (register, false),
    };
    (thread[1..].parse().unwrap(), register[1..].parse().unwrap(), is_high)
}

/// The registers of a vector, and its other operands.
fn vector(shape: LdShape, count: usize) -> (String, String) {
    let registers: Vec<String> = (0..count).map(|it| format!("r{it}")).collect();
    let split = if shape == LdShape::S16x32bx2 { format!(", {SPLIT}") } else { String::new() };
    (format!("{{{}}}", registers.join(", ")), format!("[t]{split}"))
}

#[test]
fn loads_bring_each_cell_to_the_register_that_is_drawn() {
    for (shape, num, packed) in forms() {
        let count = shape.vector_length(num).unwrap() as usize;
        let (registers, address) = vector(shape, count);
        let pack = if packed { ".pack::16b" } else { "" };
        let stores: String =
            (0..count).map(|it| format!("st.global.b32 [a+{}], r{it};\n", 128 * it)).collect();
        let after = format!(
            "setp.lt.u32 q, id, 32; @!q bra loaded;\n\
             tcgen05.ld.sync.aligned.{shape}.{num}{pack}.b32 {registers}, {address};\n\
             tcgen05.wait::ld.sync.aligned; mul.wide.u32 o, id, 4; add.u64 a, in, o;\n{stores}loaded:"
        );
        let run = Run { shared: vec![0; 512], columns: 256, body: String::new(), after };
        let words = run.words(32 * count);
        let moved = Moved { shape, num, packed, store: false, split: Some(SPLIT) };
        let picture = registers::picture(&moved, &Window::ALL).unwrap();
        let mut seen = 0;
        for (half, grid) in grids(&picture).into_iter().enumerate() {
            for (row, (at, cell)) in
                grid.rows.iter().flat_map(|row| row.cells.iter().enumerate().map(move |it| (row, it)))
            {
                let (thread, register, is_high) = register(&cell.text);
                let found = words[32 * register + thread].unwrap();
                let wanted = value(first(&row.label), at + half * SPLIT as usize);
                let found = match (packed, is_high) {
                    (false, _) => found,
                    (true, false) => found & 0xFFFF,
                    (true, true) => found >> 16,
                };
                assert_eq!(found, wanted, "{shape} {num} {packed} {}", cell.text);
                seen += 1;
            }
        }
        assert_eq!(seen, 32 * count * if packed { 2 } else { 1 });
    }
}

#[test]
fn stores_bring_each_register_to_the_cell_that_is_drawn() {
    for (shape, num, packed) in forms() {
        let count = shape.vector_length(num).unwrap() as usize;
        let (registers, address) = vector(shape, count);
        let unpack = if packed { ".unpack::16b" } else { "" };
        // Both halves of a register say which it is.
        let fills: String = (0..count)
            .map(|it| format!("mad.lo.u32 r{it}, id, 256, {it}; mad.lo.u32 r{it}, r{it}, 65536, r{it};\n"))
            .collect();
        let after = format!(
            "setp.lt.u32 q, id, 32; @!q bra stored;\n{fills}\
             tcgen05.st.sync.aligned.{shape}.{num}{unpack}.b32 {address}, {registers};\n\
             tcgen05.wait::st.sync.aligned;\nstored: tcgen05.fence::before_thread_sync; bar.sync 0;\n\
             tcgen05.fence::after_thread_sync;"
        );
        let cells = Run { shared: vec![0; 512], columns: 256, body: String::new(), after }.cells(192);
        let moved = Moved { shape, num, packed, store: true, split: Some(SPLIT) };
        let picture = registers::picture(&moved, &Window::ALL).unwrap();
        let mut drawn = BTreeMap::new();
        for (half, grid) in grids(&picture).into_iter().enumerate() {
            for row in &grid.rows {
                for (at, cell) in row.cells.iter().enumerate() {
                    let (thread, register, _) = register(&cell.text);
                    drawn.insert(
                        (first(&row.label), at + half * SPLIT as usize),
                        (thread << 8 | register) as u32,
                    );
                }
            }
        }
        for (column, lanes) in cells.iter().enumerate() {
            for (lane, found) in lanes.iter().enumerate() {
                match drawn.get(&(lane, column)) {
                    // The upper half of a cell that is unpacked to is no one's.
                    Some(wanted) => assert_eq!(found.unwrap() & 0xFFFF, *wanted, "{shape} {num} {packed}"),
                    None => assert_eq!(*found, Some(value(lane, column)), "{shape} {num}: nothing else"),
                }
            }
        }
    }
}

/// What a descriptor says, but for the start.
fn descriptor(mode: SwizzleMode, lbo: u64, sbo: u64) -> u64 {
    let descriptor = SharedMemoryDescriptor { lbo, sbo, ..SharedMemoryDescriptor::new(0, mode) };
    descriptor.encode(&Matrix::any(Features::ANY)).unwrap()
}

#[test]
fn copies_bring_each_address_to_the_lane_that_is_drawn() {
    let shared: Vec<u8> = (0..8192_u32).flat_map(|word| (4 * word).to_le_bytes()).collect();
    let shapes = [
        (CpShape::S128x256b, None),
        (CpShape::S128x128b, None),
        (CpShape::S64x128b, Some(WarpMulticast::Warpx2_02_13)),
        (CpShape::S64x128b, Some(WarpMulticast::Warpx2_01_23)),
        (CpShape::S32x128b, Some(WarpMulticast::Warpx4)),
    ];
    for (shape, multicast) in shapes {
        for (mode, lbo, sbo) in [
            (SwizzleMode::None, 128, 256),
            (SwizzleMode::None, 2048, 128),
            (SwizzleMode::Bytes32, 16, 256),
            (SwizzleMode::Bytes64, 16, 512),
            (SwizzleMode::Bytes128, 16, 1024),
            (SwizzleMode::Bytes128Atom32, 16, 1024),
        ] {
            let word = descriptor(mode, lbo, sbo);
            let suffix = multicast.map_or_else(String::new, |it| format!(".{it}"));
            let body = format!("add.u64 a, s, {word:#x}; tcgen05.cp.cta_group::1.{shape}{suffix} [t], a;");
            let count = shape.columns();
            let run = Run { shared: shared.clone(), columns: 16, body, after: String::new() };
            let cells = run.cells(count as usize);
            let operand = Operand {
                word,
                features: Features::ANY,
                element: ElementType::U8,
                kind: Kind::I8,
                is_k_major: true,
                rows: Some(shape.rows()),
                columns: Some(count * 4),
                access: None,
            };
            let pieces: BTreeMap<(u32, u32), u32> =
                operand.pieces().unwrap().into_iter().map(|it| ((it.row, it.column), it.address)).collect();
            let copied = Copied { shape, multicast, decompressed: None, cta_group: CtaGroup::One };
            let picture = copies::picture(&copied, &Window::ALL).unwrap();
            for row in &grids(&picture)[0].rows {
                let lane = first(&row.label);
                for (column, cell) in row.cells.iter().enumerate() {
                    let (source, bytes) = cell.text.split_once(',').unwrap();
                    let byte = first(bytes) as u32;
                    let address = pieces[&(source.parse().unwrap(), byte / 16 * 16)] + byte % 16;
                    assert_eq!(
                        cells[column][lane],
                        Some(address),
                        "{shape} {mode:?} lane {lane}, column {column}"
                    );
                }
            }
        }
    }
}

/// A whole number as f16.
fn half(number: u32) -> u16 {
    let Some(exponent) = number.checked_ilog2() else { return 0 };
    ((exponent + 15) << 10 | (number << 10 >> exponent) & 0x3FF) as u16
}

/// An operand of 16-bit elements whose groups lie one behind the other, and its descriptor from `start` on.
fn packed(mode: SwizzleMode, is_k_major: bool, rows: u32, start: u64) -> Operand {
    let span = mode.span();
    let (lbo, sbo) = match (is_k_major, mode) {
        (_, SwizzleMode::None) => (128 * u64::from(rows / 8), 128),
        (true, _) => (16, 8 * span),
        (false, _) => (16 * span, 8 * span),
    };
    Operand {
        word: descriptor(mode, lbo, sbo) | start >> 4,
        features: Features::ANY,
        element: ElementType::F16,
        kind: Kind::F16,
        is_k_major,
        rows: Some(rows),
        columns: Some(16),
        access: None,
    }
}

fn put(shared: &mut [u8], operand: &Operand, element: impl Fn(u32, u32) -> u32) {
    for piece in operand.pieces().unwrap() {
        for at in 0..piece.elements {
            let (row, column) = if operand.is_k_major {
                (piece.row, piece.column + at)
            } else {
                (piece.row + at, piece.column)
            };
            let byte = (piece.address + 2 * at) as usize;
            shared[byte..byte + 2].copy_from_slice(&half(element(row, column)).to_le_bytes());
        }
    }
}

/// A dense multiply of f16.
const MULTIPLY: Multiply = Multiply {
    kind: Kind::F16,
    cta_group: CtaGroup::One,
    ws: false,
    sparse: false,
    m: 128,
    n: 64,
    k: None,
    a: None,
    scale_vector_size: None,
    scale_ids: (0, 0),
    selector: 0,
    lane: 0,
};

/// A and B are written where they are drawn, so that D[r, c] = 256 r + c; D is read where it is drawn.
#[test]
fn multiplies_read_and_write_what_is_drawn() {
    const B: u64 = 16 << 10;
    let base = MULTIPLY;
    // Layouts D, F in both halves, E, G.
    let multiplies = [
        base,
        Multiply { m: 64, ..base },
        Multiply { m: 64, lane: 16, ..base },
        Multiply { m: 64, ws: true, ..base },
        Multiply { m: 32, ws: true, ..base },
        Multiply { ws: true, ..base },
    ];
    let modes = [SwizzleMode::None, SwizzleMode::Bytes32, SwizzleMode::Bytes64, SwizzleMode::Bytes128];
    let mut compared = 0;
    for (multiply, mode) in multiplies.iter().flat_map(|multiply| modes.map(|mode| (multiply, mode))) {
        for (a_is_k_major, b_is_k_major) in [(true, true), (true, false), (false, true), (false, false)] {
            let Multiply { m, n, ws, lane, .. } = *multiply;
            let a = packed(mode, a_is_k_major, m, 0);
            let b = packed(mode, b_is_k_major, n, B);
            let mut shared = vec![0; 32 << 10];
            put(&mut shared, &a, |row, k| [row, 1].get(k as usize).copied().unwrap_or(0));
            put(&mut shared, &b, |column, k| [256, column].get(k as usize).copied().unwrap_or(0));
            let transposes = u32::from(!a_is_k_major) << 15 | u32::from(!b_is_k_major) << 16;
            let idesc = 1 << 4 | transposes | (n >> 3) << 17 | (m >> 4) << 24;
            let body = format!(
                "add.u64 a, s, {:#x}; add.u64 b, s, {:#x}; add.u32 w, t, {:#x};\n\
                 tcgen05.mma{}.cta_group::1.kind::f16 [w], a, b, {idesc:#x}, never;",
                a.word,
                b.word,
                lane << 16,
                if ws { ".ws" } else { "" },
            );
            let picture = mma::picture(multiply, Some(Shown::D), &Window::ALL).unwrap();
            let grid = grids(&picture)[0];
            let count = grid.heads.len();
            let cells = Run { shared, columns: 64, body, after: String::new() }.cells(count);
            for row in &grid.rows {
                let lane = first(&row.label);
                for (at, cell) in row.cells.iter().enumerate() {
                    let found = cells[at][lane];
                    let Some((row, column)) = cell.text.split_once(',') else {
                        assert_eq!(found, Some(value(lane, at)), "{multiply:?}: left alone");
                        continue;
                    };
                    let (row, column): (u32, u32) = (row.parse().unwrap(), column.parse().unwrap());
                    let wanted = (256 * row + column) as f32;
                    assert_eq!(
                        found.map(f32::from_bits),
                        Some(wanted),
                        "{mode:?} {multiply:?} {row},{column}"
                    );
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 400_000, "{compared}");
}

/// What both CTAs of a pair hold after a multiply, by CTA, column and lane. `shared` is the shared memory of each.
fn pair(shared: [&[u8]; 2], idesc: u32, (a, b): (u64, u64), columns: usize) -> [Vec<Vec<Option<u32>>>; 2] {
    let bytes = shared[0].len();
    let text = format!(
        ".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u64 m)\n\
         .reqntid 128 .reqnctapercluster 2\n{{\n\
         .reg .b64 in, a, b, o, s; .reg .b32 rank, id, i, w, at, t, lane, own; .reg .pred q, first, leads, never;\n\
         .shared .align 1024 .b8 area[{bytes}]; .shared .align 8 .b64 full; .shared .align 4 .b32 slot;\n\
         ld.param.u64 in, [m]; mov.u32 id, %tid.x; mov.u32 i, id; mov.u32 rank, %cluster_ctarank;\n\
         mul.wide.u32 o, rank, {bytes}; add.u64 in, in, o;\n\
         setp.eq.u32 first, id, 0; setp.ne.u32 never, id, id; setp.eq.u32 leads, rank, 0;\n\
         and.pred leads, leads, first;\n\
         copy: shl.b32 at, i, 2; cvt.u64.u32 o, at; add.u64 a, in, o; ld.global.b32 w, [a];\n\
         mov.u32 own, area; add.u32 at, at, own; st.shared.b32 [at], w;\n\
         add.u32 i, i, 128; setp.lt.u32 q, i, {words}; @q bra copy;\n\
         @first mbarrier.init.shared::cta.b64 [full], 1; @first fence.mbarrier_init.release.cluster;\n\
         setp.lt.u32 q, id, 32; @!q bra allocated;\n\
         tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [slot], 512;\n\
         allocated: fence.proxy.async; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n\
         ld.shared.b32 t, [slot]; @!leads bra wait;\n\
         mov.u32 at, area; shr.u32 at, at, 4; cvt.u64.u32 s, at; add.u64 a, s, {a:#x}; add.u64 b, s, {b:#x};\n\
         tcgen05.mma.cta_group::2.kind::f16 [t], a, b, {idesc:#x}, never;\n\
         tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [full], 3;\n\
         wait: mbarrier.try_wait.parity.shared::cta.b64 q, [full], 0; @!q bra wait;\n\
         tcgen05.fence::after_thread_sync; bar.warp.sync -1;\n\
         shr.u32 lane, id, 5; shl.b32 lane, lane, 21; add.u32 lane, lane, t;\n\
         mul.wide.u32 o, id, 4; add.u64 a, in, o; mov.u32 i, 0;\n\
         read: add.u32 at, lane, i; tcgen05.ld.sync.aligned.32x32b.x1.b32 {{w}}, [at];\n\
         tcgen05.wait::ld.sync.aligned; st.global.b32 [a], w;\n\
         add.u64 a, a, 512; add.u32 i, i, 1; setp.lt.u32 q, i, {columns}; @q bra read;\n\
         tcgen05.fence::before_thread_sync; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n\
         setp.lt.u32 q, id, 32; @!q bra over;\n\
         tcgen05.dealloc.cta_group::2.sync.aligned.b32 t, 512;\n\
         over: ret;\n}}\n",
        words = bytes / 4,
    );
    let data = shared.concat();
    assert!(512 * columns <= bytes, "the results lie where the shared memory was");
    let output = launched(&text, [2, 1, 1], data);
    let cells = |cta: usize| {
        let cell = |column: usize, lane: usize| output.word(cta * bytes / 4 + 128 * column + lane);
        (0..columns).map(|column| (0..128).map(|lane| cell(column, lane)).collect()).collect()
    };
    [cells(0), cells(1)]
}

/// The same for the two CTAs of a pair: each holds half of the rows of A and half of the columns of B.
#[test]
fn pairs_read_and_write_what_is_drawn() {
    const B: u64 = 16 << 10;
    let mut compared = 0;
    for (m, mode) in [128, 256].into_iter().flat_map(|m| {
        [SwizzleMode::None, SwizzleMode::Bytes32, SwizzleMode::Bytes64, SwizzleMode::Bytes128]
            .map(|mode| (m, mode))
    }) {
        for (a_is_k_major, b_is_k_major) in [(true, true), (true, false), (false, true), (false, false)] {
            let n = 64;
            let (a, b) = (packed(mode, a_is_k_major, m / 2, 0), packed(mode, b_is_k_major, n / 2, B));
            // The groups of 64 elements of the widest swizzle are wider than half of B.
            if !b_is_k_major && mode == SwizzleMode::Bytes128 {
                continue;
            }
            let shared = [0, 1].map(|cta| {
                let mut shared = vec![0; 64 << 10];
                put(&mut shared, &a, |row, k| [row + cta * m / 2, 1].get(k as usize).copied().unwrap_or(0));
                put(&mut shared, &b, |column, k| {
                    [256, column + cta * n / 2].get(k as usize).copied().unwrap_or(0)
                });
                shared
            });
            let transposes = u32::from(!a_is_k_major) << 15 | u32::from(!b_is_k_major) << 16;
            let idesc = 1 << 4 | transposes | (n >> 3) << 17 | (m >> 4) << 24;
            let multiply = Multiply { cta_group: CtaGroup::Two, m, n, ..MULTIPLY };
            let picture = mma::picture(&multiply, Some(Shown::D), &Window::ALL).unwrap();
            let drawn = grids(&picture);
            assert_eq!(drawn.len(), 2, "a grid for each CTA");
            let count = drawn[0].heads.len();
            let held = pair([&shared[0], &shared[1]], idesc, (a.word, b.word), count);
            for (grid, cells) in drawn.iter().zip(&held) {
                for row in &grid.rows {
                    let lane = first(&row.label);
                    for (at, cell) in row.cells.iter().enumerate() {
                        let (row, column) = cell.text.split_once(',').unwrap();
                        let (row, column): (u32, u32) = (row.parse().unwrap(), column.parse().unwrap());
                        let wanted = (256 * row + column) as f32;
                        assert_eq!(
                            cells[at][lane].map(f32::from_bits),
                            Some(wanted),
                            "{mode:?} M = {m}: {row},{column}"
                        );
                        compared += 1;
                    }
                }
            }
        }
    }
    assert!(compared > 150_000, "{compared}");
}
