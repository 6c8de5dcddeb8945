//! Forms of `tcgen05.mma` and `tcgen05.cp` that no kernel of this repository has, compared with plain sums. Where the
//! elements, masks, metadata and scale factors lie is written here anew. All numbers are so small that sums are exact.

#![allow(clippy::float_cmp, reason = "sums are exact")]
#![allow(
    clippy::many_single_char_names,
    reason = "matrices and their sizes are called what the ISA calls them"
)]

use ptx_simulation::Output;

use crate::{buffer, launched, left_with};

/// What a kernel starts with: the bytes of shared memory, and columns of Tensor Memory of 128 lanes each.
struct Start {
    shared: Vec<u8>,
    columns: Vec<[u32; 128]>,
}

impl Start {
    fn new(shared: usize, columns: usize) -> Self {
        Self { shared: vec![0; shared], columns: vec![[0; 128]; columns] }
    }

    /// Sets some bits of shared memory.
    fn put(&mut self, bit: usize, bits: usize, code: u32) {
        for at in 0..bits {
            self.shared[(bit + at) / 8] |= ((code >> at & 1) as u8) << ((bit + at) % 8);
        }
    }

    /// What `count` columns of Tensor Memory from `first` on hold after a body, which thread 0 executes. `s` is shared
    /// memory in units of 16 bytes, `t` Tensor Memory, `p` holds.
    fn after(&self, target: &str, body: &str, first: usize, count: usize) -> Vec<[Option<u32>; 128]> {
        self.after_with(target, body, (first, count), true)
    }

    /// The same with a key `assume` of the launch file.
    fn after_with(
        &self,
        target: &str,
        body: &str,
        (first, count): (usize, usize),
        believes: bool,
    ) -> Vec<[Option<u32>; 128]> {
        let (text, data) = self.kernel(target, body, first, count);
        let Output { bytes, unknown, .. } = left_with(&text, vec![buffer(data)], 128, believes);
        let is_known = |at: usize| !unknown.iter().any(|it| it.start < at + 4 && at < it.end);
        let word =
            |at: usize| is_known(at).then(|| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()));
        (0..count).map(|column| std::array::from_fn(|lane| word(512 * column + 4 * lane))).collect()
    }

    /// The kernel, and what is in its buffer.
    fn kernel(&self, target: &str, body: &str, first: usize, count: usize) -> (String, Vec<u8>) {
        let (bytes, columns) = (self.shared.len(), self.columns.len());
        let text = format!(
            ".version 9.0\n.target {target}\n.address_size 64\n.visible .entry k(.param .u64 m)\n.reqntid 128\n{{\n\
             .reg .b64 in, a, b, o, s, z; .reg .b32 id, i, w, at, t, lane, own; .reg .pred p, q, first, never;\n\
             .shared .align 1024 .b8 area[{bytes}]; .shared .align 8 .b64 full; .shared .align 4 .b32 slot;\n\
             ld.param.u64 in, [m]; mov.u32 id, %tid.x; mov.u32 i, id; setp.eq.u32 first, id, 0;\n\
             setp.eq.u32 p, id, id; setp.ne.u32 never, id, id;\n\
             copy: shl.b32 at, i, 2; cvt.u64.u32 o, at; add.u64 a, in, o; ld.global.b32 w, [a];\n\
             mov.u32 own, area; add.u32 at, at, own; st.shared.b32 [at], w;\n\
             add.u32 i, i, 128; setp.lt.u32 q, i, {words}; @q bra copy;\n\
             @first mbarrier.init.shared::cta.b64 [full], 1;\n\
             setp.lt.u32 q, id, 32; @!q bra allocated;\n\
             tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 512;\n\
             allocated: bar.sync 0; ld.shared.b32 t, [slot];\n\
             shr.u32 lane, id, 5; shl.b32 lane, lane, 21; add.u32 lane, lane, t;\n\
             mul.wide.u32 o, id, 4; add.u64 a, in, o; mov.u32 i, 0;\n\
             fill: ld.global.b32 w, [a+{bytes}]; add.u32 at, lane, i;\n\
             tcgen05.st.sync.aligned.32x32b.x1.b32 [at], {{w}};\n\
             add.u64 a, a, 512; add.u32 i, i, 1; setp.lt.u32 q, i, {columns}; @q bra fill;\n\
             tcgen05.wait::st.sync.aligned; tcgen05.fence::before_thread_sync; fence.proxy.async; bar.sync 0;\n\
             @!first bra wait; tcgen05.fence::after_thread_sync;\n\
             mov.u32 at, area; shr.u32 at, at, 4; cvt.u64.u32 s, at;\n\
             {body}\n\
             tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [full];\n\
             wait: mbarrier.try_wait.parity.shared::cta.b64 q, [full], 0; @!q bra wait;\n\
             tcgen05.fence::after_thread_sync; bar.warp.sync -1;\n\
             mul.wide.u32 o, id, 4; add.u64 a, in, o; mov.u32 i, 0;\n\
             read: add.u32 at, lane, i; add.u32 at, at, {first}; tcgen05.ld.sync.aligned.32x32b.x1.b32 {{w}}, [at];\n\
             tcgen05.wait::ld.sync.aligned; st.global.b32 [a], w;\n\
             add.u64 a, a, 512; add.u32 i, i, 1; setp.lt.u32 q, i, {count}; @q bra read;\n\
             tcgen05.fence::before_thread_sync; bar.sync 0;\n\
             setp.lt.u32 q, id, 32; @!q bra over;\n\
             tcgen05.dealloc.cta_group::1.sync.aligned.b32 t, 512;\n\
             over: ret;\n}}\n",
            words = bytes / 4,
        );
        let mut data = self.shared.clone();
        data.extend(self.columns.iter().flatten().flat_map(|word| word.to_le_bytes()));
        data.resize(data.len().max(512 * count), 0);
        (text, data)
    }
}

