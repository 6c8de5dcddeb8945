//! The messages of both side by side.

use std::fs;

use ptx_check::{Options, Source, check};
use ptx_render::{Checked, Format};

use super::assembler::Assembler;
use crate::{Result, root};

/// Prints, for the first invalid fixture of each rule, what ptxas and ptx-tc say.
pub(crate) fn print(assembler: &Assembler) -> Result<bool> {
    for rule in ptx_check::rules::RULES {
        let directory = root().join("fixtures/rules").join(rule.code.as_str());
        let mut fixtures: Vec<_> = fs::read_dir(&directory)?
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("invalid")))
            .collect();
        fixtures.sort();
        for path in fixtures.iter().take(2) {
            let text = fs::read_to_string(path)?;
            let output = assembler.run(&text, super::record::target_of(&text), "message.ptx")?;
            let name = path.strip_prefix(root()).unwrap_or(path).display().to_string();
            println!("──── {} {} · {name}", rule.code, rule.code.name());
            for line in output.messages.lines().filter(|line| !line.contains("aborted due to errors")) {
                println!("ptxas   {}", line.split_once("; ").map_or(line, |(_, message)| message));
            }
            if output.accepted {
                println!("ptxas   accepts it");
            }
            let source = Source::new(name, text)?;
            let report = check(&source, &Options::default());
            let mut rendered = Vec::new();
            ptx_render::render(&[Checked::new(source, report)], Format::Human, false, &mut rendered)?;
            println!("{}", String::from_utf8_lossy(&rendered));
        }
    }
    Ok(true)
}
