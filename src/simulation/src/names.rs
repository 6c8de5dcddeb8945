//! Which kernel of a module is meant by a name.

use crate::words::{called, declaration};

/// Kernels that are named at most.
pub const MOST_NAMED: usize = 8;

/// The kernels that a name can mean: those that it fits best. It is a symbol, or a name of C++ as far as that tells the
/// kernel from others.
pub fn meant(name: &str, all: &[&str]) -> Vec<String> {
    if all.contains(&name) {
        return vec![name.to_owned()];
    }
    // Compilers put blanks in different places.
    let plain = |text: &str| text.split_whitespace().collect::<String>();
    let wanted = plain(name);
    let fit = |symbol: &&str| called(symbol).iter().position(|it| plain(it) == wanted);
    let fits: Vec<(usize, &str)> = all.iter().filter_map(|symbol| Some((fit(symbol)?, *symbol))).collect();
    let Some(best) = fits.iter().map(|(fit, _)| *fit).min() else { return Vec::new() };
    let mut meant: Vec<String> =
        fits.into_iter().filter(|(fit, _)| *fit == best).map(|(_, symbol)| symbol.to_owned()).collect();
    meant.dedup();
    meant
}

/// Which kernels there are.
pub fn kernels_are(all: &[&str]) -> String {
    if all.is_empty() {
        return "it has no kernel at all".to_owned();
    }
    let mut lines = described(&all.iter().take(MOST_NAMED).map(|it| (*it).to_owned()).collect::<Vec<_>>());
    if all.len() > MOST_NAMED {
        lines.push(format!("and {} more", all.len() - MOST_NAMED));
    }
    format!("its kernels are\n{}", lines.join("\n"))
}

/// Symbols, each with what it is called in its source.
pub fn described(symbols: &[String]) -> Vec<String> {
    let described = |symbol: &String| match declaration(symbol) {
        Some(declaration) => format!("{symbol}: {declaration}"),
        None => symbol.clone(),
    };
    symbols.iter().map(described).collect()
}