/// Numbers that repeat in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, count: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        (self.0 >> 33) % count
    }

    /// Whole numbers from -3 to 3.
    fn matrix(&mut self, rows: usize, columns: usize) -> Vec<Vec<f32>> {
        (0..rows).map(|_| (0..columns).map(|_| self.below(7) as f32 - 3.0).collect()).collect()
    }
}

/// A whole number from -3 to 3 as f16.
fn half(value: f32) -> u32 {
    let magnitude = [0, 0x3C00, 0x4000, 0x4200][value.abs() as usize];
    if value < 0.0 { magnitude | 0x8000 } else { magnitude }
}

/// The numbers of e2m1 by their codes.
fn e2m1(code: u32) -> f32 {
    let magnitude = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0][code as usize & 7];
    if code & 8 != 0 { -magnitude } else { magnitude }
}

/// Rows of 16-bit elements that lie K-major without swizzling, eight rows by eight columns in 128 bytes: the groups of
/// columns follow each other, and then those of rows.
fn put_rows(start: &mut Start, from: usize, rows: &[Vec<f32>]) {
    let groups = rows[0].len() / 8;
    for (row, elements) in rows.iter().enumerate() {
        for (column, element) in elements.iter().enumerate() {
            let byte = from + row % 8 * 16 + row / 8 * (128 * groups) + column / 8 * 128 + column % 8 * 2;
            start.put(8 * byte, 16, half(*element));
        }
    }
}

/// The descriptor of such rows of `columns` elements, but for the start: offsets of 128 bytes and of all groups.
fn plain(columns: usize) -> u64 {
    1 << 46 | (128 * columns as u64 / 8) >> 4 << 32 | 128 >> 4 << 16
}

/// The descriptor of an instruction of `.kind::f16` with D in f32.
fn idesc(m: usize, n: usize, sparse: bool) -> u32 {
    1 << 4 | u32::from(sparse) << 2 | (n as u32 >> 3) << 17 | (m as u32 >> 4) << 24
}

