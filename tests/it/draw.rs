//! `ptx-tc draw`: what the command prints, what the pages show, and that the machine computes with what is drawn.

mod columns;
mod command;
mod gallery;
mod machine;
