//! Conditions of the preprocessor that ask for machines which run no PTX.

use super::tokens::Directive;

/// The conditions of the preprocessor around a place.
#[derive(Debug, Default)]
pub(super) struct Guards {
    /// Of each whether it asks for another machine.
    open: Vec<bool>,
}

/// Parts of what compilers define for machines that run no PTX.
const OTHER_MACHINES: &[&str] = &[
    "__x86_64",
    "__amd64",
    "__i386",
    "_M_X64",
    "_M_IX86",
    "_M_AMD64",
    "_M_ARM",
    "__aarch64",
    "__arm",
    "__ARM_",
    "__riscv",
    "__powerpc",
    "__ppc",
    "__PPC",
    "__s390",
    "__mips",
    "__loongarch",
    "__sparc",
    "__AMDGCN",
    "__HIP",
];

impl Guards {
    pub(super) fn read(&mut self, directive: Directive, line: &str) {
        match directive {
            Directive::If => self.open.push(asks_for_another_machine(line)),
            Directive::ElseIf => {
                self.open.pop();
                self.open.push(asks_for_another_machine(line));
            }
            Directive::Else => {
                self.open.pop();
                self.open.push(false);
            }
            Directive::EndIf => {
                self.open.pop();
            }
            Directive::Define | Directive::Undefine | Directive::Other => {}
        }
    }

    pub(super) fn ask_for_another_machine(&self) -> bool {
        self.open.contains(&true)
    }
}

/// Whether a condition never holds: `#if 0`.
pub(super) fn is_never(line: &str) -> bool {
    let condition = line.trim_start().split([' ', '\t', '/', '\r']).next();
    condition == Some("0")
}

/// Whether a condition holds on another machine; one that may hold on a GPU does not count.
fn asks_for_another_machine(line: &str) -> bool {
    let is_negated = line.contains('!') || line.trim_start().starts_with("ndef");
    !is_negated && !line.contains("__CUDA") && OTHER_MACHINES.iter().any(|name| line.contains(name))
}
