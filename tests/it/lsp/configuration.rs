//! Settings of the client, and configurations beside the files.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::client::{Client, capabilities};

/// One finding: TC301, an error.
const TEXT: &str = ".version 9.0\n.target sm_100a\n.entry k() {\n.reg .b32 t;\n\
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 t, 48;\nret;\n}\n";

/// The findings that come next, as `code severity`.
fn codes(client: &mut Client) -> Vec<String> {
    let findings = client.pushed(1);
    let findings = findings.as_array().unwrap();
    findings.iter().map(|it| format!("{} {}", it["code"].as_str().unwrap(), it["severity"])).collect()
}

fn uri(directory: &Path) -> String {
    format!("file://{}/kernel.ptx", directory.display())
}

#[test]
fn settings_come_with_initialize_and_change() {
    let mut client = Client::start_with(capabilities(), json!({ "severity": { "TC301": "warning" } }));
    client.open(TEXT);
    assert_eq!(codes(&mut client), ["TC301 2"]);
    let change = |settings: Value| json!({ "settings": { "ptx-tc": settings } });
    client.notify("workspace/didChangeConfiguration", change(json!({ "ignore": ["TC3"] })));
    assert_eq!(codes(&mut client), [] as [&str; 0]);
    client.notify("workspace/didChangeConfiguration", change(json!({ "targets": ["sm_90"] })));
    assert!(codes(&mut client).iter().any(|code| code.starts_with("TC2")));
    client.notify("workspace/didChangeConfiguration", change(json!({ "ignore": ["TC777"] })));
    let shown = client.notification("window/showMessage");
    assert!(shown["message"].as_str().unwrap().contains("there is no rule `TC777`"), "{shown}");
    client.stop();
}

#[test]
fn the_client_is_asked_for_settings() {
    let mut wanted = capabilities();
    wanted["workspace"]["configuration"] = json!(true);
    let mut client = Client::start_with(wanted, Value::Null);
    client.open(TEXT);
    assert_eq!(codes(&mut client), ["TC301 1"]);
    let asked = client.wait(|message| message["method"] == "workspace/configuration");
    assert_eq!(asked["params"]["items"][0]["section"], "ptx-tc");
    let result = json!([{ "severity": { "ncols-invalid": "info" } }]);
    client.message(json!({ "id": asked["id"], "result": result }));
    assert_eq!(codes(&mut client), ["TC301 3"]);
}

#[test]
fn who_pulls_is_told_to_ask_again() {
    for name in ["diagnostics", "diagnostic"] {
        let mut wanted = capabilities();
        wanted["textDocument"]["diagnostic"] = json!({});
        wanted["workspace"][name] = json!({ "refreshSupport": true });
        // What does not matter may be anything.
        wanted["workspace"]["symbol"] = json!("newer than this server");
        let mut client = Client::start_with(wanted, Value::Null);
        client.open(TEXT);
        let settings = json!({ "ptx-tc": { "severity": { "ncols-invalid": "info" } } });
        client.notify("workspace/didChangeConfiguration", json!({ "settings": settings }));
        client.wait(|message| message["method"] == "workspace/diagnostic/refresh");
        client.stop();
    }
}

#[test]
fn configurations_are_found_and_followed() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("ptx-tc.toml");
    fs::write(&file, "[severity]\nTC301 = \"warning\"\n").unwrap();
    let mut wanted = capabilities();
    wanted["workspace"]["didChangeWatchedFiles"] = json!({ "dynamicRegistration": true });
    let mut client = Client::start_with(wanted, Value::Null);
    let registered = client.notification("client/registerCapability");
    let options = &registered["registrations"][0]["registerOptions"];
    assert_eq!(options["watchers"][0]["globPattern"], "**/*.toml");

    client.open_as(&uri(directory.path()), TEXT);
    assert_eq!(codes(&mut client), ["TC301 2"]);
    let changed = json!({ "changes": [{ "uri": format!("file://{}", file.display()), "type": 2 }] });
    fs::write(&file, "exclude = [\"kernel.ptx\"]\n").unwrap();
    client.notify("workspace/didChangeWatchedFiles", changed.clone());
    assert_eq!(codes(&mut client), [] as [&str; 0], "excluded");
    fs::write(&file, "ignroe = []\n").unwrap();
    client.notify("workspace/didChangeWatchedFiles", changed.clone());
    let shown = client.notification("window/showMessage");
    assert!(shown["message"].as_str().unwrap().contains("did you mean `ignore`?"), "{shown}");
    assert_eq!(codes(&mut client), ["TC301 1"], "the defaults");
    fs::remove_file(&file).unwrap();
    client.notify("workspace/didChangeWatchedFiles", changed.clone());
    client.stop();
}

#[test]
fn settings_win_over_configurations() {
    let directory = tempfile::tempdir().unwrap();
    let other = directory.path().join("other.toml");
    fs::write(directory.path().join("ptx-tc.toml"), "[severity]\nTC301 = \"warning\"\n").unwrap();
    fs::write(&other, "ignore = [\"TC301\"]\n").unwrap();
    for (settings, findings) in [
        (json!({ "severity": { "TC301": "info" } }), vec!["TC301 3"]),
        (json!({ "configuration": other.display().to_string() }), vec![]),
    ] {
        let mut client = Client::start_with(capabilities(), settings.clone());
        client.open_as(&uri(directory.path()), TEXT);
        assert_eq!(codes(&mut client), findings, "{settings}");
    }
}
