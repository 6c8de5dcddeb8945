//! The stages on one real kernel. `cargo xtask bench` measures them on 10 MB.

use std::fs;
use std::hint::black_box;
use std::path::Path;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ptx_tc::syntax::{lexer, parser};
use ptx_tc::{Options, Source, check};

fn stages(criterion: &mut Criterion) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/kernels/gemm_f16_tma_sm100a.ptx");
    let source = Source::from_bytes("gemm.ptx", fs::read(path).unwrap()).unwrap();
    let mut group = criterion.benchmark_group("gemm_f16_tma");
    group.throughput(Throughput::Bytes(source.text().len() as u64));
    group.bench_function("lex", |bencher| bencher.iter(|| lexer::lex(black_box(source.text())).count()));
    group.bench_function("parse", |bencher| bencher.iter(|| parser::parse(black_box(&source))));
    group.bench_function("check", |bencher| bencher.iter(|| check(black_box(&source), &Options::default())));
    group.finish();
}

criterion_group!(benches, stages);
criterion_main!(benches);
