//! Writes the JavaScript side of the page's WebAssembly: `ptx-tc-bindgen MODULE.wasm FOLDER`.

use std::process::ExitCode;

use wasm_bindgen_cli_support::Bindgen;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [module, folder] = arguments.as_slice() else {
        eprintln!("usage: ptx-tc-bindgen MODULE.wasm FOLDER");
        return ExitCode::from(2);
    };
    let mut bindgen = Bindgen::new();
    let written = {
        let bindgen = bindgen.input_path(module).typescript(true).remove_name_section(true);
        bindgen.remove_producers_section(true).web(true).and_then(|it| it.generate(folder))
    };
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("ptx-tc-bindgen: {error:#}");
            ExitCode::FAILURE
        }
    }
}
