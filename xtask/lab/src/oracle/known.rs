//! Differences that are understood: the assembler takes what the ISA does not give.
//!
//! A finding that the assembler is known not to have says so itself (`ptxas: silent`), and is no
//! difference. Here is what is left: spellings that ptxas accepts by accident, which ptx-tc
//! refuses with a rule that otherwise agrees.

use ptx_check::diagnostic::{Diagnostic, Ptxas};

use super::Case;

/// Why the two differ, if it is known.
pub(crate) fn reason(case: &Case, findings: &[Diagnostic], accepted: bool) -> Option<&'static str> {
    let codes: Vec<&str> = findings
        .iter()
        .filter(|finding| finding.ptxas == Ptxas::Rejects)
        .map(|finding| finding.code.as_str())
        .collect();
    let statement = case.statement.as_str();
    let is = |operation: &str| statement.contains(&format!("tcgen05.{operation}."));
    if !accepted {
        return None;
    }
    if codes == ["TC108"] && (is("cp") || is("shift")) && statement.contains("[xr") {
        return Some("cp and shift: ptxas takes an .f16x2 register as address");
    }
    let mma = statement.contains("tcgen05.mma.");
    let kind = |kind: &str| statement.contains(&format!(".kind::{kind}"));
    if codes == ["TC107"] && mma && (kind("f16") || kind("tf32")) && !statement.contains(", {") {
        return Some(
            "f16 and tf32: ptxas takes a predicate in place of disable-output-lane, if scale-input-d follows",
        );
    }
    if mma && kind("i8") && (codes == ["TC107"] || codes == ["TC106"]) {
        return Some("E15 with a predicate: ptxas takes any last operand behind enable-input-d of i8");
    }
    None
}