/// D of `.ws`: its columns are divided among the quarters of the lanes that have the same rows.
fn of_ws(cells: &[[Option<u32>; 128]], m: usize, row: usize, column: usize) -> Option<f32> {
    let lane = row + column / cells.len() * m;
    cells[column % cells.len()][lane].map(f32::from_bits)
}

#[test]
fn columns_of_a_mask_count_as_zero_and_others_are_shifted() {
    // Start counts, first spans, skip span, use span, shift.
    let masks: [([u64; 4], u64, u64, u64, u64); 4] = [
        ([0; 4], 0, 2, 3, 0),
        ([1, 2, 1, 0], 0b0011, 2, 3, 2),
        ([5, 0, 7, 3], 0b1010, 0, 6, 16),
        ([200, 255, 17, 4], 0b0101, 13, 1, 7),
    ];
    for ((starts, firsts, skip, keep, shift), m) in
        masks.into_iter().flat_map(|it| [32, 64, 128].map(|m| (it, m)))
    {
        let n = 64;
        let mut random = Random(m as u64 + shift);
        let (a, b) = (random.matrix(m, 16), random.matrix(n + 32, 16));
        let mut start = Start::new(16 * 1024, 1);
        put_rows(&mut start, 0, &a);
        put_rows(&mut start, 8192, &b);
        let mask = starts.iter().enumerate().fold(0, |word, (at, count)| word | count << (8 * at))
            | firsts << 32
            | 1 << 39
            | skip << 40
            | keep << 48
            | shift << 56;
        let body = format!(
            "add.u64 a, s, {}; add.u64 b, s, {}; mov.u64 z, {mask};\n\
             tcgen05.mma.ws.cta_group::1.kind::f16 [t], a, b, {}, never, z;",
            plain(16),
            plain(16) | 8192 >> 4,
            idesc(m, n, false)
        );
        let parts = 128 / m;
        let cells = start.after("sm_100a", &body, 0, n / parts);
        for (row, column) in (0..m).flat_map(|row| (0..n).map(move |column| (row, column))) {
            // Runs of ones and of zeros, by turns: one has `skip` + 1, the other `keep` + 1.
            let part = column / (n / parts);
            let mut bits = Vec::new();
            let mut is_one = firsts >> part & 1 == 1;
            while bits.len() < 600 {
                bits.extend(vec![is_one; if is_one { skip + 1 } else { keep + 1 } as usize]);
                is_one = !is_one;
            }
            let is_zero = bits[starts[part] as usize + column % (n / parts)];
            let product = |k: usize| a[row][k] * b[column + shift as usize][k];
            let expected = if is_zero { 0.0 } else { (0..16).map(product).sum() };
            assert_eq!(of_ws(&cells, m, row, column), Some(expected), "M = {m}, ({row}, {column})");
        }
    }
}

