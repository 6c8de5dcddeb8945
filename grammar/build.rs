//! Generates the parser from `src/ptx.lalrpop`.

fn main() {
    println!("cargo:rerun-if-changed=src/ptx.lalrpop");
    let result = lalrpop::Configuration::new().set_in_dir("src").emit_rerun_directives(true).process();
    if let Err(error) = result {
        println!("cargo::error=grammar/src/ptx.lalrpop: {error}");
    }
}
