//! The matrices of a multiply, cell by cell, against the figures of 9.7.16.10.5 as rectangles, and against the layouts of
//! scale factors as `CuTe`'s interleaved atoms in shared memory, copied by `.32x128b.warpx4`.

use ptx_draw::mma::{Multiply, Shown, picture};
use ptx_draw::window::Window;
use ptx_draw::{Grid, Picture};
use ptx_isa::element_types::ElementType;
use ptx_isa::vocabulary::{CtaGroup, Kind, ScaleVectorSize};

use crate::{ends, grids, offset};

const PLAIN: Multiply = Multiply {
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

/// Lanes of a CTA that hold rows of D: CTA, first lane, lanes, first row, and which part of the columns.
type Rectangle = (usize, u32, u32, u32, u32);

/// By lane and column: a row and an element.
type Cells = Vec<Vec<Option<(u32, u32)>>>;

/// By letter: a multiply, how many parts the columns have, and the rectangles of its figure.
fn figures() -> Vec<(char, Multiply, u32, Vec<Rectangle>)> {
    let two = CtaGroup::Two;
    let whole = |cta: usize, row: u32| (cta, 0, 128, row, 0);
    // 16 lanes of each warp.
    let halves = |cta: usize, row: u32| (0..4).map(move |warp| (cta, 32 * warp, 16, row + 16 * warp, 0));
    vec![
        ('A', Multiply { m: 256, cta_group: two, ..PLAIN }, 1, vec![whole(0, 0), whole(1, 128)]),
        (
            'B',
            Multiply { m: 128, cta_group: two, ..PLAIN },
            2,
            vec![(0, 0, 64, 0, 0), (0, 64, 64, 0, 1), (1, 0, 64, 64, 0), (1, 64, 64, 64, 1)],
        ),
        (
            'C',
            Multiply { m: 128, cta_group: two, sparse: true, ..PLAIN },
            1,
            halves(0, 0).chain(halves(1, 64)).collect(),
        ),
        ('D', PLAIN, 1, vec![whole(0, 0)]),
        ('E', Multiply { m: 64, ws: true, ..PLAIN }, 2, vec![(0, 0, 64, 0, 0), (0, 64, 64, 0, 1)]),
        ('F', Multiply { m: 64, ..PLAIN }, 1, halves(0, 0).collect()),
        (
            'G',
            Multiply { m: 32, ws: true, ..PLAIN },
            4,
            (0..4).map(|warp| (0, 32 * warp, 32, 0, warp)).collect(),
        ),
    ]
}

/// What each cell of D holds, by CTA, lane and column.
fn expected(multiply: &Multiply, parts: u32, rectangles: &[Rectangle]) -> Vec<Cells> {
    let ctas = if multiply.cta_group == CtaGroup::Two { 2 } else { 1 };
    let columns = multiply.n / parts;
    let mut cells = vec![vec![vec![None; columns as usize]; 128]; ctas];
    for &(cta, lane, lanes, row, part) in rectangles {
        for (at, column) in (0..lanes).flat_map(|at| (0..columns).map(move |column| (at, column))) {
            let lane = (lane + at + multiply.lane) as usize;
            cells[cta][lane][column as usize] = Some((row + at, part * columns + column));
        }
    }
    cells
}

/// What the cells of a grid say: a row and the first element of several.
fn said(grid: &Grid) -> Cells {
    let cell = |text: &str| {
        let (row, element) = text.split_once(',')?;
        Some((row.parse().unwrap(), ends(element).0))
    };
    grid.rows.iter().map(|row| row.cells.iter().map(|it| cell(&it.text)).collect()).collect()
}

/// What the bands of an overview say of each cell.
fn spread(grid: &Grid, width: usize) -> Cells {
    let mut cells = vec![vec![None; width]; 128];
    let heads: Vec<(u32, u32)> = grid.heads.iter().map(|head| ends(&head.text)).collect();
    for row in &grid.rows {
        let (first, last) = ends(row.label.split(' ').next().unwrap());
        let copies: &[u32] = if row.label.ends_with("of each 32") { &[0, 32, 64, 96] } else { &[0] };
        let mut at = 0;
        for cell in &row.cells {
            let (start, end) = (heads[at].0, heads[at + cell.span as usize - 1].1);
            at += cell.span as usize;
            let Some((rows, elements)) = cell.text.split_once(", ") else {
                assert_eq!(cell.text, "not used");
                continue;
            };
            let number = |text: &str| ends(text.split_once(' ').unwrap().1);
            let (rows, elements) = (number(rows), number(elements));
            assert_eq!(rows.1 - rows.0, last - first, "{}", cell.text);
            let each = (elements.1 + 1 - elements.0) / (end + 1 - start);
            for (lane, column) in (first..=last).flat_map(|lane| (start..=end).map(move |it| (lane, it))) {
                for copy in copies {
                    let content = (rows.0 + lane - first, elements.0 + (column - start) * each);
                    cells[(lane + copy) as usize][column as usize] = Some(content);
                }
            }
        }
    }
    cells
}

fn draw(multiply: &Multiply, shown: Shown, window: &Window) -> Picture {
    picture(multiply, Some(shown), window).unwrap_or_else(|error| panic!("{multiply:?}: {error}"))
}

#[test]
fn each_cell_of_d_is_that_of_the_figure() {
    for (letter, multiply, parts, rectangles) in figures() {
        let lanes: &[u32] = if matches!(letter, 'C' | 'F') { &[0, 16] } else { &[0] };
        for lane in lanes {
            let multiply = Multiply { lane: *lane, ..multiply };
            let wanted = expected(&multiply, parts, &rectangles);
            let cells = draw(&multiply, Shown::D, &Window::ALL);
            assert!(cells.notes[0].contains(&format!("Layout {letter} ")), "{letter}: {:?}", cells.notes);
            let bands = draw(&multiply, Shown::D, &Window::default());
            assert_eq!(grids(&cells).len(), wanted.len(), "{letter}");
            for (cta, wanted) in wanted.iter().enumerate() {
                assert_eq!(&said(grids(&cells)[cta]), wanted, "{letter}, CTA {cta}");
                let width = (multiply.n / parts) as usize;
                assert_eq!(&spread(grids(&bands)[cta], width), wanted, "{letter}, CTA {cta}, bands");
            }
        }
    }
}

/// A is packed four bytes to a column (9.7.16.10.4), and held once for each part of the columns of D.
#[test]
fn each_cell_of_a_holds_its_elements() {
    let types = [
        (Kind::F16, ElementType::Bf16, 2),
        (Kind::Tf32, ElementType::Tf32, 1),
        (Kind::I8, ElementType::S8, 4),
        (Kind::F8f6f4, ElementType::E5m2, 4),
        // In bytes of their own.
        (Kind::F8f6f4, ElementType::E2m1, 4),
        (Kind::F8f6f4, ElementType::E3m2, 4),
    ];
    for (letter, multiply, parts, rectangles) in figures() {
        for (kind, element, each) in types {
            let multiply = Multiply { kind, a: Some(element), ..multiply };
            // 32 bytes of each row.
            let k = 8 * each;
            for (cta, grid) in grids(&draw(&multiply, Shown::A, &Window::ALL)).iter().enumerate() {
                let mut wanted = vec![vec![None; 8]; 128];
                for &(of, lane, lanes, row, _) in &rectangles {
                    for (at, column) in (0..lanes).flat_map(|at| (0..8_u32).map(move |it| (at, it))) {
                        if of == cta {
                            wanted[(lane + at) as usize][column as usize] = Some((row + at, column * each));
                        }
                    }
                }
                assert_eq!(said(grid), wanted, "{letter} {kind} {}, {parts} parts, K = {k}", element.name());
            }
        }
    }
    let mxf4 = Multiply { kind: Kind::Mxf4, a: Some(ElementType::E2m1), ..PLAIN };
    let picture = draw(&mxf4, Shown::A, &Window::ALL);
    assert_eq!(said(grids(&picture)[0])[5][7], Some((5, 56)), "two elements to a byte");
}

/// `CuTe` keeps the factors of 128 rows in atoms of 512 bytes: ((32,4),4):((16,4),1). A copy brings 16 bytes of each of the 32
/// rows of such an atom to a lane, so that byte b of row l is byte b % 4 of column b / 4.
#[test]
fn each_scale_factor_is_where_the_copied_atom_has_it() {
    let base = Multiply { kind: Kind::Mxf4nvf4, n: 128, ..PLAIN };
    let cases = [
        (Multiply { scale_vector_size: Some(ScaleVectorSize::Block16), ..base }, 4, [0].as_slice()),
        (Multiply { scale_vector_size: Some(ScaleVectorSize::Block32), ..base }, 2, &[0, 2]),
        (Multiply { kind: Kind::Mxf8f6f4, ..base }, 1, &[0, 1, 2, 3]),
        (Multiply { kind: Kind::Mxf4, scale_vector_size: Some(ScaleVectorSize::X2), ..base }, 2, &[0, 2]),
    ];
    for ((multiply, count, ids), n) in cases.iter().flat_map(|case| [64, 128, 256].map(|n| (case, n))) {
        for &id in *ids {
            let multiply = Multiply { scale_ids: (id, id), n, ..*multiply };
            for (shown, lines) in [(Shown::ScalesA, 128), (Shown::ScalesB, n)] {
                let atoms = lines.div_ceil(128);
                let picture = draw(&multiply, shown, &Window::ALL);
                let cells = said(grids(&picture)[0]);
                let mut filled = 0;
                for (line, factor) in (0..lines).flat_map(|line| (0..*count).map(move |it| (line, it))) {
                    let (atom, within) = (line / 128, u64::from(line % 128));
                    let byte = offset(&[(32, 16), (4, 4)], within) as u32 + id + factor;
                    let (lane, byte) = (byte / 16, byte % 16 + 16 * atom);
                    for copy in 0..4 {
                        let cell = cells[(lane + 32 * copy) as usize][byte as usize];
                        assert_eq!(cell, Some((line, factor)), "{shown:?} {multiply:?}");
                        filled += 1;
                    }
                }
                let all = cells.iter().flatten().filter(|cell| cell.is_some()).count();
                assert_eq!(all, filled, "{shown:?}, {atoms} atoms");
                // The overview says the same: its heads are columns where all bytes of one go on.
                let bands = draw(&multiply, shown, &Window::default());
                assert!(grids(&bands)[0].rows.len() <= 4, "{:?}", grids(&bands)[0].rows);
            }
        }
    }
}

/// Each four bits of metadata stand once, in the lanes of their part.
#[test]
fn metadata_are_complete() {
    for (kind, bits) in [(Kind::F16, 32), (Kind::Tf32, 32), (Kind::F8f6f4, 64), (Kind::I8, 64)] {
        let multiply = Multiply { kind, sparse: true, ..PLAIN };
        let picture = draw(&multiply, Shown::Metadata, &Window::ALL);
        let cells = said(grids(&picture)[0]);
        let mut all: Vec<(u32, u32)> = cells.iter().flatten().copied().flatten().collect();
        all.sort_unstable();
        let wanted: Vec<(u32, u32)> =
            (0..128).flat_map(|row| (0..bits / 4).map(move |chunk| (row, chunk))).collect();
        assert_eq!(all, wanted, "{kind}");
    }
    // Of 32 bits, lane 0 has the first halves of rows 0 and 8, lane 8 the second ones.
    let picture = draw(&Multiply { sparse: true, selector: 1, ..PLAIN }, Shown::Metadata, &Window::ALL);
    let cells = said(grids(&picture)[0]);
    let of = |lane: usize| cells[lane][8..].iter().map(|it| it.unwrap()).collect::<Vec<_>>();
    assert_eq!(of(0), [(0, 0), (0, 1), (0, 2), (0, 3), (8, 0), (8, 1), (8, 2), (8, 3)]);
    assert_eq!(of(8), [(0, 4), (0, 5), (0, 6), (0, 7), (8, 4), (8, 5), (8, 6), (8, 7)]);
    assert!(cells[0][..8].iter().all(Option::is_none), "the selector chooses the second column");
}
