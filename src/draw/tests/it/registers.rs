//! Loads and stores, cell by cell, against the strides of the fragments: each figure of 9.7.16.2.3.1 as a layout of bits,
//! in which a lane of the fragment has `width` bits.

use ptx_draw::registers::{Moved, picture};
use ptx_draw::window::Window;
use ptx_isa::vocabulary::{LdShape, Num};
use strum::IntoEnumIterator;

use crate::{Strides, grids, offset};

/// Where a register of a thread is: half, lane, column.
fn expected(shape: LdShape, num: Num, thread: u64, register: u64) -> (u64, u64, u64) {
    let n = u64::from(num.factor());
    let (width, threads, registers): (u64, Strides, Strides) = match shape {
        // Figure 183: thread = lane.
        LdShape::S32x32b => (32 * n, vec![(32, 32 * n)], vec![(n, 32)]),
        // Figure 184: T0, T2 in lane 0, T4, T6 in lane 1; T1, T3 in lane 8.
        LdShape::S16x64b => {
            let width = 64 * n;
            (width, vec![(2, 8 * width), (2, 32), (8, width)], vec![(n, 64)])
        }
        // Figure 185: T0 to T3 in lane 0; the second register in lane 8.
        LdShape::S16x128b => {
            let width = 128 * n;
            (width, vec![(4, 32), (8, width)], vec![(2, 8 * width), (n, 128)])
        }
        // Figure 186: two registers of T0 to T3 in lane 0, the next two in lane 8.
        LdShape::S16x256b => {
            let width = 256 * n;
            (width, vec![(4, 64), (8, width)], vec![(2, 32), (2, 8 * width), (n, 256)])
        }
        // Figure 187: threads 16 to 31 at the second address.
        LdShape::S16x32bx2 => {
            let bits = 32 * n;
            let at = offset(&[(16, bits)], thread % 16) + offset(&[(n, 32)], register);
            return (thread / 16, at / bits, at % bits / 32);
        }
    };
    let at = offset(&threads, thread) + offset(&registers, register);
    (0, at / width, at % width / 32)
}

#[test]
fn each_cell_is_the_register_of_the_figure() {
    let mut seen = 0;
    for (shape, num) in LdShape::iter().flat_map(|shape| Num::iter().map(move |num| (shape, num))) {
        let Some(registers) = shape.vector_length(num) else { continue };
        for (packed, store) in [(false, false), (false, true), (true, false), (true, true)] {
            let moved = Moved { shape, num, packed, store, split: Some(64) };
            let picture = picture(&moved, &Window::ALL).unwrap();
            let grids = grids(&picture);
            assert_eq!(grids.len(), if shape == LdShape::S16x32bx2 { 2 } else { 1 });
            let mut filled = 0;
            for (thread, register) in
                (0..32_u64).flat_map(|thread| (0..u64::from(registers)).map(move |it| (thread, it)))
            {
                let (half, lane, column) = expected(shape, num, thread, register);
                let row = &grids[half as usize].rows[lane as usize];
                assert_eq!(row.label, lane.to_string());
                let name = format!("T{thread} r{register}");
                if packed {
                    let column = 2 * column as usize;
                    assert_eq!(row.cells[column].text, format!("{name}.lo"), "{shape} {num}");
                    assert_eq!(row.cells[column + 1].text, format!("{name}.hi"), "{shape} {num}");
                    filled += 2;
                } else {
                    assert_eq!(row.cells[column as usize].text, name, "{shape} {num}");
                    filled += 1;
                }
            }
            let all: usize = grids.iter().flat_map(|grid| grid.rows.iter().map(|row| row.cells.len())).sum();
            assert_eq!(all, filled, "{shape} {num}: no cell is left");
            seen += all;
        }
    }
    assert!(seen > 30_000, "{seen}");
}

/// As literal as the figures are.
#[test]
fn corners_of_the_figures() {
    let cell = |shape, num, lane: usize, column: usize| {
        let moved = Moved { shape, num, packed: false, store: false, split: None };
        let picture = picture(&moved, &Window::ALL).unwrap();
        grids(&picture)[0].rows[lane].cells[column].text.clone()
    };
    assert_eq!(cell(LdShape::S16x256b, Num::X1, 0, 7), "T3 r1");
    assert_eq!(cell(LdShape::S16x256b, Num::X1, 8, 0), "T0 r2");
    assert_eq!(cell(LdShape::S16x256b, Num::X2, 15, 15), "T31 r7");
    assert_eq!(cell(LdShape::S16x128b, Num::X1, 7, 3), "T31 r0");
    assert_eq!(cell(LdShape::S16x128b, Num::X2, 8, 4), "T0 r3");
    assert_eq!(cell(LdShape::S16x64b, Num::X1, 0, 1), "T2 r0");
    assert_eq!(cell(LdShape::S16x64b, Num::X1, 8, 0), "T1 r0");
    assert_eq!(cell(LdShape::S32x32b, Num::X4, 31, 3), "T31 r3");
}

#[test]
fn a_window_shows_a_part() {
    let moved = Moved { shape: LdShape::S32x32b, num: Num::X128, packed: false, store: false, split: None };
    let window = Window { lanes: Some(4..6), columns: Some(100..103) };
    let part = picture(&moved, &window).unwrap();
    let grid = grids(&part)[0];
    assert_eq!(grid.rows.len(), 2);
    assert_eq!(grid.rows[1].cells[2].text, "T5 r102");
    // Without one, the first columns.
    let whole = picture(&moved, &Window::default()).unwrap();
    assert_eq!(grids(&whole)[0].heads.len(), 16);
    assert!(whole.notes.iter().any(|note| note.contains("columns=0-127")), "{:?}", whole.notes);
}
