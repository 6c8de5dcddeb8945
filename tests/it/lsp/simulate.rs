//! Kernels that are run from the editor: what stands above them, the run, and what is found.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::client::{Client, capabilities, kernel};
use crate::common::root;

/// A directory with a module, and launch files.
struct Project {
    directory: TempDir,
    uri: String,
    text: String,
}

impl Project {
    fn new(text: &str, launches: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        for (name, launch) in launches {
            fs::write(directory.path().join(name), launch).unwrap();
        }
        let uri = uri(&directory.path().join("k.ptx"));
        Self { directory, uri, text: text.to_owned() }
    }

    /// The GEMM of the tutorial that hangs, with its launch file.
    fn hang() -> Self {
        let read = |name: &str| fs::read_to_string(root().join("docs/simulation").join(name)).unwrap();
        Self::new(&read("hang.ptx"), &[("gemm.toml", &read("gemm.toml"))])
    }

    fn open(&self, client: &mut Client) {
        client.open_as(&self.uri, &self.text);
    }

    fn change(&self, client: &mut Client, version: i32, text: &str) {
        let document = json!({ "uri": self.uri, "version": version });
        let params = json!({ "textDocument": document, "contentChanges": [{ "text": text }] });
        client.notify("textDocument/didChange", params);
    }

    fn titles(&self, client: &mut Client) -> Vec<String> {
        let lenses = client.request("textDocument/codeLens", json!({ "textDocument": { "uri": self.uri } }));
        let titles = lenses.as_array().unwrap().iter().map(|it| it["command"]["title"].as_str().unwrap());
        titles.map(str::to_owned).collect()
    }

    fn command(&self, kernel: &str, launch: Option<&str>) -> Value {
        json!({ "command": "ptx-tc.simulate", "arguments": [self.uri, kernel, launch] })
    }
}

fn uri(path: &Path) -> String {
    format!("file://{}", path.display())
}

fn codes(diagnostics: &Value) -> Vec<&str> {
    diagnostics.as_array().unwrap().iter().filter_map(|it| it["code"].as_str()).collect()
}

/// A client that shows progress and lenses, and is told to ask again.
fn shows_progress() -> Client {
    let mut capabilities = capabilities();
    capabilities["window"] = json!({ "workDoneProgress": true });
    capabilities["workspace"] = json!({ "codeLens": { "refreshSupport": true } });
    Client::start_with(capabilities, Value::Null)
}

/// A kernel that does not end, so that a run takes all of its budget.
fn endless() -> Project {
    Project::new(&kernel("L:\tadd.u32 %r1, %r1, 1;\n\tbra L;"), &[])
}

#[test]
fn each_kernel_has_what_can_be_run() {
    let project = Project::hang();
    let mut client = Client::start();
    project.open(&mut client);
    let lenses = client.request("textDocument/codeLens", json!({ "textDocument": { "uri": project.uri } }));
    let line = project.text.lines().position(|line| line.contains(".entry gemm")).unwrap();
    let [assumed, given] = &lenses.as_array().unwrap()[..] else { panic!("{lenses:#}") };
    assert_eq!(assumed["range"]["start"]["line"], line);
    let command = json!({
        "title": "simulate", "command": "ptx-tc.simulate", "arguments": [project.uri, "gemm", null],
    });
    assert_eq!(assumed["command"], command);
    assert_eq!(given["command"]["title"], "simulate with gemm.toml");
    assert_eq!(given["command"]["arguments"], json!([project.uri, "gemm", "gemm.toml"]));
    client.stop();
}

#[test]
fn launch_files_are_for_the_kernel_that_they_name() {
    let two = ".version 9.0\n.target sm_100a\n.entry a() { ret; }\n.entry b() { ret; }\n";
    let one = ".version 9.0\n.target sm_100a\n.entry a() { ret; }\n";
    let launches = [
        ("b.toml", "kernel = \"b\"\n"),
        ("c.toml", "kernel = \"c\"\n"),
        ("k.toml", "grid = [2]\n"),
        ("ptx-tc.toml", "targets = []\n"),
        ("other.toml", "grid = [2]\n"),
    ];
    let titles = |text: &str| {
        let mut client = Client::start();
        let project = Project::new(text, &launches);
        project.open(&mut client);
        let titles = project.titles(&mut client);
        client.stop();
        titles
    };
    assert_eq!(titles(two), ["simulate", "simulate", "simulate with b.toml"]);
    assert_eq!(titles(one), ["simulate", "simulate with k.toml"]);
    // What cannot run has none: a syntax error, statements in another language, a module without kernels.
    assert_eq!(titles(".version 9.0\n.target sm_100a\n.entry a() { ret }\n"), [""; 0]);
    assert_eq!(titles(".version 9.0\n.target sm_100a\n.func a() { ret; }\n"), [""; 0]);
    let mut client = Client::start();
    client.open_as("file:///project/k.cu", "__global__ void k() { asm volatile(\"exit;\"); }\n");
    let document = json!({ "textDocument": { "uri": "file:///project/k.cu" } });
    assert_eq!(client.request("textDocument/codeLens", document), json!([]));
    client.stop();
}

