//! What a new rule needs besides its check.

use std::fmt::Write as _;
use std::fs;
use std::process::Command;

use ptx_check::diagnostic::{Ptxas, Severity};
use ptx_check::rules::Scope;

use crate::{Result, root};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Its number, such as TC803: one that no rule ever had. The family is that of its first digit.
    code: String,
    /// Its name, such as issued-twice: the offence in two or three words.
    name: String,
    /// How much of a program it has to see: statement, fragment, function, kernel, module or text.
    #[arg(long, default_value = "statement", value_parser = scope)]
    scope: Scope,
    /// How much its findings matter: error, warning, info, or off.
    #[arg(long, default_value = "warning")]
    severity: Severity,
    /// Whether the assembler refuses what it finds.
    #[arg(long)]
    rejected: bool,
}

fn scope(text: &str) -> std::result::Result<Scope, String> {
    match text {
        "statement" => Ok(Scope::Statement),
        "fragment" => Ok(Scope::Fragment),
        "function" => Ok(Scope::Function),
        "kernel" => Ok(Scope::Kernel),
        "module" => Ok(Scope::Module),
        "text" => Ok(Scope::Text),
        _ => Err("a scope is statement, fragment, function, kernel, module or text".to_owned()),
    }
}

const CODES: &str = "src/checker/src/diagnostic/code.rs";
const RULES: &str = "src/checker/src/rules.rs";
const VERDICTS: &str = "fixtures/ptxas/rules.tsv";

pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    let plan = plan(arguments, &|path| Ok(fs::read_to_string(root().join(path))?))?;
    for (path, _) in plan.iter().filter(|(path, _)| path.contains(&arguments.code)) {
        if root().join(path).exists() {
            return Err(format!("{path} is there already").into());
        }
    }
    for (path, text) in &plan {
        let path = root().join(path);
        fs::create_dir_all(path.parent().unwrap_or(&path))?;
        fs::write(path, text)?;
    }
    // Lines break where the names are long.
    Command::new("cargo").args(["fmt", "--package", "ptx-tc"]).current_dir(root()).status()?;
    for (path, _) in &plan {
        println!("wrote {path}");
    }
    let file = &plan[0].0;
    println!(
        "\nNext:\n\
         1. {file}: what it finds, an example and its repair, and the check\n\
         2. fixtures/rules/{code}/: a kernel with the offence, and one without\n\
         3. cargo test --test it rules::                 names the rule until both are right, then the snapshot\n\
         4. INSTA_UPDATE=always cargo test --test it     and read what it wrote\n\
         5. cargo xtask oracle --record                  what the assembler says of the fixtures\n\
         6. cargo xtask generate                         the rule's page and the table of rules",
        code = arguments.code
    );
    Ok(true)
}

