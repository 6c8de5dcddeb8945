//! `ptx-tc debug`: what the analyses know, for those who work on them.

use crate::common::{run, stderr, stdout};

/// One kernel, in the four ways: each says what the others do not.
#[test]
fn what_is_known_of_a_kernel() {
    let of = |what: &[&str]| {
        let output = run(&[&["debug"], what, &["docs/kernel.ptx"]].concat());
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        stdout(&output)
    };
    let all = ["ir", "cfg", "values", "facts"].map(|what| format!("== {what}\n{}", of(&[what])));
    insta::assert_snapshot!(all.join("\n"));
    // Of one line: also of an instruction outside tcgen05.
    insta::assert_snapshot!(of(&["values", "--line", "20"]));
    assert_eq!(of(&["facts", "--line", "1"]), "");
}

#[test]
fn trouble_is_trouble() {
    for arguments in [["debug", "nothing", "docs/kernel.ptx"], ["debug", "ir", "docs/no_such_file.ptx"]] {
        let output = run(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(!stderr(&output).is_empty());
    }
}
