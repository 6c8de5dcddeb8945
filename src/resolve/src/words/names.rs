//! Names as people wrote them, of the symbols that compilers of C++ make of them: `gemm<float>` of `_Z4gemmIfEvPf`.

use std::borrow::Cow;
use std::fmt::{self, Write};

use cpp_demangle::{BorrowedSymbol, DemangleOptions};

/// The name of a symbol for people: without parameters and result, and with short template arguments. What is no
/// symbol of C++ stays as it is.
pub fn demangled(symbol: &str) -> Cow<'_, str> {
    /// Names of templates that are instantiated with templates take pages.
    const LONG: usize = 160;
    let options = DemangleOptions::new().no_params().no_return_type().hide_expression_literal_types();
    match written(symbol, options) {
        Some(name) if name.len() > LONG => without_arguments(&name).into(),
        Some(name) => name.into(),
        None => symbol.into(),
    }
}

/// The declaration of the function that a symbol stands for, with its template arguments and parameters; none of what
/// is no symbol of C++.
pub fn declaration(symbol: &str) -> Option<String> {
    written(symbol, DemangleOptions::new().hide_expression_literal_types())
}

/// All that a function may be called by whoever means it, from the most exact to the least: the symbol, its
/// declaration, this without the result, without the parameters, without the template arguments, and without the
/// namespaces.
pub fn called(symbol: &str) -> Vec<String> {
    let with = |options: DemangleOptions| written(symbol, options);
    let options = || DemangleOptions::new().hide_expression_literal_types();
    let mut names = vec![symbol.to_owned()];
    names.extend(with(options()));
    names.extend(with(options().no_return_type()));
    if let Some(name) = with(options().no_return_type().no_params()) {
        let plain = without(&name, "");
        let own = plain.rsplit("::").next().unwrap_or(&plain).to_owned();
        names.extend([name, plain, own]);
    }
    names
}

/// What a symbol of C++ stands for, unless that is too long to be read.
fn written(symbol: &str, options: DemangleOptions) -> Option<String> {
    /// Symbols of libraries of templates take some thousand bytes. Of a longer one nobody wants to know.
    const LONGEST: usize = 1 << 14;
    /// A symbol can stand for a text that is exponentially longer.
    const MOST: usize = 1 << 16;
    if !symbol.starts_with("_Z") || symbol.len() > LONGEST {
        return None;
    }
    let (parsed, rest) = BorrowedSymbol::with_tail(symbol.as_bytes()).ok()?;
    if !rest.is_empty() {
        return None;
    }
    let mut text = Bounded { text: String::new(), most: MOST };
    parsed.structured_demangle(&mut text, &options).ok()?;
    Some(without_hash(text.text))
}

/// A text that does not get longer than somebody wants.
struct Bounded {
    text: String,
    most: usize,
}

impl Write for Bounded {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        if self.text.len() + more.len() > self.most {
            return Err(fmt::Error);
        }
        self.text.push_str(more);
        Ok(())
    }
}

/// The symbols of Rust end with a hash: `::h0123456789abcdef`.
fn without_hash(mut name: String) -> String {
    let is_hash = |hash: &str| hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    if let Some((path, hash)) = name.rsplit_once("::h")
        && is_hash(hash)
    {
        name.truncate(path.len());
    }
    name
}

/// A name with `<…>` for its template arguments.
fn without_arguments(name: &str) -> String {
    without(name, "<…>")
}

/// A name with something else for its template arguments.
fn without(name: &str, instead: &str) -> String {
    let mut text = String::with_capacity(name.len());
    let mut depth = 0_usize;
    for (at, character) in name.char_indices() {
        // `operator<` and `operator->` open and close nothing.
        let is_operator = name[..at].trim_end_matches(['<', '>', '-', '=']).ends_with("operator");
        match character {
            '<' if !is_operator => {
                depth += 1;
                if depth == 1 {
                    text.push_str(instead);
                }
            }
            '>' if !is_operator && depth > 0 => depth -= 1,
            _ if depth == 0 => text.push(character),
            _ => {}
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_called_as_in_their_source() {
        for (symbol, name) in [
            ("_Z4gemmPf", "gemm"),
            ("_Z4gemmIfEvPT_", "gemm<float>"),
            ("_Z10tmem_allocILi48EEvPj", "tmem_alloc<48>"),
            ("_ZN3lib4gemmILb1EEEvv", "lib::gemm<true>"),
            (
                "_ZN34_INTERNAL_0123abcd_4_k_cu_0123456712_GLOBAL__N_14gemmEv",
                "_INTERNAL_0123abcd_4_k_cu_01234567::(anonymous namespace)::gemm",
            ),
            ("_ZZ4gemmPfE4smem", "gemm(float*)::smem"),
            ("_ZN6kernel4gemm17h0123456789abcdefE", "kernel::gemm"),
            ("gemm", "gemm"),
            ("_Z", "_Z"),
            ("_Z4gem", "_Z4gem"),
            ("$L__BB0_1", "$L__BB0_1"),
        ] {
            assert_eq!(demangled(symbol), name, "{symbol}");
        }
        assert_eq!(declaration("_Z4gemmIfEvPT_").as_deref(), Some("void gemm<float>(float*)"));
        assert_eq!(declaration("gemm"), None);
    }

    #[test]
    fn a_function_has_several_names() {
        assert_eq!(
            called("_ZN3lib4gemmIfEEvPT_"),
            [
                "_ZN3lib4gemmIfEEvPT_",
                "void lib::gemm<float>(float*)",
                "lib::gemm<float>(float*)",
                "lib::gemm<float>",
                "lib::gemm",
                "gemm"
            ]
        );
        assert_eq!(called("gemm"), ["gemm"]);
    }

    #[test]
    fn long_names_are_short_for_people() {
        let symbol = format!("_Z4gemmI{}EvT_", "St4pairI".repeat(40) + "iiE" + &"iE".repeat(39));
        let name = demangled(&symbol);
        assert!(name == "gemm<…>" || name == symbol, "{name}");
        assert!(!demangled(&format!("_Z4gemmI{}EvT_", "St4pairIiiE".repeat(30))).contains("pair"));
    }

    #[test]
    fn symbols_that_stand_for_very_much_stay() {
        let mut symbol = "_Z4gemmI3fooS_".to_owned();
        for index in 0..30 {
            symbol.push_str(&format!(
                "1aIS{0}_S{0}_E",
                char::from_digit(index % 36, 36).unwrap().to_ascii_uppercase()
            ));
        }
        symbol.push_str("Evv");
        assert!(demangled(&symbol).len() < 1 << 17);
    }

    #[test]
    fn operators_are_no_brackets() {
        assert_eq!(without("operator< <int>", ""), "operator< ");
        assert_eq!(without("a<b<c> >::operator()", "<…>"), "a<…>::operator()");
    }
}
