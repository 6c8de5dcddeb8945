//! Operands in shared memory, piece by piece, against the canonical layouts of 9.7.16.3.3: shapes and strides in units of
//! 16 bytes, then `Swizzle<B, 4, 3>`.

use std::collections::BTreeMap;

use ptx_descriptor::Features;
use ptx_descriptor::shared_memory::{Matrix, SharedMemoryDescriptor, SwizzleMode};
use ptx_draw::Block;
use ptx_draw::smem::{Access, Conflicts, Operand, picture};
use ptx_isa::element_types::ElementType;
use ptx_isa::vocabulary::Kind;

use crate::{Strides, ends, grids, offset};

/// `Swizzle<bits, base, shift>`
fn swizzled(address: u64, (bits, base, shift): (u32, u32, u32)) -> u64 {
    let mask = ((1 << bits) - 1) << (base + shift);
    address ^ (address & mask) >> shift
}

/// The address of an element, whose offsets along the rows (M or N) and along K are counted in elements.
fn expected(operand: &Case, row: u64, k: u64) -> u64 {
    let Case { mode, is_k_major, lbo, sbo, start, bits } = *operand;
    // T elements of 16 bytes; strides of the table in bytes.
    let t = 128 / u64::from(bits);
    let size = u64::from(bits) / 8;
    let (of_rows, of_k): (Strides, Strides) = match (is_k_major, mode) {
        // ((8,m),(T,2k)):((1T,SBO),(1,LBO))
        (true, SwizzleMode::None) => (vec![(8, 16), (0, sbo)], vec![(t, size), (0, lbo)]),
        // ((8,m),(T,2k)):((2T,SBO),(1,T)), 4T, 8T
        (true, SwizzleMode::Bytes32) => (vec![(8, 2 * 16), (0, sbo)], vec![(t, size), (0, 16)]),
        (true, SwizzleMode::Bytes64) => (vec![(8, 4 * 16), (0, sbo)], vec![(t, size), (0, 16)]),
        (true, SwizzleMode::Bytes128 | SwizzleMode::Bytes128Atom32) => {
            (vec![(8, 8 * 16), (0, sbo)], vec![(t, size), (0, 16)])
        }
        // ((T,1,m),(8,k)):((1,T,SBO),(1T,LBO))
        (false, SwizzleMode::None) => (vec![(t, size), (1, 16), (0, sbo)], vec![(8, 16), (0, lbo)]),
        // ((T,2,m),(8,k)):((1,T,LBO),(2T,SBO)), 4 and 4T, 8 and 8T
        (false, SwizzleMode::Bytes32) => (vec![(t, size), (2, 16), (0, lbo)], vec![(8, 2 * 16), (0, sbo)]),
        (false, SwizzleMode::Bytes64) => (vec![(t, size), (4, 16), (0, lbo)], vec![(8, 4 * 16), (0, sbo)]),
        (false, SwizzleMode::Bytes128) => (vec![(t, size), (8, 16), (0, lbo)], vec![(8, 8 * 16), (0, sbo)]),
        // Atoms of 32 bytes: four columns to a pattern.
        (false, SwizzleMode::Bytes128Atom32) => {
            (vec![(t, size), (8, 16), (0, lbo)], vec![(4, 8 * 16), (0, sbo)])
        }
    };
    let swizzle = match mode {
        SwizzleMode::None => (0, 4, 3),
        SwizzleMode::Bytes32 => (1, 4, 3),
        SwizzleMode::Bytes64 => (2, 4, 3),
        SwizzleMode::Bytes128 => (3, 4, 3),
        SwizzleMode::Bytes128Atom32 => (2, 5, 2),
    };
    swizzled(start + offset(&of_rows, row) + offset(&of_k, k), swizzle)
}

#[derive(Clone, Copy, Debug)]
struct Case {
    mode: SwizzleMode,
    is_k_major: bool,
    lbo: u64,
    sbo: u64,
    start: u64,
    bits: u32,
}

fn operand(case: &Case, element: ElementType, kind: Kind, (rows, columns): (u32, u32)) -> Operand {
    let descriptor = SharedMemoryDescriptor {
        lbo: case.lbo,
        sbo: case.sbo,
        ..SharedMemoryDescriptor::new(case.start, case.mode)
    };
    Operand {
        word: descriptor.encode(&Matrix::any(Features::ANY)).unwrap(),
        features: Features::ANY,
        element,
        kind,
        is_k_major: case.is_k_major,
        rows: Some(rows),
        columns: Some(columns),
        access: None,
    }
}

