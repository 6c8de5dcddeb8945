//! Reasons for an incomplete verdict, for people: what is not known, and what to write in a launch file.

use super::launch::Launch;
use super::machine::{INTERRUPTED, REACHED};
use super::report::Reason;
use super::{Kernel, Settings};
use crate::source::Span;

impl Kernel<'_> {
    /// The command that simulates this kernel, with more options.
    pub(super) fn command(&self, options: &str) -> String {
        let name = self.unit.source.name();
        let path = if name.starts_with('<') { "-" } else { name };
        let is_one = self.unit.module.bodies().filter(|(_, function)| function.is_entry).count() < 2;
        let kernel = if is_one { String::new() } else { format!(" --kernel {}", self.name()) };
        format!("ptx-tc simulate {path}{kernel} {options}")
    }

    /// How to give a launch, for a kernel that has none.
    pub(super) fn how_to_launch(&self) -> String {
        format!(
            "`{}` writes a launch file; give the real values there, remove `assume`, and run with `--launch launch.toml`",
            self.command("--print-launch > launch.toml")
        )
    }

    /// Why a run has ended before its time.
    pub(super) fn stopped(
        &self,
        launch: &Launch,
        settings: &Settings,
        is_assumed: bool,
        span: Option<Span>,
        raw: &str,
    ) -> Reason {
        let unknown = || {
            if is_assumed {
                self.how_to_launch()
            } else {
                "give the buffer that the value comes from its contents: `data = \"FILE\"` or `fill = 0` in the launch \
                 file; or set `assume_zeros = true`"
                    .to_owned()
            }
        };
        let (text, help) = match raw {
            BUDGET => (
                format!("the run used up its budget of {} warp instructions here", settings.budget),
                format!(
                    "smaller sizes in the launch make the run shorter; `{}` doubles the budget",
                    self.command(&format!("--budget {}", settings.budget.saturating_mul(2)))
                ),
            ),
            REACHED => (raw.to_owned(), "run it without an end to see the rest".to_owned()),
            INTERRUPTED => (raw.to_owned(), "run it again to see the rest".to_owned()),
            "the kernel traps" => (
                "the kernel executes `trap` under this launch".to_owned(),
                if is_assumed {
                    self.how_to_launch()
                } else if self.program.uses_workspace() && !launch.cooperative {
                    "make it a cooperative launch, as the kernel synchronises its grid: `cooperative = true` in a launch file"
                        .to_owned()
                } else {
                    "change the argument or the shape of the launch that the kernel refuses".to_owned()
                },
            ),
            _ if raw.starts_with("assertion ") => (
                raw.to_owned(),
                if is_assumed {
                    self.how_to_launch()
                } else {
                    "change the argument or the shape of the launch that the kernel refuses".to_owned()
                },
            ),
            "it depends on a value that is not known whether this is executed" => {
                ("whether this instruction is executed depends on an unknown value".to_owned(), unknown())
            }
            "it waits for what another cluster or grid may write" => (
                "a thread waits here for a value in global memory that another cluster or grid writes"
                    .to_owned(),
                format!(
                    "run the whole grid: `{}` writes a launch file; set `grid`, and remove `assume`",
                    self.command("--print-launch > launch.toml")
                ),
            ),
            _ => {
                if let Some(what) = raw.strip_prefix("the machine does not know ") {
                    let text = format!("the simulator does not support {what}");
                    let help = if what.contains("multimem.") {
                        "a multimem address stands for memory of several devices, and a launch has one; the check of the \
                         module (`ptx-tc check`) still works"
                    } else {
                        "no launch changes this; the check of the module (`ptx-tc check`) still works"
                    };
                    (text, help.to_owned())
                } else if let Some(what) = raw.strip_suffix(" is not known") {
                    (format!("{what} depends on an unknown value"), unknown())
                } else {
                    (
                        format!("the simulator cannot continue here: {raw}"),
                        launch_help(launch, is_assumed, self),
                    )
                }
            }
        };
        Reason { span, text, help: Some(help) }
    }
}

/// What the machine says when the budget is used up.
const BUDGET: &str = "the budget of instructions is used up";

fn launch_help(launch: &Launch, is_assumed: bool, kernel: &Kernel<'_>) -> String {
    if is_assumed {
        kernel.how_to_launch()
    } else {
        format!(
            "check the {} arguments of the launch against what the kernel expects",
            launch.arguments.len()
        )
    }
}
