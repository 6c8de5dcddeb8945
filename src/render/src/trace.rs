//! What happened in runs as a Chrome trace, which Perfetto opens: a process for each CTA, in it a track for
//! each warp and each unit, slices for what takes time, and arrows from what let somebody go on.
//!
//! A step is a microsecond. On each track slices lie one in another or one behind the other: a unit that
//! does several things at once has several tracks.

use std::io::{self, Write};

use ptx_check::source::{Source, Span};
use ptx_check::words::demangled;
use ptx_simulation::record::{Activity, Event, Record, Who};
use rustc_hash::FxHashMap;
use serde::Serialize;
use serde_json::{Value, json};

use crate::simulation::Simulated;

/// A trace.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    display_time_unit: &'static str,
    other_data: Value,
    trace_events: Vec<Value>,
}

/// Tracks of a process, with room for a unit's.
const STRIDE: u64 = 4096;
/// Statements are cut after so many bytes.
const LONGEST: usize = 120;

/// Writes what happened in the runs that were recorded.
///
/// # Errors
/// When `out` cannot be written to.
pub fn render(source: &Source, simulated: &[Simulated], out: &mut dyn Write) -> io::Result<()> {
    let mut events = Vec::new();
    let mut left_out = 0;
    let mut arrows = 0;
    for (number, simulated) in simulated.iter().enumerate() {
        if let Some(record) = &simulated.report.record {
            let kernel = &simulated.report.kernel;
            let mut trace =
                Trace { source, record, kernel, number: number as u64, arrows, events: Vec::new() };
            trace.run();
            arrows = trace.arrows;
            events.append(&mut trace.events);
            left_out += record.left_out;
        }
    }
    let document = Document {
        display_time_unit: "ms",
        other_data: json!({
            "tool": "ptx-tc simulate",
            "time": "a step is a microsecond",
            "events that were left out": left_out,
        }),
        trace_events: events,
    };
    serde_json::to_writer(&mut *out, &document)?;
    writeln!(out)
}

struct Trace<'a> {
    source: &'a Source,
    record: &'a Record,
    kernel: &'a str,
    number: u64,
    arrows: u64,
    events: Vec<Value>,
}

