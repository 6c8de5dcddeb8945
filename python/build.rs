//! On macOS, what Python provides is looked up when the module is loaded.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
