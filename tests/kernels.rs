//! What compilers really emit: it parses completely and nothing is found in it.

use std::fs;
use std::path::{Path, PathBuf};

use ptx_tc::rules::Code;
use ptx_tc::syntax::ast::StatementKind;
use ptx_tc::{Analyzed, Options, Source, check};

fn kernels() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/kernels");
    let mut paths: Vec<PathBuf> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "ptx"))
        .collect();
    paths.sort();
    paths
}

#[test]
fn there_are_kernels_of_all_sizes() {
    let sizes: Vec<u64> = kernels().iter().map(|path| path.metadata().unwrap().len()).collect();
    assert!(sizes.len() >= 30, "{} kernels", sizes.len());
    assert!(sizes.iter().any(|&size| size < 3_000) && sizes.iter().any(|&size| size > 1_000_000));
}

#[test]
fn nothing_is_found() {
    for path in kernels() {
        let source = Source::from_bytes(path.display().to_string(), fs::read(&path).unwrap()).unwrap();
        let mut report = check(&source, &Options::default());
        // Triton writes `.warpx4` before the shape; that is style.
        report.diagnostics.retain(|finding| finding.code != Code::QualifierOrder);
        assert!(report.diagnostics.is_empty(), "{}: {:#?}", path.display(), &report.diagnostics[0]);
    }
}

#[test]
fn every_statement_is_understood() {
    let mut instructions = 0;
    for path in kernels() {
        let source = Source::from_bytes(path.display().to_string(), fs::read(&path).unwrap()).unwrap();
        let analyzed = Analyzed::new(&source);
        let broken = analyzed.module.statements.iter().filter(|it| it.kind == StatementKind::Broken).count();
        assert_eq!(broken, 0, "{}", path.display());
        let symbols = analyzed.symbols();
        let decoded = analyzed.instructions(&symbols);
        let written = memchr::memmem::find_iter(source.text().as_bytes(), "tcgen05.").count();
        let typed = decoded.iter().filter(|it| it.instruction.is_some()).count();
        assert_eq!(typed, decoded.len(), "{}", path.display());
        // Comments and names of inlined functions may mention the opcode, too.
        assert!(decoded.len() <= written);
        instructions += decoded.len();
    }
    assert!(instructions > 5_000, "{instructions} tcgen05 instructions");
}
