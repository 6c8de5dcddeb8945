//! How long an editor waits: the binary as it is shipped, real LSP.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::{Result, bench, root, target_directory};

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Size of the large module in MB.
    #[arg(long, default_value_t = 10)]
    megabytes: usize,
    /// Edits, and requests of each kind, that are measured.
    #[arg(long, default_value_t = 50)]
    edits: i32,
    /// Edits before the memory is measured.
    #[arg(long, default_value_t = 10_000)]
    many: i32,
    /// The server that is measured, instead of the one that is built here.
    #[arg(long)]
    binary: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    let binary = arguments.binary.clone().map_or_else(build, Ok)?;
    let largest = largest_kernel()?;
    measure(&binary, arguments, &name(&largest), &fs::read_to_string(&largest)?)?;
    let module = bench::module(arguments.megabytes * 1_000_000)?;
    measure(&binary, arguments, &format!("module of {} MB", arguments.megabytes), module.text())?;
    memory(&binary, arguments, &fs::read_to_string(root().join("fixtures/kernels/gemm_mxf4_sm100a.ptx"))?)?;
    Ok(true)
}

fn build() -> Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built =
        Command::new(cargo).args(["build", "--profile", "dist", "--quiet"]).current_dir(root()).status()?;
    if !built.success() {
        return Err("the build failed".into());
    }
    Ok(target_directory().join("dist/ptx-tc"))
}

fn name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn largest_kernel() -> Result<PathBuf> {
    let kernels = fs::read_dir(root().join("fixtures/kernels"))?.flatten().map(|entry| entry.path());
    kernels
        .filter(|path| path.extension().is_some_and(|it| it == "ptx"))
        .max_by_key(|path| path.metadata().map(|it| it.len()).unwrap_or_default())
        .ok_or_else(|| "no kernels".into())
}

/// Latencies on one text.
fn measure(binary: &Path, arguments: &Arguments, title: &str, text: &str) -> Result<()> {
    let place = tensor_line(text).ok_or("no tcgen05.ld in the text")?;
    let start = Instant::now();
    let mut session = Session::open(binary, text)?;
    session.findings(1)?;
    println!("{title}: {:.1} MB, {} lines", text.len() as f64 / 1e6, text.lines().count());
    print("open to findings", &[start.elapsed()]);
    let mut findings = Vec::new();
    let mut after_edit = Vec::new();
    for version in 2..arguments.edits + 2 {
        let start = Instant::now();
        session.edit(version, place.0)?;
        session.findings(version)?;
        findings.push(start.elapsed());
    }
    print("keystroke to findings", &findings);
    for version in 2..arguments.edits + 2 {
        let version = version + arguments.edits;
        let start = Instant::now();
        session.edit(version, place.0)?;
        session.request("textDocument/completion", &at(place.0 + version as u32 - 1, place.1))?;
        after_edit.push(start.elapsed());
        session.findings(version)?;
    }
    // The edits so far are lines before the place.
    let line = place.0 + 2 * arguments.edits as u32;
    let operand = place.2;
    for (title, method, column) in [
        ("hover", "textDocument/hover", place.1),
        ("hover over an operand", "textDocument/hover", operand),
        ("completion of a qualifier", "textDocument/completion", place.1),
        ("completion of an operand", "textDocument/completion", operand),
        ("definition", "textDocument/definition", operand),
    ] {
        let mut times = Vec::new();
        for _ in 0..arguments.edits {
            let start = Instant::now();
            session.request(method, &at(line, column))?;
            times.push(start.elapsed());
        }
        print(title, &times);
    }
    print("keystroke to completion", &after_edit);
    session.close()
}

/// What many edits leave in memory: after the first tenth of them, and after all.
fn memory(binary: &Path, arguments: &Arguments, text: &str) -> Result<()> {
    let mut session = Session::open(binary, text)?;
    session.findings(1)?;
    let mut resident = vec![session.resident()?];
    let last = arguments.many + 1;
    for version in 2..=last {
        session.edit(version, 0)?;
        // Undone by the next one, so that the text does not grow.
        let measured = version == last / 10 || version == last;
        if version % 100 == 0 || measured {
            session.findings(version)?;
        }
        if measured {
            resident.push(session.resident()?);
        }
    }
    let shown: Vec<String> = resident.iter().map(|size| format!("{size:.1} MB")).collect();
    println!("memory at first, after {} and after {} edits: {}", last / 10, last - 1, shown.join(", "));
    session.close()
}