#[test]
fn lenses_can_be_turned_off() {
    let mut client = Client::start_with(capabilities(), json!({ "codeLens": false }));
    let project = Project::hang();
    project.open(&mut client);
    assert_eq!(project.titles(&mut client), [""; 0]);
    client.notify("workspace/didChangeConfiguration", json!({ "settings": { "codeLens": true } }));
    assert_eq!(project.titles(&mut client).len(), 2);
    client.stop();
}

#[test]
fn findings_of_a_run_stay_until_the_text_changes() {
    let project = Project::hang();
    let mut client = Client::start();
    project.open(&mut client);
    assert!(!codes(&client.pushed(1)).contains(&"SIM101"));
    let ran = client.request("workspace/executeCommand", project.command("gemm", Some("gemm.toml")));
    let wanted = json!({
        "kernel": "gemm",
        "launch": "gemm.toml",
        "verdict": "findings",
        "findings": 1,
        "summary": "1 finding (deadlock)",
    });
    assert_eq!(ran, wanted);
    // This client cannot be told that lenses have changed.
    let message = client.notification("window/showMessage");
    assert_eq!(message["message"], "gemm: 1 finding (deadlock)");
    let found = client.pushed(1);
    let deadlock = found.as_array().unwrap().iter().find(|it| it["code"] == "SIM101").unwrap();
    assert!(deadlock["message"].as_str().unwrap().contains("waits forever"), "{deadlock:#}");
    assert!(deadlock["relatedInformation"].as_array().unwrap().len() > 2, "{deadlock:#}");
    assert_eq!(project.titles(&mut client), ["simulate", "gemm.toml: 1 finding (deadlock)"]);
    // It can be explained and silenced as others.
    let actions = client.request(
        "textDocument/codeAction",
        json!({
            "textDocument": { "uri": project.uri }, "range": deadlock["range"], "context": { "diagnostics": [] },
        }),
    );
    let titles: Vec<&str> =
        actions.as_array().unwrap().iter().map(|it| it["title"].as_str().unwrap()).collect();
    assert_eq!(titles, ["Suppress SIM101 here", "Explain SIM101"]);
    // Silenced where the warp waits, the next run is clean; what was found before is gone already.
    let line = deadlock["range"]["start"]["line"].as_u64().unwrap() as usize;
    let mut lines: Vec<&str> = project.text.lines().collect();
    lines.insert(line, "    // ptx-tc: allow(SIM101)");
    project.change(&mut client, 2, &lines.join("\n"));
    assert!(!codes(&client.pushed(2)).contains(&"SIM101"));
    assert_eq!(project.titles(&mut client), ["simulate", "simulate with gemm.toml"]);
    client.request("workspace/executeCommand", project.command("gemm", Some("gemm.toml")));
    assert_eq!(project.titles(&mut client), ["simulate", "gemm.toml: clean"]);
    client.stop();
}

/// A verdict belongs to what the launch file said.
#[test]
fn launch_files_are_followed() {
    let project = Project::hang();
    let mut client = Client::start();
    project.open(&mut client);
    client.pushed(1);
    client.request("workspace/executeCommand", project.command("gemm", Some("gemm.toml")));
    client.pushed(1);
    assert_eq!(project.titles(&mut client), ["simulate", "gemm.toml: 1 finding (deadlock)"]);
    let news = |client: &mut Client, name: &str| {
        let changes = json!([{ "uri": uri(&project.directory.path().join(name)), "type": 2 }]);
        client.notify("workspace/didChangeWatchedFiles", json!({ "changes": changes }));
    };
    // Of what other files say, the run does not depend.
    fs::copy(project.directory.path().join("gemm.toml"), project.directory.path().join("other.toml"))
        .unwrap();
    news(&mut client, "other.toml");
    let lenses = ["simulate", "gemm.toml: 1 finding (deadlock)", "simulate with other.toml"];
    assert_eq!(project.titles(&mut client), lenses);
    news(&mut client, "gemm.toml");
    assert!(!codes(&client.pushed(1)).contains(&"SIM101"));
    assert_eq!(
        project.titles(&mut client),
        ["simulate", "simulate with gemm.toml", "simulate with other.toml"]
    );
    client.stop();
}