const MODES: [SwizzleMode; 5] = [
    SwizzleMode::None,
    SwizzleMode::Bytes32,
    SwizzleMode::Bytes64,
    SwizzleMode::Bytes128,
    SwizzleMode::Bytes128Atom32,
];

#[test]
fn each_piece_is_where_the_canonical_layout_has_it() {
    let types = [
        (ElementType::Bf16, Kind::F16, 16),
        (ElementType::Tf32, Kind::Tf32, 32),
        (ElementType::E4m3, Kind::F8f6f4, 8),
        (ElementType::S8, Kind::I8, 8),
    ];
    let mut pieces = 0;
    for (mode, (element, kind, bits)) in
        MODES.iter().flat_map(|mode| types.iter().map(move |ty| (*mode, *ty)))
    {
        for (is_k_major, start) in [(true, 0), (true, 0x2000), (false, 0), (false, 0x4400)] {
            let span = mode.span();
            // Groups one behind the other, and strides that leave gaps.
            for (lbo, sbo) in [(8 * span, 16 * span), (0x3000, 0x400)] {
                let case = Case { mode, is_k_major, lbo, sbo, start, bits };
                let along = 128 / bits;
                let size = if is_k_major { (24, 2 * along) } else { (4 * along, 24) };
                // What is swizzled along rows has no leading dimension: a row ends with its pattern.
                let size = if is_k_major && mode != SwizzleMode::None {
                    (24, (span as u32 * 8 / bits).min(4 * along))
                } else {
                    size
                };
                let operand = operand(&case, element, kind, size);
                for piece in operand.pieces().unwrap() {
                    let wanted = expected(&case, piece.row.into(), piece.column.into());
                    assert_eq!(u64::from(piece.address), wanted, "{case:?} {piece:?}");
                    assert_eq!(piece.elements, along, "{case:?}");
                    pieces += 1;
                }
            }
        }
    }
    assert!(pieces > 5000, "{pieces}");
}

/// The examples of the ISA, as it writes them: shapes and strides in elements.
#[test]
fn examples_of_the_isa() {
    let k = |shape: &[(u64, u64)], at: u64| offset(shape, at);
    // Figure 188: K-major, no swizzling, tf32: ((8,2),(4,4)):((4,32),(1,64)).
    let case = Case { mode: SwizzleMode::None, is_k_major: true, lbo: 256, sbo: 128, start: 0, bits: 32 };
    for piece in operand(&case, ElementType::Tf32, Kind::Tf32, (16, 16)).pieces().unwrap() {
        let at = k(&[(8, 4), (2, 32)], piece.row.into()) + k(&[(4, 1), (4, 64)], piece.column.into());
        assert_eq!(u64::from(piece.address), 4 * at, "{piece:?}");
    }
    // Figure 189: K-major, 32 bytes, tf32: Swizzle<1,4,3> o ((8,2),(4,4)):((8,64),(1,4)), of which a row has 32 bytes.
    let case = Case { mode: SwizzleMode::Bytes32, is_k_major: true, lbo: 16, sbo: 256, start: 0, bits: 32 };
    for piece in operand(&case, ElementType::Tf32, Kind::Tf32, (16, 8)).pieces().unwrap() {
        let at = k(&[(8, 8), (2, 64)], piece.row.into()) + k(&[(4, 1), (4, 4)], piece.column.into());
        assert_eq!(u64::from(piece.address), swizzled(4 * at, (1, 4, 3)), "{piece:?}");
    }
    // Figure 190: MN-major, no swizzling, bf16: ((8,1,2),(8,2)):((1,8,64),(8,128)).
    let case = Case { mode: SwizzleMode::None, is_k_major: false, lbo: 256, sbo: 128, start: 0, bits: 16 };
    for piece in operand(&case, ElementType::Bf16, Kind::F16, (16, 16)).pieces().unwrap() {
        let at =
            k(&[(8, 1), (1, 8), (2, 64)], piece.row.into()) + k(&[(8, 8), (2, 128)], piece.column.into());
        assert_eq!(u64::from(piece.address), 2 * at, "{piece:?}");
    }
    // Figures 191 and 192: MN-major, 32 and 64 bytes, bf16.
    for (mode, lbo, sbo, rows, columns, bits) in [
        (SwizzleMode::Bytes32, 256, 512, [(8, 1), (2, 8), (2, 128)], [(8, 16), (2, 256)], 1),
        (SwizzleMode::Bytes64, 512, 1024, [(8, 1), (4, 8), (2, 256)], [(8, 32), (2, 512)], 2),
    ] {
        let case = Case { mode, is_k_major: false, lbo, sbo, start: 0, bits: 16 };
        let count = rows.iter().map(|(shape, _)| *shape as u32).product();
        for piece in operand(&case, ElementType::Bf16, Kind::F16, (count, 16)).pieces().unwrap() {
            let at = k(&rows, piece.row.into()) + k(&columns, piece.column.into());
            assert_eq!(u64::from(piece.address), swizzled(2 * at, (bits, 4, 3)), "{piece:?}");
        }
    }
}

