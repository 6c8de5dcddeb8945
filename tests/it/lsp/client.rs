//! A client that speaks real LSP with the built binary.

#![allow(clippy::needless_pass_by_value, reason = "params are written in place with `json!`")]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

/// What every test may wait for one message; generous, because the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Client {
    child: Child,
    input: Option<ChildStdin>,
    messages: Receiver<Value>,
    requests: i64,
    /// Notifications and requests of the server that nobody asked for yet.
    pub(crate) inbox: Vec<Value>,
}

pub(crate) const URI: &str = "file:///kernel.ptx";

impl Client {
    /// Starts the server without saying a word to it.
    pub(crate) fn spawn() -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_ptx-tc"))
            .arg("lsp")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let (sender, messages) = channel();
        thread::spawn(move || {
            while let Some(message) = read(&mut output) {
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        let input = child.stdin.take();
        Self { child, input, messages, requests: 0, inbox: Vec::new() }
    }

    /// Starts and initializes the server; the client is able to do most things.
    pub(crate) fn start() -> Self {
        Self::start_with(capabilities(), Value::Null)
    }

    pub(crate) fn start_with(capabilities: Value, options: Value) -> Self {
        let mut client = Self::spawn();
        client.request(
            "initialize",
            json!({ "processId": null, "rootUri": null, "capabilities": capabilities, "initializationOptions": options }),
        );
        client.notify("initialized", json!({}));
        client
    }

    pub(crate) fn raw(&mut self, body: &str) {
        let input = self.input.as_mut().unwrap();
        write!(input, "Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
        input.flush().unwrap();
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(bytes).unwrap();
        input.flush().unwrap();
    }

    pub(crate) fn message(&mut self, mut message: Value) {
        message["jsonrpc"] = "2.0".into();
        self.raw(&message.to_string());
    }

    pub(crate) fn notify(&mut self, method: &str, params: Value) {
        self.message(json!({ "method": method, "params": params }));
    }

    pub(crate) fn send(&mut self, method: &str, params: Value) -> i64 {
        self.requests += 1;
        self.message(json!({ "id": self.requests, "method": method, "params": params }));
        self.requests
    }

    /// The whole response to the request with this number.
    pub(crate) fn response(&mut self, id: i64) -> Value {
        self.wait(|message| message["id"] == id && message.get("method").is_none())
    }

    /// Sends a request and returns its result.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        let mut response = self.response(id);
        assert!(response.get("error").is_none(), "{method}: {response}");
        response["result"].take()
    }

    /// Sends a request and returns its error.
    pub(crate) fn error(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        let mut response = self.response(id);
        assert!(response.get("result").is_none(), "{method}: {response}");
        response["error"].take()
    }

    /// The next message of which `wanted` holds; others go to the inbox.
    pub(crate) fn wait(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.inbox.iter().position(&wanted) {
            return self.inbox.remove(at);
        }
        loop {
            let message = self.messages.recv_timeout(PATIENCE).expect("an answer in time");
            if wanted(&message) {
                return message;
            }
            self.inbox.push(message);
        }
    }

    pub(crate) fn notification(&mut self, method: &str) -> Value {
        self.wait(|message| message["method"] == method)["params"].take()
    }

    pub(crate) fn open(&mut self, text: &str) {
        self.open_as(URI, text);
    }

    pub(crate) fn open_as(&mut self, uri: &str, text: &str) {
        let item = json!({ "uri": uri, "languageId": "ptx", "version": 1, "text": text });
        self.notify("textDocument/didOpen", json!({ "textDocument": item }));
    }

    pub(crate) fn change(&mut self, version: i32, changes: Value) {
        let document = json!({ "uri": URI, "version": version });
        self.notify("textDocument/didChange", json!({ "textDocument": document, "contentChanges": changes }));
    }

    /// The findings of the given version, as the server pushes them.
    pub(crate) fn pushed(&mut self, version: i32) -> Value {
        self.wait(|message| {
            message["method"] == "textDocument/publishDiagnostics" && message["params"]["version"] == version
        })["params"]["diagnostics"]
            .take()
    }

    /// Ends the session politely.
    pub(crate) fn stop(mut self) {
        assert_eq!(self.request("shutdown", Value::Null), Value::Null);
        self.notify("exit", Value::Null);
        assert!(self.exit().success());
    }

    /// Closes the input and waits for the end.
    pub(crate) fn exit(&mut self) -> ExitStatus {
        drop(self.input.take());
        self.child.wait().unwrap()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read(output: &mut impl BufRead) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if output.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.strip_prefix("Content-Length: ") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    output.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}

/// A client that can do most things, without asking for findings.
pub(crate) fn capabilities() -> Value {
    json!({
        "general": { "positionEncodings": ["utf-16"] },
        "textDocument": {
            "publishDiagnostics": { "relatedInformation": true },
            "completion": { "completionItem": { "snippetSupport": true } },
            "documentSymbol": { "hierarchicalDocumentSymbolSupport": true },
        },
    })
}

/// The text without its `$0`, and where that stood.
pub(crate) fn cursor(text: &str) -> (String, Value) {
    let at = text.find("$0").expect("a cursor");
    let before = &text[..at];
    let line = before.matches('\n').count();
    let character = before.rsplit('\n').next().unwrap().encode_utf16().count();
    (text.replacen("$0", "", 1), json!({ "line": line, "character": character }))
}

/// The params of a request about a place.
pub(crate) fn at(position: &Value) -> Value {
    json!({ "textDocument": { "uri": URI }, "position": position })
}

/// The params of a request about the document.
pub(crate) fn document() -> Value {
    json!({ "textDocument": { "uri": URI } })
}

/// A kernel around some statements.
pub(crate) fn kernel(body: &str) -> String {
    format!(
        ".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u64 out)\n{{\n\t.reg .pred %p<4>;\n\
         \t.reg .b32 %r<10>;\n\t.reg .b64 %rd<4>;\n\t.shared .align 8 .b64 bar;\n{body}\n}}\n"
    )
}