/// The only kernel need not be named, and launches are assumed without a file.
#[test]
fn a_run_under_assumed_launches() {
    let project = Project::new(&kernel("\tmov.u32 %r0, %tid.x;\n\tret;"), &[]);
    let mut client = Client::start();
    project.open(&mut client);
    client.pushed(1);
    let command = json!({ "command": "ptx-tc.simulate", "arguments": [project.uri] });
    let ran = client.request("workspace/executeCommand", command);
    assert_eq!(
        (&ran["verdict"], &ran["kernel"], &ran["launch"]),
        (&json!("clean"), &json!("k"), &Value::Null)
    );
    assert_eq!(project.titles(&mut client), ["simulated: clean"]);
    client.stop();
}

/// A run that stops early says where, and why.
#[test]
fn an_incomplete_run_says_why() {
    let text = kernel(
        "\tld.param.u64 %rd0, [out];\n\tld.global.u32 %r0, [%rd0];\n\tsetp.eq.u32 %p0, %r0, 3;\n\t@%p0 trap;\n\tret;",
    );
    let project = Project::new(&text, &[("k.toml", "[[arg]]\ntype = \"buffer\"\nbytes = 4\n")]);
    let mut client = Client::start();
    project.open(&mut client);
    client.pushed(1);
    let ran = client.request("workspace/executeCommand", project.command("k", Some("k.toml")));
    assert_eq!(ran["verdict"], "incomplete");
    let found = client.pushed(1);
    let reason = found.as_array().unwrap().iter().find(|it| it["severity"] == 3).unwrap();
    assert!(
        reason["message"].as_str().unwrap().starts_with("The simulation of `k` is incomplete: "),
        "{reason:#}"
    );
    let titles = project.titles(&mut client);
    assert!(titles[1].starts_with("k.toml: incomplete ("), "{titles:?}");
    client.stop();
}

#[test]
fn progress_is_shown_and_lenses_are_asked_for_again() {
    let project = Project::hang();
    let mut client = shows_progress();
    project.open(&mut client);
    client.pushed(1);
    let run = client.send("workspace/executeCommand", project.command("gemm", Some("gemm.toml")));
    let token = client.notification("window/workDoneProgress/create")["token"].take();
    let begin = client.notification("$/progress");
    let value = json!({ "kind": "begin", "title": "Simulating gemm", "cancellable": true });
    assert_eq!(begin, json!({ "token": token, "value": value }));
    client.notification("workspace/codeLens/refresh");
    let end = client.wait(|it| it["method"] == "$/progress" && it["params"]["value"]["kind"] == "end");
    assert_eq!(end["params"]["token"], token);
    assert_eq!(end["params"]["value"]["message"], "1 finding (deadlock)");
    client.notification("workspace/codeLens/refresh");
    assert_eq!(client.response(run)["result"]["findings"], 1);
    assert!(client.inbox.iter().all(|it| it["method"] != "window/showMessage"), "{:#?}", client.inbox);
    client.stop();
}

/// Clients that ask for findings are told to do so.
#[test]
fn findings_are_asked_for_again() {
    let mut capabilities = capabilities();
    capabilities["textDocument"]["diagnostic"] = json!({});
    capabilities["workspace"] = json!({ "diagnostics": { "refreshSupport": true } });
    let mut client = Client::start_with(capabilities, Value::Null);
    let project = Project::hang();
    project.open(&mut client);
    let document = json!({ "textDocument": { "uri": project.uri } });
    assert!(
        !codes(&client.request("textDocument/diagnostic", document.clone())["items"]).contains(&"SIM101")
    );
    client.request("workspace/executeCommand", project.command("gemm", Some("gemm.toml")));
    client.wait(|it| it["method"] == "workspace/diagnostic/refresh");
    assert!(codes(&client.request("textDocument/diagnostic", document)["items"]).contains(&"SIM101"));
    client.stop();
}

/// Clients that ask for findings, but cannot be told to do so, are sent those of runs.
#[test]
fn findings_of_runs_are_sent_apart() {
    let mut capabilities = capabilities();
    capabilities["textDocument"]["diagnostic"] = json!({});
    let mut client = Client::start_with(capabilities, Value::Null);
    let project = Project::hang();
    project.open(&mut client);
    let document = json!({ "textDocument": { "uri": project.uri } });
    client.request("textDocument/diagnostic", document.clone());
    client.request("workspace/executeCommand", project.command("gemm", Some("gemm.toml")));
    assert_eq!(codes(&client.pushed(1)), ["SIM101"]);
    assert!(!codes(&client.request("textDocument/diagnostic", document)["items"]).contains(&"SIM101"));
    project.change(&mut client, 2, &project.text);
    assert_eq!(client.pushed(2), json!([]));
    client.stop();
}

