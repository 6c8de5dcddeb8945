//! What a module means beyond the form of its statements: what to ask for what.
//!
//! Everything here works on one [component](calls::Component) of the call graph, function by function.
//! What may look at an instruction more than a few times takes its steps from the function's
//! [budget](budget::Budget); what allocates is counted by a test, whether it says so or not.
//!
//! | question | ask |
//! |---|---|
//! | which functions can call which? which belong together? | [`calls::CallGraph`] |
//! | where can control go? what dominates what? what is never executed? | [`cfg::Cfg`], [`dominance`] |
//! | which blocks do paths reach through which others? what comes from what? | [`cfg::Cfg::reached`], [`walks`] |
//! | which instructions do paths pass, and which before certain others? | [`reach::Passed`], [`reach::PassedWithout`] |
//! | which registers does an instruction write and read? | [`registers::accesses`], from the instruction tables |
//! | which value is in a register? where was it made? | [`function::Function::value`], [`values`]; [`function::Function::origins`] |
//! | which guards hold always, or never? for which no block has enough threads? | [`decided`], behind [`cfg::Cfg`]; [`outside`] |
//! | which bits of a register are known? | [`constants::Constants`], through [`functions::FunctionFacts::value`] |
//! | which loads from local memory are copies of a register? | [`local`], behind [`function::Function::value`] |
//! | what is an address made of? are two the same? | [`places::Places`], through [`flow::Flow::place`] |
//! | which numbers can a register hold in loops? | [`ranges`], behind places |
//! | what does a register certainly hold, iteration by iteration of a counted loop? | [`unrolled`], through [`flow::Flow::in_iterations`] |
//! | which of a few constants is it? | [`few`], through [`flow::Flow::one_of`] |
//! | how far are two addresses from each other of which neither is known? | [`sums`] |
//! | how far is an address from the start of its allocation? | [`allocated`] |
//! | which lanes does each warp name? | [`warp_lanes`], through [`flow::Flow::lanes_of_warps`] |
//! | which lanes and columns does an instruction touch? do two overlap? | [`footprint`] |
//! | which variable in shared memory does a store write, or a descriptor point to? | [`flow::Flow::stores_elsewhere`] |
//! | the same of stores in functions that are called, and of stores by generic addresses? | [`shared_in_calls`] |
//! | who waits, and does not look whether the phase is over? | [`waits`] |
//! | which mbarriers are waited on, and which are signalled? | [`mbarriers`]; in what is called, [`flow::Flow::mbarriers_of_callees`] |
//! | is an mbarrier that of another CTA of the cluster? | [`remote`] |
//! | is an address certainly not one in the own CTA's shared memory? | [`windows`] |
//! | which mbarriers does nothing signal in a pair of CTAs? | [`pairs`] |
//! | how many arrivals come together at an mbarrier, and how many does it expect? | [`arrivals`] |
//! | which waits are for a parity that cannot be the phase's? which does nobody get past? | [`parities`] |
//! | which paths can a run take? | [`paths`], behind all questions about order |
//! | what does a descriptor lose of the addresses that it is made of? | [`truncated`] |
//! | what does a descriptor say, and what is wrong with it? | [`descriptors`]; in words, [`description`] |
//! | what happens in a function, and in what it calls? | [`events::Events`] |
//! | what are addresses in a function that is called, or that it gives back, as its caller sees them? | [`arguments`], through [`flow::Flow::place`] |
//! | which bits are known of what functions give each other? | [`given`], behind constants |
//! | what does a function execute and compute in one of its calls? | [`functions::FunctionFacts::by_call`] |
//! | what can have happened before what, with nothing between? | [`flow::Flow::pairs`], on top of [`reach`] |
//! | which waits for groups of copies wait for none before the first multiply? | [`groups`] |
//! | which barrier is an instruction about? | [`channels`] |
//! | which columns are handed over to whom before they are complete? | [`handovers`] |
//! | which accesses does nothing order before another warp frees what they access? | [`freed`] |
//! | what may the peer CTA still access where a pair frees it? | [`peers`] |
//! | which arrivals of one thread are meant for what its warp has stored? | [`on_behalf`] |
//! | what overwrites shared memory that a bulk copy to global memory still reads? | [`sent`] |
//! | which stages are filled in several CTAs, and released to one? | [`multicast`] |
//! | where are loops? what does some thread execute in each iteration? | [`loops`] |
//! | which wait does a parameter of the kernel skip? | [`skipped`] |
//! | what does no commit track in the last iteration of a loop? | [`untracked`] |
//! | what lies between two instructions, before the second is reached for the first time? | [`between`] |
//! | what is still pending where something happens? | [`pending`]; loads are followed by [`loads`] |
//! | which threads of a block, warp by warp? of which CTA of a pair? | [`executing::Executing`], through [`flow::Flow::executing`] |
//! | what does a kernel execute in functions that it calls, and who? | [`reached`], through [`flow::Flow::reached`] |
//! | does the assembler heed the `setmaxnreg` of a kernel? | [`occupancy`] |
//! | who executes an instruction: one thread, a warp, some? can one run execute both of two? | [`uniformity::Uniformity`] |
//!
//! A rule about single instructions asks [`Index`](crate::instruction::index::Index) for those that it is about, or
//! that something is wrong with; a rule about functions gets a [`flow::Flow`] for each and asks that. No rule walks
//! a graph, splits an opcode or counts columns by itself.

#![allow(rustdoc::private_intra_doc_links, reason = "the documentation is for those who work on it")]

use ptx_arithmetic as arithmetic;
use ptx_descriptor as descriptor;
use ptx_ir as ir;
use ptx_isa as isa;
use ptx_resolve::{self as resolve, instruction};
use ptx_syntax::{self as syntax, source};

pub mod allocated;
pub mod arguments;
pub mod arrivals;
pub mod between;
pub mod bit_set;
pub mod budget;
pub mod calls;
pub mod cfg;
pub mod channels;
pub mod constants;
mod control;
mod decided;
pub mod definitions;
pub mod description;
pub mod descriptors;
pub mod dominance;
pub mod dump;
pub mod events;
pub mod executing;
pub mod few;
pub mod flow;
pub mod footprint;
pub mod freed;
pub mod function;
pub mod functions;
pub mod given;
pub mod groups;
pub mod handovers;
pub mod loads;
mod local;
pub mod loops;
pub mod mbarriers;
pub mod multicast;
pub mod occupancy;
pub mod on_behalf;
mod outside;
pub mod pairs;
pub mod parities;
pub mod paths;
pub mod peers;
pub mod pending;
pub mod places;
pub mod ranges;
pub mod reach;
pub mod reached;
pub mod registers;
pub mod remote;
pub mod sent;
pub mod shared;
mod shared_in_calls;
mod skipped;
mod sparse;
pub mod sums;
pub mod truncated;
pub mod uniformity;
pub mod unrolled;
pub mod untracked;
pub mod values;
pub mod waits;
pub mod walks;
pub mod warp_lanes;
pub mod windows;