/// The files that are written, with their new texts; the rule's own is the first.
fn plan(arguments: &Arguments, read: &dyn Fn(&str) -> Result<String>) -> Result<Vec<(String, String)>> {
    let Arguments { code, name, .. } = arguments;
    let digits =
        code.strip_prefix("TC").filter(|it| it.len() == 3 && it.bytes().all(|it| it.is_ascii_digit()));
    if digits.is_none() {
        return Err(format!("`{code}` is no code; they look like TC803").into());
    }
    let words: Vec<&str> = name.split('-').collect();
    let is_word = |word: &&str| {
        let mut bytes = word.bytes();
        !word.is_empty() && bytes.all(|it| it.is_ascii_lowercase() || it.is_ascii_digit())
    };
    if !words.iter().all(is_word) || !name.starts_with(|first: char| first.is_ascii_lowercase()) {
        return Err(format!("`{name}` is no name; they look like issued-twice").into());
    }
    let variant: String = words.iter().map(|word| word[..1].to_uppercase() + &word[1..]).collect();
    let module = words.join("_");

    let codes = read(CODES)?;
    let numbers: Vec<&str> = codes.lines().filter_map(number).collect();
    if numbers.contains(&code.as_str()) || codes.contains(&format!("\"{name}\"")) {
        return Err(format!("there is a {code}, or a `{name}`").into());
    }
    let place = numbers.iter().filter(|other| **other < code.as_str()).count();
    // Behind the last of its family, unless it comes before the first.
    let before = place > 0 && numbers[place - 1][..3] == code[..3];
    let first = || numbers.iter().position(|other| other[..3] == code[..3]);
    let neighbour = if before { Some(place - 1) } else { first() };
    let neighbour = neighbour.ok_or_else(|| format!("no family has codes like {code}"))?;
    let row = if before { place - 1 } else { place };

    let rules = read(RULES)?;
    let family = rules.lines().filter_map(path).nth(neighbour).map(|(family, _)| family.to_owned());
    let family = family.ok_or_else(|| format!("{RULES} has fewer rules than {CODES}"))?;
    let ptxas: &str = if arguments.rejected { Ptxas::Rejects } else { Ptxas::Silent }.into();
    let severity: &str = arguments.severity.into();
    let fact = format!("    {variant} \"{code}\" \"{name}\" {} {},", capital(severity), capital(ptxas));
    let list = format!("src/checker/src/rules/{family}.rs");
    let verdicts = read(VERDICTS)?;
    let refused = if arguments.rejected { "rejects" } else { "accepts" };
    let is_fragment = arguments.scope == Scope::Fragment;
    let kind = if is_fragment { "cu" } else { "ptx" };
    let fixture = if is_fragment { host_fixture } else { fixture };
    let mut verdict = format!("fixtures/rules/{code}/invalid.{kind}\t{refused}\t\n");
    let _ = writeln!(verdict, "fixtures/rules/{code}/valid.{kind}\taccepts\t");
    let at = verdicts.lines().position(|line| line > verdict.as_str() && !line.starts_with('#'));
    Ok(vec![
        (format!("src/checker/src/rules/{family}/{module}.rs"), rule(arguments, &variant)),
        (CODES.to_owned(), beside(&codes, &|line| number(line).is_some(), row, before, &fact)),
        (
            RULES.to_owned(),
            beside(&rules, &|line| path(line).is_some(), row, before, &format!("    {family}::{module},")),
        ),
        (list.clone(), with_module(&read(&list)?, &module)),
        (VERDICTS.to_owned(), with_line(&verdicts, at, verdict.trim_end_matches('\n'))),
        (format!("fixtures/rules/{code}/invalid.{kind}"), fixture("Has the offence.")),
        (format!("fixtures/rules/{code}/valid.{kind}"), fixture("The same, without it.")),
    ])
}

fn capital(word: &str) -> String {
    word[..1].to_uppercase() + &word[1..]
}

/// The code in a row of the table of codes.
fn number(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("    ")?.split_once(" \"")?.1;
    rest.split('"').next().filter(|code| code.len() == 5 && code.starts_with("TC"))
}

/// Family and module in a row of the list of rules that are checked; what runs of a kernel show has other
/// codes.
fn path(line: &str) -> Option<(&str, &str)> {
    let (family, module) = line.strip_prefix("    ")?.strip_suffix(',')?.split_once("::")?;
    let is_name =
        |it: &str| it.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'_');
    (family != "simulation" && is_name(family) && is_name(module)).then_some((family, module))
}

/// The text with a line behind the `row`th of the lines that `is_row` holds for, or before it.
fn beside(text: &str, is_row: &dyn Fn(&str) -> bool, row: usize, behind: bool, line: &str) -> String {
    let rows = text.lines().enumerate().filter(|(_, line)| is_row(line)).map(|(at, _)| at);
    let at = rows.clone().nth(row).map(|at| at + usize::from(behind));
    with_line(text, at.or_else(|| rows.last().map(|at| at + 1)), line)
}

/// The text with a line more, at its end if it is not said where.
fn with_line(text: &str, at: Option<usize>, line: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.insert(at.unwrap_or(lines.len()), line);
    lines.join("\n") + "\n"
}

