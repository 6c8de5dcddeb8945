//! Generates the parser from `ptx.lalrpop`.

fn main() {
    println!("cargo:rerun-if-changed=grammar");
    let result = lalrpop::Configuration::new().set_in_dir("grammar").emit_rerun_directives(true).process();
    if let Err(error) = result {
        println!("cargo::error=grammar/ptx.lalrpop: {error}");
    }
}
