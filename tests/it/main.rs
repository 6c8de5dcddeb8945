//! All tests of the library and the binary from outside: one program, because each would link the
//! whole library again.

mod common;

mod additions;
mod cli;
mod command_line;
mod computed;
mod coverage;
mod debug;
mod descriptor_cli;
mod documented;
mod draw;
mod event_order;
#[cfg(unix)]
mod fixes;
mod formats;
mod found;
mod fronts;
mod fuzz;
mod generic;
mod grids;
mod growth;
mod host;
mod incremental;
mod injected_bugs;
mod kernels;
mod known_bits;
mod known_once;
mod launches;
mod layers;
mod layout;
mod limits;
mod lsp;
mod many_findings;
mod misreadings;
mod multiplied;
mod pictures;
mod provenance;
mod results;
mod robustness;
mod rule_control;
mod rules;
mod scaling;
mod schedules;
mod setmaxnreg;
mod side_by_side;
mod simulate_command;
mod simulated_bugs;
mod simulation;
mod statements;
mod syntax;
mod who_executes;