#[test]
fn sparse_multiplies_that_are_weight_stationary() {
    // The four bits of two indices, as the ISA lists them.
    let pairs: [(u32, [usize; 2]); 7] = [
        (0b0100, [0, 1]),
        (0b1000, [0, 2]),
        (0b1100, [0, 3]),
        (0b1001, [1, 2]),
        (0b1101, [1, 3]),
        (0b0110, [2, 1]),
        (0b1110, [2, 3]),
    ];
    for (m, selector) in [(32, 0), (64, 0), (64, 1), (128, 1)] {
        let (n, k, parts) = (64, 32, 128 / m);
        let mut random = Random(m as u64 + 7);
        let (stored, b) = (random.matrix(m, k / 2), random.matrix(n, k));
        let mut start = Start::new(16 * 1024, 102);
        put_rows(&mut start, 0, &stored);
        put_rows(&mut start, 8192, &b);
        let mut a = vec![vec![0.0; k]; m];
        for (row, chunk) in (0..m).flat_map(|row| (0..k / 4).map(move |chunk| (row, chunk))) {
            let (bits, places) = pairs[random.below(7) as usize];
            for (at, place) in places.into_iter().enumerate() {
                a[row][4 * chunk + place] = stored[row][2 * chunk + at];
            }
            // 16 rows share 16 lanes: rows r and r + 8 have the halves of lanes r (the first 16 bits of a row) and r + 8.
            let lane = row / 16 * 16 + row % 8 + chunk / 4 * 8;
            let bit = chunk % 4 * 4 + row % 16 / 8 * 16;
            for part in 0..parts {
                start.columns[100 + selector][lane + part * m] |= bits << bit;
            }
        }
        let body = format!(
            "add.u64 a, s, {}; add.u64 b, s, {}; add.u32 w, t, 100;\n\
             tcgen05.mma.ws.sp.cta_group::1.kind::f16 [t], a, b, [w], {}, never;",
            plain(16),
            plain(32) | 8192 >> 4,
            idesc(m, n, true) | selector as u32
        );
        let cells = start.after("sm_100a", &body, 0, n / parts);
        for (row, column) in (0..m).flat_map(|row| (0..n).map(move |column| (row, column))) {
            let expected: f32 = (0..k).map(|at| a[row][at] * b[column][at]).sum();
            assert_eq!(of_ws(&cells, m, row, column), Some(expected), "M = {m}, ({row}, {column})");
        }
    }
}

/// A sparse A of `rows` rows of 16-bit elements: what is stored, all of it, and by row and chunk the bits of metadata.
type SparseA = (Vec<Vec<f32>>, Vec<Vec<f32>>, Vec<Vec<u32>>);

fn sparse_a(random: &mut Random, rows: usize, k: usize) -> SparseA {
    let pairs = [(0b0100, [0, 1]), (0b1000, [0, 2]), (0b1100, [0, 3]), (0b1001, [1, 2]), (0b1110, [2, 3])];
    let stored = random.matrix(rows, k / 2);
    let (mut all, mut metadata) = (vec![vec![0.0; k]; rows], vec![Vec::new(); rows]);
    for (row, chunk) in (0..rows).flat_map(|row| (0..k / 4).map(move |chunk| (row, chunk))) {
        let (bits, places): (u32, [usize; 2]) = pairs[random.below(5) as usize];
        for (at, place) in places.into_iter().enumerate() {
            all[row][4 * chunk + place] = stored[row][2 * chunk + at];
        }
        metadata[row].push(bits);
    }
    (stored, all, metadata)
}

/// Layout F: rows 0 to 15 lie in the first or the second half of the first warp's lanes, the next ones in those of the next
/// warp. The metadata do, too.
#[test]
fn sparse_multiplies_that_use_half_of_the_lanes() {
    let (m, n, k) = (64, 16, 32);
    for (half_of_lanes, selector, from_tensor) in [(0, 0, false), (16, 1, false), (0, 1, true), (16, 0, true)]
    {
        let mut random = Random(half_of_lanes as u64 + 3);
        let (stored, a, metadata) = sparse_a(&mut random, m, k);
        let b = random.matrix(n, k);
        let mut start = Start::new(16 * 1024, 60);
        put_rows(&mut start, 0, &stored);
        put_rows(&mut start, 8192, &b);
        let lane_of = |row: usize| half_of_lanes + row / 16 * 32 + row % 16;
        for (row, metadata) in metadata.iter().enumerate() {
            for (chunk, bits) in metadata.iter().enumerate() {
                // The halves of two rows that are eight apart share two lanes.
                let lane = lane_of(row / 16 * 16 + row % 8 + chunk / 4 * 8);
                start.columns[50 + selector][lane] |= bits << (chunk % 4 * 4 + row % 16 / 8 * 16);
            }
            for (at, pair) in stored[row].chunks(2).enumerate() {
                start.columns[32 + at][lane_of(row)] = half(pair[0]) | half(pair[1]) << 16;
            }
        }
        let operand = if from_tensor { "[at]" } else { "a" };
        let body = format!(
            "add.u64 a, s, {}; add.u64 b, s, {}; add.u32 t, t, {}; add.u32 w, t, 50; add.u32 at, t, 32;\n\
             tcgen05.mma.sp.cta_group::1.kind::f16 [t], {operand}, b, [w], {}, never;\nsub.u32 t, t, {};",
            plain(16),
            plain(32) | 8192 >> 4,
            half_of_lanes << 16,
            idesc(m, n, true) | selector as u32,
            half_of_lanes << 16,
        );
        let cells = start.after("sm_100a", &body, 0, n);
        for (row, column) in (0..m).flat_map(|row| (0..n).map(move |column| (row, column))) {
            let expected: f32 = (0..k).map(|at| a[row][at] * b[column][at]).sum();
            let got = cells[column][lane_of(row)].map(f32::from_bits);
            assert_eq!(got, Some(expected), "lane {half_of_lanes}: ({row}, {column})");
            // Other lanes are left as they were.
            assert_eq!(cells[column][lane_of(row) ^ 16], Some(0));
        }
        // No source says where these metadata lie.
        let cells = start.after_with("sm_100a", &body, (0, n), false);
        assert!((0..m).all(|row| cells.iter().all(|column| column[lane_of(row)].is_none())));
    }
}