/// By the request, by what shows its progress, by its lens, and by a change of the text: the other requests are
/// answered meanwhile.
#[test]
fn runs_can_be_cancelled() {
    let project = endless();
    let mut client = shows_progress();
    project.open(&mut client);
    client.pushed(1);
    let command = project.command("k", None);
    let run = |client: &mut Client| {
        let run = client.send("workspace/executeCommand", command.clone());
        let token = client.notification("window/workDoneProgress/create")["token"].take();
        client.wait(|it| it["params"]["value"]["kind"] == "report");
        (run, token)
    };

    let (id, _) = run(&mut client);
    assert_eq!(project.titles(&mut client), ["simulating ... (cancel)"]);
    let twice = client.error("workspace/executeCommand", command.clone());
    assert_eq!(twice["message"], "this is running already");
    client.notify("$/cancelRequest", json!({ "id": id }));
    assert_eq!(client.response(id)["error"]["code"], -32800);
    assert_eq!(project.titles(&mut client), ["simulate"]);

    let (id, token) = run(&mut client);
    client.notify("window/workDoneProgress/cancel", json!({ "token": token }));
    assert_eq!(client.response(id)["error"]["code"], -32800);
    let ends = |it: &Value| it["params"]["token"] == token && it["params"]["value"]["kind"] == "end";
    assert_eq!(client.wait(ends)["params"]["value"]["message"], "cancelled");

    let (id, _) = run(&mut client);
    let lens = client.request("textDocument/codeLens", json!({ "textDocument": { "uri": project.uri } }));
    let cancel = lens[0]["command"].clone();
    assert_eq!(cancel["command"], "ptx-tc.cancelSimulation");
    client.request("workspace/executeCommand", cancel);
    assert_eq!(client.response(id)["error"]["code"], -32800);

    let (id, _) = run(&mut client);
    project.change(&mut client, 2, &project.text);
    assert_eq!(client.response(id)["error"]["code"], -32801);
    client.stop();
}

#[test]
fn what_cannot_be_run_is_refused() {
    let launches = [("k.toml", "kernel = \"k\"\n\n[[arg]]\ntype = \"u32\"\nvalue = 3\n")];
    let project = Project::new(&kernel("\tret;"), &launches);
    let mut client = Client::start();
    project.open(&mut client);
    client.pushed(1);
    let refused = |client: &mut Client, arguments: Value| {
        let command = json!({ "command": "ptx-tc.simulate", "arguments": arguments });
        client.error("workspace/executeCommand", command)["message"].as_str().unwrap().to_owned()
    };
    let uri = &project.uri;
    assert_eq!(refused(&mut client, json!([])), "no address of a document");
    assert_eq!(refused(&mut client, json!(["file:///no.ptx"])), "`file:///no.ptx` is not open");
    assert_eq!(refused(&mut client, json!([uri, "l"])), "no kernel `l` that can be simulated");
    fs::write(project.directory.path().join("../elsewhere.toml"), "kernel = \"k\"\n").unwrap();
    let elsewhere = refused(&mut client, json!([uri, "k", "../elsewhere.toml"]));
    fs::remove_file(project.directory.path().join("../elsewhere.toml")).unwrap();
    assert_eq!(elsewhere, "no launch file `../elsewhere.toml` for `k`");
    // The place of the mistake is said.
    let misfit = refused(&mut client, json!([uri, "k", "k.toml"]));
    assert!(
        misfit.contains("k.toml:") && misfit.contains("the kernel cannot be launched like this"),
        "{misfit}"
    );
    assert_eq!(project.titles(&mut client), ["simulate", "simulate with k.toml"]);
    client.stop();
}

/// Some editors have no code lenses.
#[test]
fn a_kernel_can_be_run_by_an_action() {
    let project = Project::hang();
    let mut client = Client::start();
    project.open(&mut client);
    let line = project.text.lines().position(|line| line.contains(".entry gemm")).unwrap();
    let actions = |client: &mut Client, line: usize| {
        let (start, end) =
            (json!({ "line": line, "character": 0 }), json!({ "line": line + 1, "character": 0 }));
        let params = json!({
            "textDocument": { "uri": project.uri },
            "range": { "start": start, "end": end },
            "context": { "diagnostics": [] },
        });
        client.request("textDocument/codeAction", params)
    };
    let found = actions(&mut client, line);
    let [assumed, given] = &found.as_array().unwrap()[..] else { panic!("{found:#}") };
    assert_eq!(assumed["title"], "gemm: simulate");
    assert_eq!(given["title"], "gemm: simulate with gemm.toml");
    assert_eq!(given["command"]["command"], "ptx-tc.simulate");
    assert_eq!(given["kind"], "source.simulate.ptx-tc");
    assert_eq!(actions(&mut client, line + 4), json!([]));
    client.stop();
}