impl Trace<'_> {
    fn run(&mut self) {
        let record = self.record;
        let mut ctas: Vec<u32> = record.tracks.iter().map(|track| track.cta).collect();
        ctas.sort_unstable();
        ctas.dedup();
        for cta in ctas {
            let name = format!("{}, CTA {cta}", demangled(self.kernel));
            let pid = self.process(cta);
            self.events.push(json!({"ph": "M", "pid": pid, "name": "process_name", "args": {"name": name}}));
        }
        let homes = homes(record);
        let mut last_homes = vec![0; record.tracks.len()];
        let (mut starts, mut ends) = (FxHashMap::default(), FxHashMap::default());
        for (slice, home) in record.slices.iter().zip(&homes) {
            let last = &mut last_homes[slice.track as usize];
            *last = (*last).max(*home);
            starts.insert((slice.track, slice.start), *home);
            ends.insert((slice.track, slice.end), *home);
        }
        for (number, last) in last_homes.into_iter().enumerate() {
            self.track(number as u32, last);
        }
        for (slice, home) in record.slices.iter().zip(&homes) {
            let (name, category) = self.words(slice.what);
            let (pid, tid) = self.place(slice.track, *home);
            let mut arguments = self.arguments(slice.span);
            if let Activity::Copy { bytes: Some(bytes), .. } = slice.what {
                arguments["bytes"] = json!(bytes);
            }
            if slice.is_open {
                arguments["ends"] = json!("never");
            }
            self.events.push(json!({
                "ph": "X", "pid": pid, "tid": tid, "ts": slice.start, "dur": slice.end - slice.start,
                "name": name, "cat": category, "args": arguments,
            }));
        }
        for mark in &record.marks {
            let (pid, tid) = self.place(mark.track, 0);
            let arguments = self.arguments(mark.span);
            self.events.push(json!({
                "ph": "i", "s": "t", "pid": pid, "tid": tid, "ts": mark.at, "name": self.event(mark.what),
                "cat": "event", "args": arguments,
            }));
        }
        for flow in &record.flows {
            let (name, category) = match flow.barrier {
                Some((barrier, phase)) => (format!("{}, phase {phase}", self.barrier(barrier)), "mbarrier"),
                None => ("starts".to_owned(), "issue"),
            };
            self.arrows += 1;
            let id = self.arrows;
            // Arrows hold to what is there a moment before, or behind.
            let is_unit = !matches!(record.tracks[flow.from.0 as usize].who, Who::Warp { .. });
            let from = flow.from.1 as f64 - if is_unit { 0.5 } else { 0.0 };
            let to = match flow.barrier {
                Some(_) => (flow.to.1 as f64 - 0.25).max(from),
                None => flow.to.1 as f64 + 0.25,
            };
            let homes = [ends.get(&flow.from), starts.get(&flow.to)];
            for (phase, track, at, home) in
                [("s", flow.from.0, from, homes[0]), ("f", flow.to.0, to, homes[1])]
            {
                let is_line = matches!(record.tracks[track as usize].who, Who::Warp { .. });
                let home = if is_line { 0 } else { home.copied().unwrap_or(0) };
                let (pid, tid) = self.place(track, home);
                let mut event = json!({
                    "ph": phase, "id": id, "pid": pid, "tid": tid, "ts": at, "name": name, "cat": category,
                });
                if phase == "f" {
                    event["bp"] = json!("e");
                }
                self.events.push(event);
            }
        }
    }

    /// The tracks of who did something; their names, and how long they lived.
    fn track(&mut self, number: u32, last_home: u64) {
        let track = &self.record.tracks[number as usize];
        let (name, order) = match track.who {
            Who::Warp { index, lane: 0 } => (format!("warp {index}"), u64::from(index) * 32),
            Who::Warp { index, lane } => {
                (format!("warp {index}, lane {lane}"), u64::from(index) * 32 + u64::from(lane))
            }
            Who::Tma => ("TMA".to_owned(), 100_000),
            Who::Copies => ("cp.async".to_owned(), 200_000),
            Who::TensorCore => ("tensor core".to_owned(), 300_000),
            Who::Moves => ("Tensor Memory ld/st".to_owned(), 400_000),
        };
        for home in 0..=last_home {
            let (pid, tid) = self.place(number, home);
            let name = if home == 0 { name.clone() } else { format!("{name} ({})", home + 1) };
            let sort = order + home;
            let about = |what: &str, arguments: Value| json!({"ph": "M", "pid": pid, "tid": tid, "name": what, "args": arguments});
            self.events.push(about("thread_name", json!({"name": name})));
            self.events.push(about("thread_sort_index", json!({"sort_index": sort})));
        }
        if let Who::Warp { .. } = track.who {
            let (pid, tid) = self.place(number, 0);
            let mut arguments = json!({});
            if let Some((span, words)) = &track.stands {
                arguments = self.arguments(*span);
                arguments["stands"] = json!(words);
            }
            let (start, end) = track.life;
            self.events.push(json!({
                "ph": "X", "pid": pid, "tid": tid, "ts": start, "dur": (end - start).max(1) + 1,
                "name": name, "cat": "warp", "args": arguments,
            }));
        }
    }

    fn process(&self, cta: u32) -> u64 {
        self.number * STRIDE + u64::from(cta) + 1
    }

    fn place(&self, track: u32, home: u64) -> (u64, u64) {
        (self.process(self.record.tracks[track as usize].cta), u64::from(track) + 1 + home * STRIDE)
    }

    fn barrier(&self, barrier: u32) -> &str {
        self.record.barriers.get(barrier as usize).map_or("mbarrier", |barrier| &barrier.name)
    }

    fn words(&self, what: Activity) -> (String, &'static str) {
        let name = match what {
            Activity::Mbarrier { barrier, phase } => {
                format!("waits for phase {phase} of {}", self.barrier(barrier))
            }
            Activity::Named(id) => format!("waits at barrier {id}"),
            Activity::Cluster => "waits for the cluster".to_owned(),
            Activity::Warp => "waits for its warp".to_owned(),
            Activity::Copied => "waits for copies".to_owned(),
            Activity::Moved => "waits for Tensor Memory".to_owned(),
            Activity::Columns(columns) => format!("waits for {columns} columns"),
            Activity::Registers(count) => format!("waits for {count} registers"),
            Activity::Memory => "asks memory".to_owned(),
            Activity::Copy { stores: false, .. } => "copy".to_owned(),
            Activity::Copy { stores: true, .. } => "copy from shared memory".to_owned(),
            Activity::Grant => "next cluster".to_owned(),
            Activity::Multiply => "multiply".to_owned(),
            Activity::Rearrange => "copy to Tensor Memory".to_owned(),
            Activity::Commit => "commit".to_owned(),
            Activity::Load => "load".to_owned(),
            Activity::Store => "store".to_owned(),
        };
        (name, if what.is_wait() { "wait" } else { "operation" })
    }

    fn event(&self, what: Event) -> String {
        match what {
            Event::Arrive { barrier, phase } => {
                format!("arrives: phase {phase} of {}", self.barrier(barrier))
            }
            Event::NamedArrive(id) => format!("arrives at barrier {id}"),
            Event::Copy => "starts a copy".to_owned(),
            Event::Tensor => "starts the tensor core".to_owned(),
            Event::Commit => "commits".to_owned(),
            Event::Alloc => "allocates".to_owned(),
            Event::Dealloc => "frees".to_owned(),
            Event::Exit => "ends".to_owned(),
            Event::Finding { code, .. } => format!("{code} {}", code.name()),
        }
    }

    /// The line, and what stands there.
    fn arguments(&self, span: Span) -> Value {
        let statement = self.source.slice(span);
        let cut = (0..=LONGEST.min(statement.len())).rev().find(|at| statement.is_char_boundary(*at));
        json!({
            "line": self.source.position(span.start).line,
            "statement": &statement[..cut.unwrap_or(0)],
        })
    }
}

/// For each slice the track that it is on, of those of a unit: the first where nothing overlaps it.
fn homes(record: &Record) -> Vec<u64> {
    let mut order: Vec<usize> = (0..record.slices.len()).collect();
    order.sort_by_key(|index| (record.slices[*index].track, record.slices[*index].start));
    let mut homes = vec![0; record.slices.len()];
    let mut busy: (u32, Vec<u64>) = (u32::MAX, Vec::new());
    for index in order {
        let slice = &record.slices[index];
        if busy.0 != slice.track {
            busy = (slice.track, Vec::new());
        }
        let free = busy.1.iter().position(|until| *until <= slice.start);
        let home = free.unwrap_or(busy.1.len());
        if home == busy.1.len() {
            busy.1.push(0);
        }
        busy.1[home] = slice.end;
        homes[index] = home as u64;
    }
    homes
}