/// Each row gets what the next one has, but for the last one of each quarter of the lanes.
fn shifted(column: &[u32; 128]) -> [u32; 128] {
    std::array::from_fn(|lane| column[if lane % 32 == 31 { lane } else { lane + 1 }])
}

#[test]
fn shifts_move_rows_within_each_quarter() {
    let mut random = Random(31);
    let mut start = Start::new(1024, 24);
    start.columns.iter_mut().flatten().for_each(|word| *word = random.below(1 << 31) as u32);
    // At the first lane, and in another quarter.
    for (at, is_known) in [(8, true), (8 | 32 << 16, false)] {
        let body = format!("add.u32 w, t, {at}; tcgen05.shift.cta_group::1.down [w];");
        for believes in [true, false] {
            let cells = start.after_with("sm_100a", &body, (0, 24), believes);
            for (column, (cells, before)) in cells.iter().zip(&start.columns).enumerate() {
                let is_shifted = (8..16).contains(&column);
                let expected = match is_known && believes {
                    _ if !is_shifted => before.map(Some),
                    false => [None; 128],
                    true => shifted(before).map(Some),
                };
                assert_eq!(*cells, expected, "{body} column {column}");
            }
        }
    }
}

/// `.ashift` multiplies A as it is, and then shifts it.
#[test]
fn a_multiply_shifts_its_a_afterwards() {
    let (m, n, k) = (128, 8, 16);
    let mut random = Random(37);
    let (a, b) = (random.matrix(m, k), random.matrix(n, k));
    let mut start = Start::new(1024, 40);
    put_rows(&mut start, 0, &b);
    for (row, elements) in a.iter().enumerate() {
        for (at, pair) in elements.chunks(2).enumerate() {
            start.columns[16 + at][row] = half(pair[0]) | half(pair[1]) << 16;
        }
    }
    let body = format!(
        "add.u64 b, s, {}; add.u32 w, t, 16; add.u32 at, t, 8;\n\
         tcgen05.mma.cta_group::1.kind::f16.ashift [t], [w], b, {idesc}, never;\n\
         tcgen05.mma.cta_group::1.kind::f16 [at], [w], b, {idesc}, never;",
        plain(16),
        idesc = idesc(m, n, false)
    );
    let cells = start.after("sm_100a", &body, 0, 32);
    for (column, (cells, before)) in cells.iter().zip(&start.columns).enumerate().skip(16).take(8) {
        assert_eq!(*cells, shifted(before).map(Some), "column {column} of A");
    }
    for (row, column) in (0..m).flat_map(|row| (0..n).map(move |column| (row, column))) {
        let sum = |row: usize| Some((0..k).map(|at| a[row][at] * b[column][at]).sum());
        assert_eq!(cells[column][row].map(f32::from_bits), sum(row), "({row}, {column})");
        let next = if row % 32 == 31 { row } else { row + 1 };
        assert_eq!(
            cells[8 + column][row].map(f32::from_bits),
            sum(next),
            "the next multiply: ({row}, {column})"
        );
    }
    let cells = start.after_with("sm_100a", &body, (0, 24), false);
    assert!(cells.iter().flatten().all(Option::is_none));
}

