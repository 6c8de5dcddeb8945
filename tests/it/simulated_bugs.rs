//! Bugs put into kernels that run clean: what running them finds, and what it says first.
//!
//! Here each class has one place in each of a few kernels. `cargo xtask bugs --simulate` puts them into all
//! kernels that have a launch, in more places, and lists those where nothing is found.

use std::fs;

use ptx_tc::Source;
use ptx_tc::simulation::launch::LaunchFile;
use ptx_tc_fuzz::simulated::{Choice, Tallies};

use crate::common::root;

const KERNELS: &[&str] = &[
    "gluon_matmul_pair_sm100a.matmul_pair",
    "gluon_matmul_pipelined_sm100a.matmul_pipelined",
    "gluon_matmul_roles_sm103a.matmul_roles",
    "gemm_mxfp8_sm100f.gemm_mxf8_e4m3_128x128",
];

#[test]
fn bugs_in_kernels_that_run() {
    let mut tallies = Tallies::default();
    for name in KERNELS {
        let (module, _) = name.split_once('.').unwrap();
        let launch = root().join(format!("fixtures/simulation/launches/{name}.toml"));
        let launch: LaunchFile = toml::from_str(&fs::read_to_string(launch).unwrap()).unwrap();
        let text = fs::read(root().join(format!("fixtures/kernels/{module}.ptx"))).unwrap();
        let source = Source::from_bytes(module, text).unwrap();
        tallies
            .add(&source, &launch, &Choice { class: "", places: 1, keeps: false, budget: 200_000 })
            .unwrap();
    }
    let table = tallies.table();
    println!("{table}");
    insta::assert_snapshot!("simulated_bugs", table);
}