/// The modules of a family stand in the order of their names.
fn with_module(text: &str, module: &str) -> String {
    let line = format!("pub(super) mod {module};");
    let is_module = |it: &str| it.starts_with("pub(super) mod ");
    let at = text.lines().position(|it| is_module(it) && it > line.as_str());
    let last = || text.lines().collect::<Vec<_>>().iter().rposition(|it| is_module(it)).map(|at| at + 1);
    with_line(text, at.or_else(last), &line)
}

/// The file of a rule that finds nothing yet.
fn rule(arguments: &Arguments, variant: &str) -> String {
    let scope = match arguments.scope {
        Scope::Statement => "Statement",
        Scope::Fragment => "Fragment",
        Scope::Function => "Function",
        Scope::Kernel => "Kernel",
        Scope::Module => "Module",
        Scope::Text => "Text",
        Scope::Run => "Run",
    };
    let (imports, head, span, tail) = match arguments.scope {
        // Of the operations that it is about.
        Scope::Statement => (
            "use crate::instruction::index::OperationSet;\n",
            "    for (decoded, _) in checker.typed(OperationSet::MULTIPLIES) {\n",
            "decoded.name",
            "    }\n",
        ),
        Scope::Fragment => {
            ("", "    for fragment in &checker.unit.fragments {\n", "fragment.keyword", "    }\n")
        }
        Scope::Function => (
            "",
            "    for flow in checker.flows() {\n        for event in flow.events() {\n",
            "flow.span(*event)",
            "        }\n    }\n",
        ),
        Scope::Kernel => (
            "use crate::analysis::flow::Flow;\n",
            "    for flow in checker.flows().filter(Flow::is_entry) {\n        for event in flow.events() {\n",
            "flow.span(*event)",
            "        }\n    }\n",
        ),
        Scope::Module | Scope::Text | Scope::Run => {
            ("", "    for decoded in checker.instructions {\n", "decoded.name", "    }\n")
        }
    };
    let indent = " ".repeat(4 + 4 * head.lines().count());
    let (language, example) = match arguments.scope {
        Scope::Fragment => ("cuda", "asm volatile(\"tcgen05.wait::ld.sync.aligned;\" ::: \"memory\");"),
        _ => ("ptx", "tcgen05.wait::ld.sync.aligned;"),
    };
    let mut imports = [imports, "use crate::diagnostic::{Diagnostic, Findings};\n"];
    imports.sort_unstable();
    let imports = imports.concat();
    format!(
        "{imports}\
         use crate::rules::{{Checker, Code, rule}};\n\n\
         rule! {{\n    \
         /// ## What it does\n    \
         /// Finds ...\n    \
         ///\n    \
         /// ## Why is this bad?\n    \
         /// What happens to someone who does it.\n    \
         ///\n    \
         /// ## Example\n    \
         /// ```{language}\n    \
         /// {example}\n    \
         /// ```\n    \
         ///\n    \
         /// ## Use instead\n    \
         /// ```{language}\n    \
         /// {example}\n    \
         /// ```\n    \
         ///\n    \
         /// ## References\n    \
         /// PTX ISA, section 9.7.16\n    \
         {variant} {scope} check\n\
         }}\n\n\
         fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {{\n\
         {head}\
         {indent}// What makes it an offence?\n\
         {indent}let offends = false;\n\
         {indent}if offends {{\n\
         {indent}    findings.push(\n\
         {indent}        Diagnostic::new(Code::{variant}, {span}, \"what has to be so\", \"what was found\")\n\
         {indent}            .help(\"what to write instead\"),\n\
         {indent}    );\n\
         {indent}}}\n\
         {tail}}}\n"
    )
}

/// A sound statement in a file of CUDA.
fn host_fixture(comment: &str) -> String {
    format!(
        "// {comment}\n\
         __device__ void wait() {{\n  \
         asm volatile(\"tcgen05.wait::ld.sync.aligned;\" ::: \"memory\");\n\
         }}\n"
    )
}