/// A line with a load, a column within one of its qualifiers, and one within its address.
fn tensor_line(text: &str) -> Option<(u32, u32, u32)> {
    let lines: Vec<&str> = text.lines().collect();
    let middle = lines.len() / 2;
    let (at, column) = (0..lines.len())
        .map(|step| (middle + step) % lines.len())
        .find_map(|at| Some((at, lines[at].find("tcgen05.ld.sync.aligned.")?)))?;
    let address = lines[at].rfind('[')? + 1;
    Some((at as u32, (column + "tcgen05.ld.sync.".len()) as u32, address as u32))
}

fn at(line: u32, character: u32) -> Value {
    json!({ "textDocument": { "uri": URI }, "position": { "line": line, "character": character } })
}

fn print(title: &str, times: &[Duration]) {
    let mut times = times.to_vec();
    times.sort();
    let milliseconds = |time: Option<&Duration>| time.map_or(0.0, |time| time.as_secs_f64() * 1e3);
    let median = milliseconds(times.get(times.len() / 2));
    println!("  {title:<28} {median:>8.2} ms   (slowest {:.2} ms)", milliseconds(times.last()));
}

const URI: &str = "file:///bench.ptx";

/// A conversation with the server.
struct Session {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    requests: i64,
}

impl Session {
    fn open(binary: &Path, text: &str) -> Result<Self> {
        let mut child =
            Command::new(binary).arg("lsp").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = child.stdin.take().ok_or("no input")?;
        let output = BufReader::new(child.stdout.take().ok_or("no output")?);
        let mut session = Self { child, input, output, requests: 0 };
        session.request("initialize", &json!({ "capabilities": {} }))?;
        session.notify("initialized", &json!({}))?;
        let item = json!({ "uri": URI, "languageId": "ptx", "version": 1, "text": text });
        session.notify("textDocument/didOpen", &json!({ "textDocument": item }))?;
        Ok(session)
    }

    fn send(&mut self, message: &Value) -> Result<()> {
        let body = message.to_string();
        write!(self.input, "Content-Length: {}\r\n\r\n{body}", body.len())?;
        Ok(self.input.flush()?)
    }

    fn notify(&mut self, method: &str, params: &Value) -> Result<()> {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }))
    }

    fn request(&mut self, method: &str, params: &Value) -> Result<Value> {
        self.requests += 1;
        let id = self.requests;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        self.wait(|message| message["id"] == id)
    }

    fn wait(&mut self, wanted: impl Fn(&Value) -> bool) -> Result<Value> {
        loop {
            let message = self.read()?;
            if wanted(&message) {
                if let Some(error) = message.get("error") {
                    return Err(error.to_string().into());
                }
                return Ok(message);
            }
        }
    }

    fn read(&mut self) -> Result<Value> {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if self.output.read_line(&mut line)? == 0 {
                return Err("the server is gone".into());
            }
            if line.trim().is_empty() {
                break;
            }
            if let Some(value) = line.strip_prefix("Content-Length: ") {
                length = value.trim().parse()?;
            }
        }
        let mut body = vec![0; length];
        self.output.read_exact(&mut body)?;
        Ok(serde_json::from_slice(&body)?)
    }

    /// Inserts an empty line, or takes it away again when the version is odd and it is the first.
    fn edit(&mut self, version: i32, line: u32) -> Result<()> {
        let start = json!({ "line": line, "character": 0 });
        let (end, text) = if line == 0 && version % 2 == 1 {
            (json!({ "line": 1, "character": 0 }), "")
        } else {
            (start.clone(), "\n")
        };
        let change = json!({ "range": { "start": start, "end": end }, "text": text });
        let document = json!({ "uri": URI, "version": version });
        self.notify(
            "textDocument/didChange",
            &json!({ "textDocument": document, "contentChanges": [change] }),
        )
    }

    /// Waits for the findings of a version.
    fn findings(&mut self, version: i32) -> Result<()> {
        self.wait(|message| {
            message["method"] == "textDocument/publishDiagnostics" && message["params"]["version"] == version
        })?;
        Ok(())
    }

    /// Memory in use, in MB.
    fn resident(&self) -> Result<f64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).ok_or("no VmRSS")?;
        let kilobytes: f64 = line.split_whitespace().nth(1).ok_or("no number")?.parse()?;
        Ok(kilobytes / 1e3)
    }

    fn close(mut self) -> Result<()> {
        self.request("shutdown", &Value::Null)?;
        self.notify("exit", &Value::Null)?;
        self.child.wait()?;
        Ok(())
    }
}
