//! Who arrives at mbarriers, and who waits for them.

use serde::{Deserialize, Serialize};

use crate::lines::{brief, cut};
use crate::picture::{Block, Meeting, Party, Picture};

/// An mbarrier.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Barrier {
    /// What it is called.
    pub name: String,
    /// Arrivals that a phase awaits, if they are known.
    pub count: Option<u32>,
    /// Where it is initialised, a line from 1.
    pub init: Option<u32>,
    /// Of a run: phases that were over.
    pub phases: Option<u64>,
    /// Of a run that hangs: arrivals and bytes that its phase lacks.
    pub lacks: Option<(u32, i64)>,
    /// Who arrives.
    pub arrives: Vec<Role>,
    /// Who waits.
    pub waits: Vec<Role>,
}

/// Who does something at an mbarrier.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Role {
    /// Who, if that is known: `warp 0`.
    pub who: String,
    /// Its line, from 1.
    pub line: u32,
    /// The instruction.
    pub opcode: String,
    /// Of a run: how often.
    pub times: Option<u32>,
}

/// The longest opcode that is written.
const LONGEST: usize = 40;

/// The picture.
pub fn picture(kernel: &str, barriers: &[Barrier], is_run: bool) -> Picture {
    let mut notes = Vec::new();
    if barriers.is_empty() {
        notes.push("No mbarrier is known.".to_owned());
    }
    if barriers.iter().any(|it| it.arrives.is_empty() && !it.waits.is_empty()) {
        notes.push(
            "Where nobody is seen to arrive, the address may be computed in a way that is not known, or another CTA \
             arrives."
                .to_owned(),
        );
    }
    let what = if is_run { "who arrived and who waited in the run" } else { "who arrives and who waits" };
    let blocks = if barriers.is_empty() {
        Vec::new()
    } else {
        vec![Block::Meetings(barriers.iter().map(meeting).collect())]
    };
    Picture { title: format!("{kernel}: mbarriers, {what}"), blocks, legend: Vec::new(), notes }
}

fn meeting(barrier: &Barrier) -> Meeting {
    let mut facts = Vec::new();
    match barrier.count {
        Some(1) => facts.push("1 arrival a phase".to_owned()),
        Some(count) => facts.push(format!("{count} arrivals a phase")),
        None => {}
    }
    facts.extend(barrier.init.map(|line| format!("init in line {line}")));
    facts.extend(
        barrier.phases.map(|phases| format!("{phases} phase{} over", if phases == 1 { "" } else { "s" })),
    );
    let lacks = barrier.lacks.filter(|lacks| *lacks != (0, 0));
    if let Some((arrivals, bytes)) = lacks {
        let bytes = if bytes == 0 { String::new() } else { format!(" and {bytes} bytes") };
        facts.push(format!("lacks {arrivals} arrival{}{bytes}", if arrivals == 1 { "" } else { "s" }));
    }
    Meeting {
        name: cut(&barrier.name, LONGEST),
        facts,
        arrives: barrier.arrives.iter().map(party).collect(),
        waits: barrier.waits.iter().map(party).collect(),
        is_wrong: lacks.is_some(),
    }
}

fn party(role: &Role) -> Party {
    let times =
        role.times.filter(|times| *times > 1).map(|times| format!(", {times} times")).unwrap_or_default();
    let line = format!("line {}", role.line);
    let who = if role.who.is_empty() { line } else { format!("{}, {line}", role.who) };
    Party { who, how: format!("{}{times}", cut(&brief(&role.opcode), LONGEST)) }
}
