//! Memory grows with the text: twice the text takes at most two and a half times as many allocations and
//! bytes, whatever the text is.
//!
//! Steps count the work that says what it does. What is allocated is counted whoever forgets to say so, and
//! most work that takes too long makes lists on the way. What it does not show is a loop that only looks.
//!
//! A program of its own: what counts stands in for the allocator of all of it.

use allocation_counter::{AllocationInfo, measure};
use ptx_tc::{Options, Source, check};
use ptx_tc_fuzz::shapes::{SHAPES, Shape};
use rayon::ThreadPoolBuilder;

/// What a check allocates. The allocations of one thread are counted, so that it has only one.
fn allocated(shape: &Shape, size: usize) -> AllocationInfo {
    let source = Source::new(shape.name, (shape.write)(size)).unwrap();
    let alone = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    alone.install(|| measure(|| drop(check(&source, &Options::default()))))
}

/// How much more `two` is than `one`, in per cent, where both are more than nothing much.
fn growth(one: u64, two: u64, little: u64) -> u64 {
    (two + little) * 100 / (one + little)
}

/// Shapes that take more than they should. The list only gets shorter.
const FASTER: &[&str] = &["redefined in each block", "kernels that reach all functions"];

#[test]
fn twice_the_text_takes_twice_the_memory() {
    let mut found = Vec::new();
    for shape in SHAPES.iter().filter(|shape| !FASTER.contains(&shape.name)) {
        let [one, two] = [50_000, 100_000].map(|size| allocated(shape, size));
        let count = growth(one.count_total, two.count_total, 1_000);
        let bytes = growth(one.bytes_total, two.bytes_total, 100_000);
        let most = growth(one.bytes_max, two.bytes_max, 100_000);
        if count.max(bytes).max(most) > 250 {
            found.push(format!(
                "{}: {count} % of the count, {bytes} % of the bytes, {most} % at once",
                shape.name
            ));
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

/// What is at most in use while a text is checked.
#[test]
fn memory_is_bounded_by_the_text() {
    let mut found = Vec::new();
    for shape in SHAPES {
        let size = 50_000;
        let most = allocated(shape, size).bytes_max;
        // A finding takes more than what it is about: one semicolon.
        if most > 800 * size as u64 {
            found.push(format!("{}: {} bytes for each", shape.name, most / size as u64));
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}