/// A sound kernel.
fn fixture(comment: &str) -> String {
    format!(
        "// {comment}\n.version 9.0\n.target sm_100a\n.address_size 64\n\n.visible .entry kernel()\n{{\n    \
         .reg .pred p, elected, done;\n    .reg .b32 r<8>, taddr, idesc;\n    .reg .b64 adesc, bdesc;\n    \
         .shared .align 8 .b64 mbar;\n    .shared .align 4 .b32 slot;\n\n    \
         tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 128;\n    bar.sync 0;\n    \
         ld.shared.b32 taddr, [slot];\n    bar.sync 0;\n    \
         tcgen05.dealloc.cta_group::1.sync.aligned.b32 taddr, 128;\n    ret;\n}}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(code: &str, name: &str, scope: Scope) -> Result<Vec<(String, String)>> {
        let arguments = Arguments {
            code: code.to_owned(),
            name: name.to_owned(),
            scope,
            severity: Severity::Warning,
            rejected: false,
        };
        plan(&arguments, &|path| Ok(fs::read_to_string(root().join(path))?))
    }

    /// What is new in a file, with the lines around it.
    fn added(plan: &[(String, String)], path: &str) -> (String, String, String) {
        let old = fs::read_to_string(root().join(path)).unwrap();
        let new = &plan.iter().find(|(other, _)| other == path).unwrap().1;
        let at = old.lines().zip(new.lines()).position(|(old, new)| old != new);
        let at = at.unwrap_or(old.lines().count());
        assert_eq!(old.lines().count() + 1, new.lines().count(), "{path}");
        let line = |at: usize| new.lines().nth(at).unwrap_or_default().trim().to_owned();
        (line(at - 1), line(at), line(at + 1))
    }

    #[test]
    fn the_last_of_a_family() {
        let plan = planned("TC819", "issued-twice", Scope::Function).unwrap();
        let (before, row, behind) = added(&plan, CODES);
        assert!(before.starts_with("PairNotSynchronised"), "{before}");
        assert_eq!(row, "IssuedTwice \"TC819\" \"issued-twice\" Warning Silent,");
        assert!(behind.starts_with("// TC82"), "{behind}");
        let (before, row, behind) = added(&plan, RULES);
        assert_eq!(
            (before.as_str(), row.as_str()),
            ("issue::pair_not_synchronised,", "issue::issued_twice,")
        );
        assert!(behind.starts_with("// TC82"), "{behind}");
        let (before, row, _) = added(&plan, "src/checker/src/rules/issue.rs");
        assert_eq!(before, "pub(super) mod issued_by_several_threads;");
        assert_eq!(row, "pub(super) mod issued_twice;");
        assert_eq!(plan[0].0, "src/checker/src/rules/issue/issued_twice.rs");
        let verdicts = &plan.iter().find(|(path, _)| path == VERDICTS).unwrap().1;
        let lines: Vec<&str> = verdicts.lines().filter(|line| !line.starts_with('#')).collect();
        assert!(lines.is_sorted() && lines.iter().any(|line| line.contains("TC819/valid.ptx\taccepts")));
    }

    #[test]
    fn the_last_of_all() {
        let plan = planned("TC999", "z-last", Scope::Module).unwrap();
        let (before, row, behind) = added(&plan, RULES);
        assert!(before.starts_with("inline_assembly::") && behind == "}", "{before} {behind}");
        assert_eq!(row, "inline_assembly::z_last,");
    }

    #[test]
    fn mistakes_are_named() {
        let message = |code, name| planned(code, name, Scope::Statement).unwrap_err().to_string();
        assert!(message("TC301", "something-new").contains("there is"));
        assert!(message("TC399", "ncols-invalid").contains("there is"));
        assert!(message("XY1", "name").contains("no code"));
        assert!(message("TC399", "Not A Name").contains("no name"));
        assert!(message("TC399", "two--words").contains("no name"));
    }

    #[test]
    fn a_rule_has_its_headings() {
        for scope in [Scope::Statement, Scope::Function, Scope::Kernel, Scope::Module, Scope::Text] {
            let plan = planned("TC819", "issued-twice", scope).unwrap();
            for heading in ["What it does", "Why is this bad?", "Example", "Use instead", "References"] {
                assert!(plan[0].1.contains(&format!("    /// ## {heading}\n")), "{heading}");
            }
            assert_eq!(plan[0].1.matches('{').count(), plan[0].1.matches('}').count());
        }
    }
}