/// A in f16 by B in bf16.
#[test]
fn halves_of_two_formats_are_multiplied() {
    let (m, n, k) = (128, 8, 16);
    let mut random = Random(41);
    let (a, b) = (random.matrix(m, k), random.matrix(n, k));
    for (a_is_bf16, b_is_bf16) in [(false, true), (true, false), (true, true)] {
        let mut start = Start::new(8192, 1);
        for (from, rows, is_bf16) in [(0, &a, a_is_bf16), (4096, &b, b_is_bf16)] {
            for (row, elements) in rows.iter().enumerate() {
                for (at, element) in elements.iter().enumerate() {
                    let byte = from + row % 8 * 16 + row / 8 * 256 + at / 8 * 128 + at % 8 * 2;
                    let code = if is_bf16 { element.to_bits() >> 16 } else { half(*element) };
                    start.put(8 * byte, 16, code);
                }
            }
        }
        let body = format!(
            "add.u64 a, s, {}; add.u64 b, s, {};\n\
             tcgen05.mma.cta_group::1.kind::f16 [t], a, b, {}, never;",
            plain(16),
            plain(16) | 4096 >> 4,
            idesc(m, n, false) | u32::from(a_is_bf16) << 7 | u32::from(b_is_bf16) << 10
        );
        for believes in [true, false] {
            let cells = start.after_with("sm_100a", &body, (0, n), believes);
            for (row, column) in (0..m).flat_map(|row| (0..n).map(move |column| (row, column))) {
                let sum: f32 = (0..k).map(|at| a[row][at] * b[column][at]).sum();
                // Of formats that are mixed, no source says anything.
                let expected = (believes || a_is_bf16 == b_is_bf16).then_some(sum);
                assert_eq!(cells[column][row].map(f32::from_bits), expected, "({row}, {column})");
            }
        }
    }
}

/// Where a byte lies in rows of 128 bytes that are swizzled by sixteen bytes: by the row within 1024 bytes.
fn swizzled(byte: usize) -> usize {
    byte ^ (byte / 128 % 8) << 4
}

