//! Pictures of plain data: kernels and runs.

use ptx_draw::barriers::{self, Barrier, Role};
use ptx_draw::timeline::{self, Event, Kind, Slice, Timeline, Track};
use ptx_draw::tmem::{self, Action, Place, Space, Step, Use};
use ptx_draw::{Block, Chart, svg, text};

const LOOK: text::Look = text::Look { color: false, width: 80 };

fn run() -> Timeline {
    let wait = |start, end, is_open| Slice {
        start,
        end,
        kind: Kind::Mbarrier,
        name: "A full".to_owned(),
        line: 12,
        is_open,
    };
    let multiply = |start| Slice {
        start,
        end: start + 16,
        kind: Kind::Multiply,
        name: "mma".to_owned(),
        line: 20,
        is_open: false,
    };
    Timeline {
        kernel: "gemm<float>".to_owned(),
        tracks: vec![
            Track {
                name: "warp 0".to_owned(),
                life: Some((0, 200)),
                stands: Some("waits for phase 1 of full".to_owned()),
                slices: vec![wait(10, 60, false), wait(80, 200, true)],
                events: vec![
                    Event {
                        at: 5,
                        sign: "A".to_owned(),
                        name: "arrives".to_owned(),
                        line: 3,
                        is_finding: false,
                    },
                    Event {
                        at: 200,
                        sign: "!".to_owned(),
                        name: "deadlock".to_owned(),
                        line: 9,
                        is_finding: true,
                    },
                ],
                ..Track::default()
            },
            Track {
                name: "tensor core".to_owned(),
                // Two at once.
                slices: vec![multiply(60), multiply(64), multiply(90)],
                ..Track::default()
            },
        ],
        barriers: vec![('A', "full".to_owned())],
        end: 200,
        left_out: 3,
    }
}

fn chart(blocks: &[Block]) -> &Chart {
    let [Block::Chart(chart)] = blocks else { panic!("{blocks:?}") };
    chart
}

#[test]
fn a_run_from_json() {
    let text = serde_json::to_string(&run()).unwrap();
    let read: Timeline = serde_json::from_str(&text).unwrap();
    assert_eq!(read, run());
    let picture = timeline::picture(&read);
    let rows: Vec<(&str, usize)> =
        chart(&picture.blocks).rows.iter().map(|row| (row.label.as_str(), row.bars.len())).collect();
    // What happens at once has rows of its own; a warp's line is below its waits.
    assert_eq!(rows, [("warp 0", 3), ("tensor core", 2), ("", 1)]);
    let drawn = text::render(&picture, LOOK);
    for wanted in
        ["warp 0 waits for phase 1 of full.", "3 later things", "mbarriers: A full.", "X  waits forever"]
    {
        assert!(drawn.contains(wanted), "{wanted}\n{drawn}");
    }
    // A wait that ends at the end of the axis fills it.
    let line = drawn.lines().find(|line| line.trim_start().starts_with("warp 0")).unwrap();
    assert!(line.ends_with('!') && line.contains("XX"), "{drawn}");
}

/// Bars lie where their times are: in order, within the axis.
#[test]
fn times_have_places_in_order() {
    let picture = timeline::picture(&run());
    let chart = chart(&picture.blocks);
    assert_eq!((chart.place(0), chart.place(200)), (0, Chart::WHOLE));
    assert!(chart.stops.is_sorted() && chart.places.is_sorted());
    let places: Vec<u32> = (0..=200).map(|at| chart.place(at)).collect();
    assert!(places.is_sorted());
    let even = Chart::even("column", vec![0, 64, 128, 512]);
    assert_eq!([0, 32, 64, 256, 512].map(|at| even.place(at)), [0, 625, 1250, 5000, 10_000]);
}

#[test]
fn nothing_at_all() {
    for picture in [
        timeline::picture(&Timeline::default()),
        tmem::picture(&Use::default()),
        barriers::picture("", &[], false),
    ] {
        assert!(svg::render(&picture).ends_with("</svg>\n"));
        text::render(&picture, LOOK);
    }
    assert_eq!(tmem::picture(&Use::default()).notes, ["No instruction uses columns that are known."]);
}

