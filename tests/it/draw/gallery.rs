//! The pictures of `docs/pictures.md` and `docs/found.md` are those that their commands write.
//!
//! `INSTA_UPDATE=always`, which writes snapshots, writes the pictures, too.

use std::collections::BTreeSet;
use std::env;
use std::fs;

use crate::common::{root, run, stderr, stdout};

/// The pages, and the folders of their pictures.
const PAGES: [(&str, &str); 2] = [("docs/pictures.md", "pictures"), ("docs/found.md", "found")];

/// The words of a command, of which one may be in quotes.
fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (index, part) in command.split('\'').enumerate() {
        if index % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}

#[test]
fn each_picture_is_what_its_command_writes() {
    for (page, folder) in PAGES {
        are_written(page, folder);
    }
}

fn are_written(name_of_page: &str, folder: &str) {
    let page = fs::read_to_string(root().join(name_of_page)).unwrap();
    let updates = env::var("INSTA_UPDATE").is_ok_and(|it| it == "always");
    let mut written = BTreeSet::new();
    for command in page.lines().filter(|line| line.starts_with("ptx-tc draw ")) {
        let mut words = words(command.trim_start_matches("ptx-tc "));
        let at = words.iter().position(|word| word == "--output").unwrap_or_else(|| panic!("{command}"));
        let file = words.remove(at + 1);
        words.splice(at..=at, ["--format".to_owned(), "svg".to_owned()]);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let output = run(&words);
        // 1 where a field is wrong.
        assert!(matches!(output.status.code(), Some(0 | 1)), "{command}: {}", stderr(&output));
        let drawn = stdout(&output);
        let path = root().join(&file);
        if updates {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, &drawn).unwrap();
        }
        let committed = fs::read_to_string(&path).unwrap_or_default();
        assert!(committed == drawn, "{file} is not what `{command}` writes; INSTA_UPDATE=always writes it");
        let name = file.strip_prefix("docs/").unwrap();
        assert!(page.contains(&format!("]({name})")), "{name_of_page} does not show {name}");
        written.insert(name.to_owned());
    }
    assert!(written.len() > 12, "{} commands: they are not found any more", written.len());
    let files = fs::read_dir(root().join("docs").join(folder)).unwrap();
    let all: BTreeSet<String> =
        files.map(|it| format!("{folder}/{}", it.unwrap().file_name().to_str().unwrap())).collect();
    assert_eq!(all, written, "files that no command writes");
}

/// `--output` writes the same as standard output has, and what a file's name says.
#[test]
fn files_have_the_format_of_their_name() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, options: &[&str]| {
        let path = directory.path().join(name);
        let path = path.to_str().unwrap();
        let output = run(&[&["draw", "ld", "32x32b", "x1", "--output", path], options].concat());
        assert!(output.status.success() && output.stdout.is_empty());
        fs::read_to_string(path).unwrap()
    };
    let svg = stdout(&run(&["draw", "ld", "32x32b", "x1", "--format", "svg"]));
    let text = stdout(&run(&["draw", "ld", "32x32b", "x1"]));
    assert_eq!(write("a.svg", &[]), svg);
    assert_eq!(write("a.txt", &[]), text);
    assert_eq!(write("b.svg", &["--format", "text"]), text);
    // A file has no escape sequences.
    assert_eq!(write("c.txt", &["--color", "always"]), text);
    let colored = stdout(&run(&["draw", "ld", "32x32b", "x1", "--color", "always"]));
    assert!(colored.contains("\u{1b}[36m") && !text.contains('\u{1b}'));
    let nowhere = run(&["draw", "ld", "32x32b", "x1", "--output", "no/such/directory/a.svg"]);
    assert_eq!(nowhere.status.code(), Some(2));
    assert!(stderr(&nowhere).contains("cannot write `no/such/directory/a.svg`"));
}
