//! What compilers really emit: it parses completely and nothing is found in it.

use std::fs;
use std::path::{Path, PathBuf};

use ptx_tc::diagnostic::Code;
use ptx_tc::instruction::decode::decode_all;
use ptx_tc::syntax::ast::StatementKind;
use ptx_tc::{Options, Source, Unit, check};

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
        let unit = Unit::new(&source);
        let broken = unit.module.statements.iter().filter(|it| it.kind() == StatementKind::Broken).count();
        assert_eq!(broken, 0, "{}", path.display());
        let decoded = decode_all(&unit);
        let written = memchr::memmem::find_iter(source.text().as_bytes(), "tcgen05.").count();
        let typed = decoded.iter().filter(|it| it.instruction.is_some()).count();
        assert_eq!(typed, decoded.len(), "{}", path.display());
        // Comments and names of inlined functions may mention the opcode, too.
        assert!(decoded.len() <= written);
        instructions += decoded.len();
    }
    assert!(instructions > 5_000, "{instructions} tcgen05 instructions");
}

/// Compilers put the descriptors of a kernel together from constants, and nothing of these is lost:
/// the whole instruction descriptor, and of shared-memory descriptors all but the address.
#[test]
fn descriptors_are_known() {
    let options = Options { describe: true, ..Options::default() };
    let [mut triton, mut others] = [0, 0];
    for path in kernels() {
        let name = path.file_name().unwrap().to_str().unwrap();
        // Functions that get descriptors as parameters.
        if name.contains("_debug_") || name.starts_with("cuda_ptx_") || name.starts_with("ptx_variety_") {
            continue;
        }
        let source = Source::from_bytes(name, fs::read(&path).unwrap()).unwrap();
        for description in check(&source, &options).descriptors.unwrap() {
            for word in &description.words {
                let low = match word.name {
                    "idesc" => 0,
                    // A kernel here has it as its parameter.
                    "zero-column-mask-desc" => continue,
                    _ => 32,
                };
                assert!(word.is_known_from(low), "{name}: {} {} {word:?}", word.name, word.value);
            }
            if description.multiply.is_some() {
                *(if name.starts_with("triton_") || name.starts_with("gluon_") {
                    &mut triton
                } else {
                    &mut others
                }) += 1;
            }
        }
    }
    assert!(triton > 100 && others > 1_000, "{triton} and {others} multiplies");
}
