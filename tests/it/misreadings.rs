//! Fields of compiled kernels that are misread: another result, or a finding.

use std::fs;

use ptx_tc::Source;
use ptx_tc::simulation::launch::LaunchFile;
use ptx_tc_fuzz::misread::{Kept, Known, MISREADINGS, Tallies, Tally};

use crate::common::root;
use crate::multiplied::{self, Case};

/// Misreads fields: at most so many places of a class, of which one kernel has at most `of_kernel`.
fn misread(cases: &[Case], class: &str, (most, of_kernel): (usize, usize)) -> Tallies {
    let sources: Vec<Source> = cases
        .iter()
        .map(|case| {
            let text = fs::read(root().join("fixtures/kernels").join(case.module)).unwrap();
            Source::from_bytes(case.module, text).unwrap()
        })
        .collect();
    let launches: Vec<LaunchFile> = cases
        .iter()
        .map(|case| {
            let launch: LaunchFile = toml::from_str(&case.launch).unwrap();
            LaunchFile { kernel: Some(case.name.to_owned()), ..launch }
        })
        .collect();
    let kernels: Vec<Kept<'_>> = cases
        .iter()
        .zip(sources.iter().zip(&launches))
        .map(|(case, (source, launch))| Kept::new(Known { source, launch, files: &case.files }).unwrap())
        .collect();
    let mut all = Tallies::default();
    for (number, (misreading, tally)) in MISREADINGS.iter().zip(&mut all.tallies).enumerate() {
        if !misreading.name.contains(class) {
            continue;
        }
        // Each class begins with another kernel.
        let from = number * 7 % kernels.len();
        let kernels = || kernels[from..].iter().chain(&kernels[..from]);
        let with_some = kernels().filter(|kernel| Tally::count(misreading, kernel) > 0).count();
        // Where few kernels have places, more of each are taken.
        let of_kernel = of_kernel.max((2 * most).div_ceil(with_some.max(1)));
        for kernel in kernels() {
            if tally.placed < most {
                tally.add(misreading, kernel, of_kernel.min(most - tally.placed)).unwrap();
            }
        }
    }
    all
}

/// Small kernels, each class in a few places: nothing that is misread goes unnoticed without a reason.
#[test]
fn misreadings() {
    let small = [
        "gemm_bf16_negated_128x32",
        "gemm_f16_k32_k32",
        "gemm_f16_m128_k128",
        "gemm_f16_tiny_64x32",
        "gemm_sparse_tf32_128x64",
        "gemm_mxf8_e4m3_128x128",
        "gemm_mxf4_128x128",
        "conv_ws_f16_32x64",
    ];
    let cases: Vec<Case> = multiplied::all().into_iter().filter(|case| small.contains(&case.name)).collect();
    let tallies = misread(&cases, "", (4, 1));
    let unexplained: Vec<&String> = tallies.tallies.iter().flat_map(|tally| &tally.unexplained).collect();
    assert!(unexplained.is_empty(), "{unexplained:?}");
    insta::assert_snapshot!("misreadings", tallies.table());
}

/// Everything, in minutes: `MISREAD` chooses classes by a part of their name.
#[test]
#[ignore = "takes minutes"]
fn misreadings_of_all_kernels() {
    let class = std::env::var("MISREAD").unwrap_or_default();
    let number = |name: &str, default| std::env::var(name).map_or(default, |it| it.parse().unwrap());
    let tallies =
        misread(&multiplied::all(), &class, (number("MISREAD_PLACES", 60), number("MISREAD_OF_KERNEL", 2)));
    println!("{}", tallies.table());
    for (misreading, tally) in MISREADINGS.iter().zip(&tallies.tallies) {
        for place in &tally.unexplained {
            println!("{}: {place}", misreading.name);
        }
    }
}