#[test]
fn ninety_six_columns_lie_in_two_chunks() {
    let (m, k) = (128, 96);
    // The blocks that have a scale factor, the id, columns of B, and the byte of a row that the matrices start at.
    for (block, id, n, first) in
        [(32, 0, 64, 0), (32, 3, 128, 96), (32, 2, 136, 112), (16, 2, 256, 96), (16, 0, 8, 80)]
    {
        let mut random = Random(first as u64 + n as u64);
        let mut start = Start::new(1 << 17, 432);
        // Two chunks of rows of 128 bytes each, of A and of B.
        let places = [(0, 0x4000), (0x8000, 0x10000)];
        let mut matrices = Vec::new();
        for ((lines, (one, other)), column) in [m, n].into_iter().zip(places).zip([400, 416]) {
            let codes: Vec<Vec<u32>> =
                (0..lines).map(|_| (0..k).map(|_| random.below(16) as u32).collect()).collect();
            for (row, codes) in codes.iter().enumerate() {
                for (at, code) in codes.iter().enumerate() {
                    let nibble = 2 * first + at;
                    let (chunk, within) = if nibble < 256 { (one, nibble) } else { (other, nibble - 256) };
                    let byte = swizzled(row * 128 + within / 2);
                    start.put(8 * (chunk + byte) + within % 2 * 4, 4, *code);
                }
            }
            // Powers of two near 1. 32 lines have the lanes of a column; four columns have 128 lines, and four factors.
            let scales: Vec<Vec<i32>> =
                (0..lines).map(|_| (0..k / block).map(|_| random.below(5) as i32 - 2).collect()).collect();
            let step = if lines > 128 { 8 } else { 4 };
            for (line, scales) in scales.iter().enumerate() {
                for (number, scale) in scales.iter().enumerate() {
                    let at = id + number;
                    for quarter in 0..4 {
                        let lane = line % 32 + 32 * quarter;
                        let cell = &mut start.columns[column + at / 4 * step + line / 32][lane];
                        *cell |= ((127 + scale) as u32) << (at % 4 * 8);
                    }
                }
            }
            matrices.push((codes, scales));
        }
        let [(a, scales_a), (b, scales_b)] = &matrices[..] else { unreachable!() };
        let idesc = (id as u32) << 4
            | 1 << 7
            | 1 << 10
            | (n as u32 >> 3) << 17
            | 1 << 23
            | (m as u32 >> 7) << 27
            | (id as u32) << 29
            | 1 << 31;
        // 128 bytes swizzled, absolute leading dimensions, 1024 bytes from eight rows to the next.
        let descriptor = |(one, other): (u64, u64)| {
            2 << 61 | 1 << 52 | 1 << 46 | 1024 >> 4 << 32 | other >> 4 << 16 | (one + first as u64) >> 4
        };
        let both = (1_u64 << 16) + 1;
        let body = format!(
            "mul.lo.u64 o, s, {both}; add.u64 a, o, {}; add.u64 b, o, {};\n\
             add.u32 w, t, 400; add.u32 at, t, 416;\n\
             tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.block{block} [t], a, b, {idesc}, [w], [at], never;",
            descriptor((0, 0x4000)),
            descriptor((0x8000, 0x10000)),
        );
        let cells = start.after("sm_103a", &body, 0, n);
        for (row, column) in (0..m).flat_map(|row| (0..n).map(move |column| (row, column))) {
            let product = |at: usize| {
                let scale = scales_a[row][at / block] + scales_b[column][at / block];
                e2m1(a[row][at]) * e2m1(b[column][at]) * 2_f32.powi(scale)
            };
            let expected: f32 = (0..k).map(product).sum();
            let got = cells[column][row].map(f32::from_bits);
            assert_eq!(got, Some(expected), "blocks of {block}, id {id}, N = {n}: ({row}, {column})");
        }
    }
}