#[test]
fn columns_of_a_kernel() {
    let place = |line: u32, opcode: &str| Place { line, opcode: opcode.to_owned() };
    let step = |line, opcode, action, columns| Step {
        place: place(line, opcode),
        action,
        columns,
        detail: String::new(),
        times: None,
    };
    let kernel = Use {
        kernel: "k".to_owned(),
        spaces: vec![Space {
            name: "the address in [slot]".to_owned(),
            columns: Some(256),
            steps: vec![
                step(3, "tcgen05.alloc.cta_group::1.sync.aligned.b32", Action::Allocate, vec![(0, 256)]),
                step(8, "tcgen05.ld.sync.aligned.16x32bx2.x1.b32", Action::Load, vec![(0, 64), (128, 64)]),
                step(10, "tcgen05.mma.kind::f16", Action::Accumulate, vec![(0, 64)]),
                step(14, "tcgen05.mma.kind::f16", Action::Accumulate, vec![(0, 64)]),
                step(15, "tcgen05.mma.kind::f16", Action::Accumulate, vec![(64, 64)]),
            ],
        }],
        unknown: vec![place(9, "tcgen05.st")],
    };
    let picture = tmem::picture(&kernel);
    let chart = chart(&picture.blocks);
    assert_eq!(chart.stops, [0, 64, 128, 192, 256]);
    assert_eq!(chart.rows[0].label, "line 3 tcgen05.alloc");
    let bars: Vec<(u64, u64)> = chart.rows[1].bars.iter().map(|bar| (bar.start, bar.end)).collect();
    assert_eq!(bars, [(0, 64), (128, 192)]);
    // One row for what is the same one after the other.
    let labels: Vec<&str> = chart.rows[2..].iter().map(|row| row.label.as_str()).collect();
    assert_eq!(labels, ["lines 10-14 tcgen05.mma.kind::f16, 2 times", "line 15 tcgen05.mma.kind::f16"]);
    assert_eq!(picture.legend.len(), 3);
    assert_eq!(picture.notes, ["Not known are the columns of line 9 tcgen05.st."]);
}

#[test]
fn who_meets() {
    let role =
        |who: &str, line| Role { who: who.to_owned(), line, opcode: "mbarrier.x".to_owned(), times: Some(2) };
    let all = [
        Barrier {
            name: "full".to_owned(),
            count: Some(2),
            init: Some(4),
            lacks: Some((1, 512)),
            arrives: vec![role("warp 0", 5)],
            waits: vec![role("warp 1", 7), role("warp 2", 7)],
            ..Barrier::default()
        },
        Barrier {
            name: "empty".to_owned(),
            lacks: Some((0, 0)),
            waits: vec![role("", 9)],
            ..Barrier::default()
        },
    ];
    let picture = barriers::picture("k", &all, true);
    let [Block::Meetings(meetings)] = picture.blocks.as_slice() else { panic!("{picture:?}") };
    assert!(meetings[0].is_wrong && !meetings[1].is_wrong);
    assert_eq!(meetings[0].facts, ["2 arrivals a phase", "init in line 4", "lacks 1 arrival and 512 bytes"]);
    let drawn = text::render(&picture, LOOK);
    assert!(drawn.contains("arrives  warp 0, line 5  mbarrier.x, 2 times"), "{drawn}");
    assert!(picture.notes[0].contains("nobody is seen to arrive"));
}

/// A run of any length has a picture that can be opened: its start and its end.
#[test]
fn the_middle_of_a_long_run_is_left_out() {
    let mut long = run();
    long.end = 10_000_000;
    let slice = |at: u64| Slice { start: 100 * at, end: 100 * at + 16, ..run().tracks[1].slices[0].clone() };
    long.tracks[1].slices = (0..100_000).map(slice).collect();
    let picture = timeline::picture(&long);
    let bars: usize = chart(&picture.blocks).rows.iter().map(|row| row.bars.len()).sum();
    assert!((3000..4100).contains(&bars), "{bars}");
    assert!(picture.notes.iter().any(|note| note.contains("is not drawn")), "{:?}", picture.notes);
    assert!(svg::render(&picture).len() < 1 << 20);
}

#[test]
fn columns_that_count_as_zero() {
    let masks = [vec![false, true, true, false], vec![true, false, false, true]];
    let picture = ptx_draw::words::with_zero_columns(ptx_draw::Picture::default(), &masks);
    let chart = chart(&picture.blocks);
    let bars: Vec<Vec<(u64, u64)>> =
        chart.rows.iter().map(|row| row.bars.iter().map(|bar| (bar.start, bar.end)).collect()).collect();
    assert_eq!(bars, [vec![(1, 3)], vec![(4, 5), (7, 8)]]);
    assert_eq!(chart.stops.last(), Some(&8));
}