/// What is drawn is what the pieces say, in both directions.
#[test]
fn both_grids_have_each_piece() {
    for (mode, is_k_major) in MODES.iter().flat_map(|mode| [(*mode, true), (*mode, false)]) {
        let case =
            Case { mode, is_k_major, lbo: 8 * mode.span(), sbo: 16 * mode.span(), start: 0x800, bits: 16 };
        let size = if is_k_major { (16, mode.span() as u32 / 2) } else { (mode.span() as u32 / 2, 16) };
        let operand = operand(&case, ElementType::F16, Kind::F16, size);
        let picture = picture(&operand).unwrap();
        let [.., addresses, lines] = grids(&picture)[..] else { panic!("{mode:?}") };
        let mut seen = BTreeMap::new();
        for row in addresses.rows.iter().filter(|row| row.label != "...") {
            let base = u64::from_str_radix(row.label.trim_start_matches("0x"), 16).unwrap();
            for (at, cell) in row.cells.iter().enumerate().filter(|(_, cell)| !cell.text.is_empty()) {
                let (line, along) = cell.text.split_once(' ').unwrap();
                let line: u64 = line[1..].parse().unwrap();
                let first = u64::from(ends(&along[1..]).0);
                let (row, k) = if is_k_major { (line, first) } else { (first, line) };
                let address = base + 16 * at as u64;
                assert_eq!(address, expected(&case, row, k), "{case:?} {}", cell.text);
                assert!(seen.insert((line, first / 8), address).is_none(), "{}", cell.text);
            }
        }
        let count: usize = lines.rows.iter().map(|row| row.cells.len()).sum();
        assert_eq!(count, seen.len());
        for row in &lines.rows {
            for (at, cell) in row.cells.iter().enumerate() {
                let address = u64::from_str_radix(cell.text.trim_start_matches("0x"), 16).unwrap();
                assert_eq!(seen[&(row.label.parse().unwrap(), at as u64)], address);
            }
        }
    }
}

/// What swizzling is there for: sixteen bytes of eight rows are in different banks. Only atoms of 32 bytes are too wide.
#[test]
fn conflicts_are_counted() {
    for (mode, times) in [
        (SwizzleMode::None, 1),
        (SwizzleMode::Bytes32, 1),
        (SwizzleMode::Bytes64, 1),
        (SwizzleMode::Bytes128, 1),
        (SwizzleMode::Bytes128Atom32, 2),
    ] {
        let case = Case { mode, is_k_major: true, lbo: 128, sbo: 8 * mode.span(), start: 0, bits: 16 };
        let operand = operand(&case, ElementType::F16, Kind::F16, (8, 8));
        let bytes = operand.pieces().unwrap().into_iter().map(|piece| (piece.address, 16));
        assert_eq!(Conflicts::of(bytes).times(), times, "{mode:?}");
        let marked = picture(&Operand { access: Some(Access::Core), ..operand }).unwrap();
        let is_marked = grids(&marked)
            .iter()
            .any(|grid| grid.rows.iter().flat_map(|row| &row.cells).any(|cell| cell.text.ends_with("*!")));
        assert_eq!(is_marked, times > 1, "{mode:?}");
    }
    // Eight words of the same bank; the same word twice is one; an access that crosses a bank is in both.
    assert_eq!(Conflicts::of((0..8).map(|at| (at * 128, 4))).times(), 8);
    assert_eq!(Conflicts::of([(4, 2), (6, 2)].into_iter()).times(), 1);
    assert_eq!(Conflicts::of([(2, 4)].into_iter()).words.len(), 2);
    assert_eq!(Conflicts::of([].into_iter()).times(), 0);
    // A row of an unswizzled matrix whose pieces are 128 bytes apart.
    let case = Case { mode: SwizzleMode::None, is_k_major: true, lbo: 128, sbo: 1024, start: 0, bits: 16 };
    let operand = operand(&case, ElementType::F16, Kind::F16, (8, 64));
    let picture = picture(&Operand { access: Some(Access::Line), ..operand }).unwrap();
    let table = picture.blocks.iter().rev().find_map(|block| match block {
        Block::Table(table) => Some(table),
        _ => None,
    });
    assert_eq!(table.unwrap().rows[0].words[2..], ["4", "8-way conflict"]);
}