#[test]
fn copies_put_narrow_elements_into_the_middle_of_bytes() {
    for (bits, name, atype) in [(4, "b4x16_p64", 5), (6, "b6x16_p32", 4)] {
        let (m, n, k) = (128, 8, 32);
        let mut random = Random(bits as u64);
        let mut start = Start::new(1 << 14, 48);
        let codes: Vec<Vec<u32>> =
            (0..m).map(|_| (0..k).map(|_| random.below(1 << bits) as u32).collect()).collect();
        // Rows of 32 bytes, eight by sixteen bytes in 128; sixteen elements at the start of sixteen bytes.
        for (row, codes) in codes.iter().enumerate() {
            for (at, code) in codes.iter().enumerate() {
                let byte = row % 8 * 16 + row / 8 * 256 + at / 16 * 128;
                start.put(8 * byte + at % 16 * bits, bits, *code);
            }
        }
        // B in e4m3: 1, and -1 or 2.
        let b: Vec<Vec<f32>> =
            (0..n).map(|_| (0..k).map(|_| [1.0, -1.0, 2.0][random.below(3) as usize]).collect()).collect();
        for (row, elements) in b.iter().enumerate() {
            for (at, element) in elements.iter().enumerate() {
                let code = if *element == 2.0 {
                    0x40
                } else if *element < 0.0 {
                    0xB8
                } else {
                    0x38
                };
                start.put(8 * (8192 + row * 16 + at / 16 * 128 + at % 16), 8, code);
            }
        }
        // All scale factors are 1.
        for column in 40..48 {
            start.columns[column] = [0x7F7F_7F7F; 128];
        }
        let idesc = (atype << 7) | (n as u32 >> 3) << 17 | 1 << 23 | 1 << 27;
        let body = format!(
            "add.u64 a, s, {}; add.u64 b, s, {}; add.u32 w, t, 32; add.u32 at, t, 40; add.u32 i, t, 44;\n\
             tcgen05.cp.cta_group::1.128x256b.b8x16.{name} [w], a;\n\
             tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale [t], [w], b, {idesc}, [at], [i], never;",
            plain(16),
            plain(16) | 8192 >> 4
        );
        let cells = start.after("sm_100a", &body, 0, 40);
        for (row, codes) in codes.iter().enumerate() {
            for (at, code) in codes.iter().enumerate() {
                let byte = cells[32 + at / 4][row].unwrap() >> (at % 4 * 8) & 0xFF;
                assert_eq!(byte, code << if bits == 4 { 2 } else { 1 }, "{name}: ({row}, {at})");
            }
            for (column, b) in b.iter().enumerate() {
                let value = |code: u32| {
                    if bits == 4 {
                        return e2m1(code);
                    }
                    // e3m2: three bits of exponent with a bias of 3, two of fraction.
                    let (exponent, fraction) = (code >> 2 & 7, (code & 3) as f32 / 4.0);
                    let magnitude = match exponent {
                        0 => fraction / 4.0,
                        _ => (1.0 + fraction) * 2_f32.powi(exponent.cast_signed() - 3),
                    };
                    if code & 32 != 0 { -magnitude } else { magnitude }
                };
                let expected: f32 = codes.iter().zip(b).map(|(code, b)| value(*code) * b).sum();
                assert_eq!(
                    cells[column][row].map(f32::from_bits),
                    Some(expected),
                    "{name}: ({row}, {column})"
                );
            }
        }
    }
}

/// Whatever words a multiply has, it is computed, a finding, or not known.
#[test]
fn no_descriptor_is_too_wrong() {
    let mut random = Random(11);
    let mut start = Start::new(1 << 14, 64);
    start.columns.iter_mut().flatten().for_each(|word| *word = random.0 as u32);
    let mut word = |known: u64, bits: u64| {
        let any = random.below(1 << 31) << 33 | random.below(1 << 31) << 2;
        // Some bits of a word that means something are others.
        known ^ (any & bits & (random.below(1 << 31) << 33 | random.below(1 << 31)))
    };
    for round in 0..40 {
        let (a, b) = (word(plain(16), u64::MAX), word(plain(16) | 2 << 61 | 1 << 52, u64::MAX));
        let mask = word(1 << 39 | 3 << 40 | 2 << 48, u64::MAX);
        let halves = word(idesc(64, 64, false).into(), 0x7FFF_FFFF) as u32;
        let scaled = word(0xC908_0480, 0xFFFF_FFFF) as u32;
        let multiply = match round % 5 {
            0 => format!("tcgen05.mma.ws.cta_group::1.kind::f16 [t], a, b, {halves}, p, z;"),
            1 => format!("tcgen05.mma.sp.cta_group::1.kind::f16 [t], a, b, [t], {}, p;", halves | 4),
            2 => format!(
                "tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.block16 [t], a, b, {scaled}, [w], [w], never;"
            ),
            3 => format!(
                "tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale [t], [w], b, {scaled}, [t], [t], p;"
            ),
            _ => "tcgen05.cp.cta_group::1.64x128b.warpx2::02_13.b8x16.b6x16_p32 [w], b;".to_owned(),
        };
        let body = format!(
            "add.u64 a, s, {a}; add.u64 b, s, {b}; mov.u64 z, {mask}; add.u32 w, t, 500;\n{multiply}"
        );
        let (text, data) = start.kernel("sm_103a", &body, 0, 8);
        launched(&text, vec![buffer(data)], 128);
    }
}
