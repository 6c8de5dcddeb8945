//! Which files are checked, with which settings, and what the last line says: what people know from other linters.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::common::{ptx_tc, root, scratch, stderr, stdout};

const BAD: &str = "fixtures/rules/TC301/invalid_48.ptx";
/// A finding that is a warning (a comment that silences nothing), and has a safe fix.
const WARNS: &str = ".version 9.0\n.target sm_100a\n.entry k()\n{\n    ret; // ptx-tc: allow(TC301)\n}\n";

fn run_in(directory: &Path, arguments: &[&str]) -> Output {
    ptx_tc(arguments).current_dir(directory).output().unwrap()
}

/// A project with a bad kernel at each of some paths.
fn project(name: &str, paths: &[&str]) -> PathBuf {
    let directory = scratch(name);
    for path in paths {
        let path = directory.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::copy(root().join(BAD), path).unwrap();
    }
    directory
}

/// The files that would be checked.
fn shown(directory: &Path, arguments: &[&str]) -> Vec<String> {
    let output = run_in(directory, &[&["check", "--show-files"], arguments].concat());
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stderr(&output));
    stdout(&output).lines().map(|line| line.trim_start_matches("./").to_owned()).collect()
}

#[test]
fn without_a_path_the_current_directory_is_checked() {
    let directory = project("no_path", &["a.ptx", "sub/b.ptx"]);
    let output = run_in(&directory, &["check", "--format", "concise"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(stdout(&output), stdout(&run_in(&directory, &["check", ".", "--format", "concise"])));
    assert_eq!(shown(&directory, &[]), ["a.ptx", "sub/b.ptx"]);
    // Who says what standard input is called means standard input.
    let output = run_in(&directory, &["check", "--stdin-filename", "k.ptx", "--format", "concise"]);
    assert!(stdout(&output).starts_with("k.ptx:"), "{}", stdout(&output));
}

#[test]
fn warnings_count_when_they_are_to() {
    let directory = scratch("error_on_warning");
    fs::write(directory.join("k.ptx"), WARNS).unwrap();
    let status = |arguments: &[&str]| run_in(&directory, &[&["check"], arguments].concat()).status.code();
    assert_eq!(status(&[]), Some(0));
    assert_eq!(status(&["--error-on-warning"]), Some(1));
    assert_eq!(status(&["--error-on-warning", "--ignore", "TC903,unused-suppression"]), Some(0));
    // Not an info.
    assert_eq!(status(&["--error-on-warning", "--severity", "unused-suppression=info"]), Some(0));
    assert_eq!(status(&["--error-on-warning", "--fix"]), Some(0));
    assert_eq!(status(&["--error-on-warning", "--exit-zero"]), Some(2));
    assert_eq!(status(&["--error-on-warning", "none.ptx"]), Some(2));
}

#[test]
fn the_command_line_adds_to_what_is_excluded_and_replaces_what_is_included() {
    let directory =
        project("patterns", &["a.ptx", "b.cu", "gen/c.ptx", "src/d.ptx", "src/e.cu", "src/x,{y}.ptx"]);
    assert_eq!(
        shown(&directory, &["--exclude", "gen,src/*.cu"]),
        ["a.ptx", "b.cu", "src/d.ptx", "src/x,{y}.ptx"]
    );
    assert_eq!(shown(&directory, &["--exclude", "{gen,src}"]), ["a.ptx", "b.cu"]);
    assert_eq!(shown(&directory, &["--exclude", "gen", "--exclude", "src"]), ["a.ptx", "b.cu"]);
    assert_eq!(shown(&directory, &["--include", "*.cu"]), ["b.cu", "src/e.cu"]);
    assert_eq!(shown(&directory, &["--include", "src", "--exclude", "*.ptx"]), ["src/e.cu"]);
    fs::write(directory.join("ptx-tc.toml"), "exclude = [\"gen\"]\ninclude = [\"*.ptx\"]\n").unwrap();
    assert_eq!(shown(&directory, &[]), ["a.ptx", "src/d.ptx", "src/x,{y}.ptx"]);
    assert_eq!(shown(&directory, &["--exclude", "a.ptx,x*"]), ["src/d.ptx"]);
    assert_eq!(shown(&directory, &["--include", "*.cu,gen"]), ["b.cu", "src/e.cu"]);
    // Patterns are relative to where they are written, and names count at any depth.
    let sub = directory.join("src");
    assert_eq!(shown(&sub, &["..", "--exclude", "d.ptx,/x*"]), ["../a.ptx"]);
    assert_eq!(shown(&sub, &["..", "--exclude", "a.ptx"]), ["../src/d.ptx", "../src/x,{y}.ptx"]);
    // Who names a file means it.
    assert_eq!(shown(&directory, &["b.cu", "--include", "*.ptx"]), ["b.cu"]);
    let output = run_in(&directory, &["check", "--exclude", "a["]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("--exclude") && stderr(&output).contains("a["), "{}", stderr(&output));
    // The same options lay out.
    let formatted = run_in(&directory, &["format", ".", "--check", "--exclude", "src"]);
    assert!(
        !stdout(&formatted).contains("src") && !stdout(&formatted).contains("gen"),
        "{}",
        stdout(&formatted)
    );
}

#[test]
fn an_excluded_file_that_is_named_says_so() {
    let directory = project("named", &["gen/k.ptx", "k.ptx"]);
    fs::write(directory.join("ptx-tc.toml"), "exclude = [\"gen\"]\n").unwrap();
    let output = run_in(&directory, &["check", "gen/k.ptx"]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(stdout(&output), "0 files checked, nothing found\n");
    insta::assert_snapshot!(stderr(&output), @"note: `gen/k.ptx` is excluded by `exclude = [\"gen\"]` in ptx-tc.toml; with `--no-force-exclude` it counts that a file is named\n");
    let output = run_in(&directory, &["check", "k.ptx", "--exclude", "k*"]);
    assert!(stderr(&output).contains("`k.ptx` is excluded by `--exclude k*`"), "{}", stderr(&output));
    assert!(stderr(&run_in(&directory, &["check", "gen"])).contains("`gen` is excluded"));
    assert!(stderr(&run_in(&directory, &["format", "gen/k.ptx"])).contains("`gen/k.ptx` is excluded"));
    for quiet in [
        &["check", "."][..],
        &["check", "gen/k.ptx", "--quiet"],
        &["check", "gen/k.ptx", "--no-force-exclude"],
    ] {
        assert_eq!(stderr(&run_in(&directory, quiet)), "", "{quiet:?}");
    }
    assert_eq!(shown(&directory, &["gen/k.ptx", "--no-force-exclude"]), ["gen/k.ptx"]);
    assert!(shown(&directory, &["gen/k.ptx", "--force-exclude"]).is_empty());
    // What a search finds is excluded as before.
    assert_eq!(shown(&directory, &[".", "--no-force-exclude"]), ["k.ptx"]);
    // A commit of very many.
    let names: Vec<String> = (0..50).map(|index| format!("gen/{index}.ptx")).collect();
    for name in &names {
        fs::copy(root().join(BAD), directory.join(name)).unwrap();
    }
    let arguments: Vec<&str> = std::iter::once("check").chain(names.iter().map(String::as_str)).collect();
    let said = stderr(&run_in(&directory, &arguments));
    assert_eq!(said.lines().count(), 11, "{said}");
    assert!(said.ends_with("note: 40 more are excluded\n"), "{said}");
}

#[test]
fn ignore_files_hold_unless_they_are_not_to() {
    let directory = project("no_ignore", &["a.ptx", "build/b.ptx", "c.ptx", ".hidden/d.ptx"]);
    fs::write(directory.join(".gitignore"), "build/\n").unwrap();
    fs::write(directory.join(".ignore"), "c.ptx\n").unwrap();
    assert_eq!(shown(&directory, &[]), ["a.ptx"]);
    assert_eq!(shown(&directory, &["--no-ignore"]), ["a.ptx", "build/b.ptx", "c.ptx"]);
    assert_eq!(shown(&directory, &["--no-ignore", "--exclude", "build"]), ["a.ptx", "c.ptx"]);
    fs::remove_file(directory.join("a.ptx")).unwrap();
    let output = run_in(&directory, &["check"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("--no-ignore"), "{}", stderr(&output));
}

#[test]
fn colours_are_a_matter_of_an_option_in_every_command() {
    let has_colour = |output: &Output| output.stdout.contains(&0x1b) || output.stderr.contains(&0x1b);
    for arguments in [&["check", BAD][..], &["check", "none.ptx"], &["explain", "TD0"]] {
        let always =
            ptx_tc(&[arguments, &["--color", "always"]].concat()).env("NO_COLOR", "1").output().unwrap();
        assert!(has_colour(&always), "{arguments:?}");
        let never =
            ptx_tc(&[&["--color", "never"], arguments].concat()).env("CLICOLOR_FORCE", "1").output().unwrap();
        assert!(!has_colour(&never), "{arguments:?}");
        let auto = ptx_tc(arguments).env_remove("NO_COLOR").output().unwrap();
        assert!(!has_colour(&auto), "{arguments:?}");
    }
    // Documents have none.
    let json = ptx_tc(&["check", BAD, "--format", "json", "--color", "always"]).output().unwrap();
    assert!(!has_colour(&json));
}

/// Settings without the lines that say which rules run, and these.
fn without_rules(settings: &str) -> (String, Vec<&str>) {
    let (rules, others): (Vec<&str>, Vec<&str>) =
        settings.lines().partition(|line| line.starts_with("# ") && line.contains(" rules run"));
    (others.join("\n"), rules)
}

#[test]
fn settings_say_where_they_are_from() {
    let directory = project("settings", &["a.ptx", "b.ptx", "tests/c.ptx", "other/d.ptx"]);
    fs::write(
        directory.join("ptx-tc.toml"),
        "targets = [\"sm_100a\"]\nignore = [\"TC901\"]\n\nexclude = [\n  \"build\",\n]\n[severity]\nTC302 = \"info\"\nTC301 = \"warning\"\n\
         [per-file-ignores]\n\"tests/*\" = [\"TC1\"]\n",
    )
    .unwrap();
    fs::write(directory.join("other/ptx-tc.toml"), "max-findings = 3\n").unwrap();
    let output = run_in(
        &directory,
        &[
            "check",
            "--show-settings",
            "--ignore",
            "qualifier-order",
            "--severity",
            "TC301=info",
            "--exclude",
            "gen",
        ],
    );
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let output = stdout(&output);
    let (settings, rules) = without_rules(&output);
    insta::assert_snapshot!("settings", settings);
    assert!(rules.iter().all(|line| line.contains("TC901, TC902")), "{rules:?}");
    assert!(rules[2].contains("TC101, TC102") && !rules[0].contains("TC101"), "{rules:?}");
    // They are a configuration that says the same.
    let first = |arguments: &[&str]| {
        let text =
            stdout(&run_in(&directory, &[&["check", "--show-settings", "tests/c.ptx"], arguments].concat()));
        let lines =
            text.lines().skip(2).map(|line| line.split(" # ").next().unwrap_or_default().to_owned() + "\n");
        (text.clone(), lines.collect::<String>())
    };
    let (text, settings) = first(&["--target", "sm_103a", "--select", "TC3", "--max-findings", "7"]);
    fs::write(directory.join("same.toml"), text).unwrap();
    let (_, again) = first(&["--config", "same.toml"]);
    assert_eq!(settings, again);
    // What nobody says.
    insta::assert_snapshot!("settings_default", {
        let plain = project("settings_default", &["k.ptx"]);
        fs::write(plain.join("ptx-tc.toml"), "").unwrap();
        without_rules(&stdout(&run_in(&plain, &["check", "--show-settings", "k.ptx"]))).0
    });
}

#[test]
fn the_last_line_counts_fixes() {
    let directory = scratch("fixable");
    let header = ".version 9.0\n.target sm_100a\n.entry k()\n{\n    .reg .b32 t;\n";
    let wait = "    tcgen05.wait::ld.sync;\n";
    let guess = "    mbarier.init.shared::cta.b64 [t], 1;\n";
    let last_line = |body: &str, arguments: &[&str]| {
        fs::write(directory.join("k.ptx"), format!("{header}{body}    ret;\n}}\n")).unwrap();
        let output = run_in(&directory, &[&["check", "k.ptx", "--select", "TC1"], arguments].concat());
        let stdout = stdout(&output);
        let lines: Vec<&str> = stdout.lines().collect();
        let totals = lines.iter().position(|line| line.contains(" checked")).unwrap();
        lines[totals..].join(" / ")
    };
    assert_eq!(last_line(wait, &[]), "1 file checked: 1 error, 0 warnings / 1 fixable with --fix");
    assert_eq!(last_line(guess, &[]), "1 file checked: 1 error, 0 warnings / 1 fixable with --unsafe-fixes");
    let both = wait.repeat(3) + &guess.repeat(2);
    let said = "1 file checked: 5 errors, 0 warnings / 3 fixable, 2 more with --unsafe-fixes";
    assert_eq!(last_line(&both, &[]), said);
    assert!(last_line(&both, &["--statistics"]).ends_with(" / 3 fixable, 2 more with --unsafe-fixes"));
    // Also of those that are not shown.
    assert_eq!(last_line(&both, &["--max-findings", "1"]), said);
    assert_eq!(
        last_line(&both, &["--fix"]),
        "1 file checked: 2 errors, 0 warnings / 2 fixable with --unsafe-fixes"
    );
    assert_eq!(last_line("", &[]), "1 file checked, nothing found");
}

#[test]
fn a_diff_of_nothing_says_so() {
    let directory = scratch("diff");
    fs::write(directory.join("k.ptx"), WARNS.replace(" // ptx-tc: allow(TC301)", "")).unwrap();
    let said = |arguments: &[&str]| {
        let output = run_in(&directory, arguments);
        assert_eq!(stdout(&output), "");
        stderr(&output)
    };
    assert_eq!(said(&["check", "k.ptx", "--diff"]), "would fix nothing\n");
    assert_eq!(said(&["check", "k.ptx", "--diff", "--add-allow"]), "would silence nothing\n");
    assert_eq!(said(&["format", "k.ptx", "--diff"]), "would format nothing\n");
    for command in ["check", "format"] {
        assert_eq!(said(&[command, "k.ptx", "--diff", "--quiet"]), "");
    }
    fs::write(directory.join("k.ptx"), WARNS.replace("ret;", "mbarier.init.shared::cta.b64 [0], 1; ret;"))
        .unwrap();
    let output = run_in(&directory, &["check", "k.ptx", "--diff", "--ignore", "unused-suppression"]);
    assert_eq!(stderr(&output), "would fix nothing (1 fixable with --unsafe-fixes)\n");
}

#[test]
fn a_table_of_pyproject_is_a_configuration() {
    let directory = project("pyproject", &["k.ptx", "sub/k.ptx"]);
    let write = |path: &str, text: &str| fs::write(directory.join(path), text).unwrap();
    let found = |path: &str| {
        let output = run_in(&directory, &["check", path, "--format", "concise"]);
        (output.status.code(), stdout(&output) + &stderr(&output))
    };
    write("pyproject.toml", "[project]\nname = \"k\"\n\n[tool.ptx-tc]\nignore = [\"TC301\"]\n");
    assert_eq!(found("k.ptx"), (Some(0), String::new()));
    assert_eq!(found("sub/k.ptx").0, Some(0));
    // One without the table is skipped, whatever it says.
    write("sub/pyproject.toml", "[project]\nname = \"ptx-tc-user\"\ndependencies = [\"ptx-tc\"]\n");
    assert_eq!(found("sub/k.ptx").0, Some(0));
    write("sub/pyproject.toml", "this is = = no TOML\n");
    assert_eq!(found("sub/k.ptx").0, Some(0));
    // An empty table is a configuration.
    write("sub/pyproject.toml", "[tool.ptx-tc]\n");
    assert_eq!(found("sub/k.ptx").0, Some(1));
    // In the same directory, the file of its own wins.
    write("ptx-tc.toml", "");
    assert_eq!(found("k.ptx").0, Some(1));
    fs::remove_file(directory.join("ptx-tc.toml")).unwrap();
    // Mistakes are shown where they are.
    write("pyproject.toml", "[project]\nname = \"k\"\n\n[tool.ptx-tc]\nignroe = [\"TC301\"]\n");
    let (status, said) = found("k.ptx");
    assert_eq!(status, Some(2));
    assert!(
        said.contains("ignroe") && said.contains("`ignore`") && said.contains("pyproject.toml:5"),
        "{said}"
    );
    write("pyproject.toml", "[tool]\nptx-tc = 1\n");
    assert!(found("k.ptx").1.contains("a table is expected here"));
    write("pyproject.toml", "[tool.ptx-tc\n");
    assert_eq!(found("k.ptx").0, Some(2));
    // Named.
    write("pyproject.toml", "[tool.ptx-tc]\nignore = [\"TC301\"]\n");
    let with = |config: &str| run_in(&directory, &["check", "sub/k.ptx", "--config", config]);
    assert_eq!(with("pyproject.toml").status.code(), Some(0));
    write("sub/pyproject.toml", "[project]\nname = \"k\"\n");
    let output = with("sub/pyproject.toml");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("no table `[tool.ptx-tc]`"), "{}", stderr(&output));
}

/// `_Z4gemmIfEvPT_` is `void gemm<float>(float*)`.
const KERNELS: &str = ".version 9.0\n.target sm_100a\n.address_size 64\n\
    .visible .entry _Z4gemmIfEvPT_(.param .u64 p) { ret; }\n\
    .visible .entry _Z4gemmIdEvPT_(.param .u64 p) { ret; }\n\
    .visible .entry _ZN3lib4copyEPf(.param .u64 p) { ret; }\n\
    .visible .entry plain() { ret; }\n";

#[test]
fn kernels_have_the_names_of_their_source() {
    let directory = scratch("demangled");
    fs::write(directory.join("k.ptx"), KERNELS).unwrap();
    let simulate = |arguments: &[&str]| run_in(&directory, &[&["simulate", "k.ptx"], arguments].concat());
    let ran = |name: &str| {
        let output = simulate(&["--kernel", name, "--format", "json"]);
        assert_eq!(output.status.code(), Some(0), "{name}: {}", stderr(&output));
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let kernels = document["kernels"].as_array().unwrap();
        assert_eq!(kernels.len(), 1);
        let text = |field: &str| kernels[0][field].as_str().unwrap().to_owned();
        (text("kernel"), text("name"))
    };
    for name in [
        "_Z4gemmIfEvPT_",
        "void gemm<float>(float*)",
        "void gemm<float>(float *)",
        "gemm<float>(float*)",
        "gemm<float>",
    ] {
        assert_eq!(ran(name), ("_Z4gemmIfEvPT_".to_owned(), "gemm<float>".to_owned()));
    }
    for name in ["_ZN3lib4copyEPf", "lib::copy", "copy", "lib::copy(float*)"] {
        assert_eq!(ran(name).0, "_ZN3lib4copyEPf");
    }
    assert_eq!(ran("plain"), ("plain".to_owned(), "plain".to_owned()));
    let output = simulate(&["--kernel", "gemm"]);
    assert_eq!(output.status.code(), Some(2));
    insta::assert_snapshot!("ambiguous_kernel", stderr(&output));
    let output = simulate(&["--kernel", "gem"]);
    assert_eq!(output.status.code(), Some(2));
    insta::assert_snapshot!("no_such_kernel", stderr(&output));
    // A launch file may say it, too; what is printed names the symbol.
    fs::write(
        directory.join("k.toml"),
        "kernel = \"lib::copy\"\nblock = [32, 1, 1]\n[[arg]]\ntype = \"buffer\"\nbytes = 64\n",
    )
    .unwrap();
    let output = simulate(&["--launch", "k.toml"]);
    assert!(stdout(&output).starts_with("lib::copy: clean"), "{}{}", stdout(&output), stderr(&output));
    let template = stdout(&simulate(&["--kernel", "copy", "--print-launch"]));
    assert!(template.starts_with("kernel = \"_ZN3lib4copyEPf\" # lib::copy(float*)\n"), "{template}");
}

#[test]
fn messages_have_the_names_of_the_source() {
    let directory = scratch("demangled_messages");
    let header = ".version 9.0\n.target sm_100a\n.address_size 64\n";
    let kernel = ".visible .entry _Z4gemmIfEvPT_()\n{\n    .shared .align 4 .b32 slot;\n    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 64;\n    ret;\n}\n";
    fs::write(directory.join("k.ptx"), format!("{header}{kernel}")).unwrap();
    let output = stdout(&run_in(&directory, &["check", "k.ptx", "--format", "concise", "--select", "TC304"]));
    assert!(output.contains("kernel `gemm<float>` allocates Tensor Memory"), "{output}");
}

#[test]
fn the_manual_page_and_completions_are_offered() {
    let help = stdout(&run_in(root(), &["--help"]));
    for command in ["man", "completions"] {
        assert!(help.lines().any(|line| line.trim_start().starts_with(command)), "{help}");
    }
    let page = stdout(&run_in(root(), &["man"]));
    for option in ["error\\-on\\-warning", "show\\-settings", "no\\-ignore", "color"] {
        assert!(page.contains(option), "{option}");
    }
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = stdout(&run_in(root(), &["completions", shell]));
        for option in ["exclude", "show-files", "error-on-warning"] {
            assert!(script.contains(option), "{shell}: {option}");
        }
    }
}

/// Every option of `check` that is no secret is in the pages for people who look for it.
#[test]
fn the_options_about_files_are_documented() {
    let page = fs::read_to_string(root().join("docs/command-line.md")).unwrap();
    for option in [
        "--error-on-warning",
        "--color",
        "--exclude",
        "--include",
        "--no-ignore",
        "--show-files",
        "--show-settings",
        "--no-force-exclude",
        "--diff",
        "--unsafe-fixes",
        "[tool.ptx-tc]",
        "python -m ptx_tc",
        "ptx-tc man",
        "ptx-tc completions",
    ] {
        assert!(page.contains(option), "{option}");
    }
}

/// A `;` that is missing in the template of a statement is written into its literal.
#[test]
fn a_missing_end_in_a_literal_has_a_fix() {
    let directory = scratch("missing_ends");
    for (name, before, after) in [
        (
            "end.cu",
            r#"asm volatile("mov.b32 %0, %0" : "+r"(x));"#,
            r#"asm volatile("mov.b32 %0, %0;" : "+r"(x));"#,
        ),
        (
            "scope.cu",
            r#"asm volatile("{ mov.b32 %0, %0 }" : "+r"(x));"#,
            r#"asm volatile("{ mov.b32 %0, %0; }" : "+r"(x));"#,
        ),
        (
            "line.cu",
            "asm volatile(\"mov.b32 %0, %0\\n\\t\"\n\"add.u32 %0, %0, 1;\" : \"+r\"(x));",
            "asm volatile(\"mov.b32 %0, %0;\\n\\t\"\n\"add.u32 %0, %0, 1;\" : \"+r\"(x));",
        ),
        // Without anything between the literals, two words are one.
        (
            "joined.cu",
            "asm volatile(\"mov.b32 %0, %0\"\n\"add.u32 %0, %0, 1;\" : \"+r\"(x));",
            "asm volatile(\"mov.b32 %0, %0;\"\n\"add.u32 %0, %0, 1;\" : \"+r\"(x));",
        ),
        (
            "joined_words.cu",
            "asm volatile(\"fence.proxy.async.shared::cta\"\n\"bar.sync 0;\" ::: \"memory\");",
            "asm volatile(\"fence.proxy.async.shared::cta;\"\n\"bar.sync 0;\" ::: \"memory\");",
        ),
    ] {
        let file = |statement: &str| format!("__device__ void f(int x) {{\n{statement}\n}}\n");
        fs::write(directory.join(name), file(before)).unwrap();
        assert_eq!(run_in(&directory, &["check", name]).status.code(), Some(1), "{name}");
        let output = run_in(&directory, &["check", name, "--fix"]);
        assert_eq!(
            fs::read_to_string(directory.join(name)).unwrap(),
            file(after),
            "{name}: {}",
            stdout(&output)
        );
        assert_eq!(output.status.code(), Some(0), "{name}: {}", stdout(&output));
    }
    // Literals that belong to one instruction may meet within a word.
    let sound = "__device__ void f(int x) {\nasm volatile(\"mov\"\n\".b32 %0\"\n\", %0;\" : \"+r\"(x));\n}\n";
    fs::write(directory.join("sound.cu"), sound).unwrap();
    assert_eq!(run_in(&directory, &["check", "sound.cu"]).status.code(), Some(0));
}

/// A misspelt target or version would let everything pass.
#[test]
fn targets_and_versions_exist() {
    let path = root().join("docs/simulation/gemm.ptx");
    let check = |option: &str, value: &str| run_in(root(), &["check", path.to_str().unwrap(), option, value]);
    for (option, value) in [
        ("--target", "sm_130a"),
        ("--target", "sm_42"),
        ("--target", "blackwell"),
        ("--ptx-version", "9.9"),
        ("--ptx-version", "8.9"),
    ] {
        let output = check(option, value);
        assert_eq!(output.status.code(), Some(2), "{option} {value}");
        assert!(stderr(&output).contains(value), "{}", stderr(&output));
    }
    for (option, value) in [("--target", "sm_100a"), ("--target", "sm_90a"), ("--ptx-version", "8.6")] {
        assert_ne!(check(option, value).status.code(), Some(2), "{option} {value}");
    }
}

/// The forge finds no file whose path starts with `./`.
#[test]
fn annotations_name_files_as_the_forge_does() {
    let directory = project("annotated", &["sub/b.ptx"]);
    for arguments in [&["check", "--format", "github"][..], &["check", ".", "--format", "github"]] {
        let text = stdout(&run_in(&directory, arguments));
        assert!(text.contains("file=sub/b.ptx,line="), "{text}");
    }
}
