//! An open document without the server around it: for a page that has no processes, for fuzzing and for tests.
//!
//! It answers the same requests in the same words. Whoever has it decides when a text is parsed and checked.

use lsp_types::Uri;
use ptx_check::analysis::description::Description;
use ptx_check::diagnostic::Diagnostic;
use ptx_check::source::Span;
use ptx_check::{Memory, Options, Unit};
use serde_json::Value;

use crate::handlers::{self, Context, Needs};
use crate::settings::Client;
use crate::snapshot::Snapshot;
use crate::text::{Encoding, Place, Text};
use crate::to_proto;
use crate::worker::name_of;

/// A document as the server keeps it.
#[derive(Debug)]
pub struct Document {
    text: Text,
    client: Client,
    uri: Uri,
    snapshot: Option<Snapshot>,
    memory: Memory,
}

impl Document {
    /// Opens a text for a client whose columns are UTF-16 code units, or bytes if it can do that.
    ///
    /// # Errors
    /// When the address is none.
    pub fn open(uri: &str, text: String, utf8: bool) -> Result<Self, String> {
        let mut client = Client::new(&Value::Null);
        client.encoding = if utf8 { Encoding::Utf8 } else { Encoding::Utf16 };
        Self::of_client(uri, text, client)
    }

    /// Opens a text for a client that says in `initialize` what it can do, and shows pictures. The second is the
    /// answer to that request.
    ///
    /// # Errors
    /// When the address is none.
    pub fn open_for(initialize: &Value, uri: &str, text: String) -> Result<(Self, Value), String> {
        let client = Client { pictures: true, ..Client::new(initialize) };
        Ok((Self::of_client(uri, text, client)?, to_proto::capabilities(client)))
    }

    fn of_client(uri: &str, text: String, client: Client) -> Result<Self, String> {
        let uri = uri.parse().map_err(|error| format!("`{uri}`: {error}"))?;
        Ok(Self { text: Text::new(text), client, uri, snapshot: None, memory: Memory::default() })
    }

    /// Replaces what lies between two places, each a line and a column.
    pub fn replace(&mut self, start: (u32, u32), end: (u32, u32), by: &str) {
        let offset = |(line, character)| self.text.offset(Place { line, character }, self.client.encoding);
        let (start, end) = (offset(start), offset(end));
        self.text.replace(Span::new(start.min(end), start.max(end)), by);
        self.snapshot = None;
    }

    /// The text as it is now.
    pub fn text(&self) -> &str {
        self.text.as_str()
    }

    /// The place of a byte.
    pub fn place(&self, offset: u32) -> (u32, u32) {
        let Place { line, character } = self.text.place(offset, self.client.encoding);
        (line, character)
    }

    /// Parses the text as it is now; what needs no findings can be asked for.
    pub fn parse(&mut self, options: &Options) {
        let name = name_of(self.uri.as_str());
        self.snapshot = Snapshot::new(&name, None, self.text.clone(), options.clone());
    }

    /// What is found in the text as it is now.
    pub fn check(&mut self, options: &Options) -> &[Diagnostic] {
        // What was asked for meanwhile has parsed it already.
        if self.snapshot.as_ref().is_none_or(|it| it.is_checked() || it.options != *options) {
            self.parse(options);
        }
        let Some(snapshot) = &self.snapshot else { return &[] };
        snapshot.check(&mut self.memory, &|| false);
        snapshot.diagnostics()
    }

    /// The PTX of the text that was parsed last.
    pub fn unit(&self) -> Option<&Unit> {
        self.snapshot.as_ref().map(|snapshot| &snapshot.document.unit)
    }

    /// What is known of the multiply or copy at a line and a column, and the place of its statement and of each of its
    /// descriptors in the text.
    pub fn described(&self, (line, character): (u32, u32)) -> Option<(Description, Vec<Span>)> {
        let snapshot = self.snapshot.as_ref()?;
        let offset = self.text.offset(Place { line, character }, self.client.encoding);
        let (statement, _) = snapshot.instruction(snapshot.inside(offset)?)?;
        let description = snapshot.describe(&snapshot.decode(statement)?)?;
        let places = [description.span].into_iter().chain(description.words.iter().map(|word| word.span));
        let places = places.map(|span| snapshot.outside(span)).collect();
        Some((description, places))
    }

    /// The answer to a request about the text that was checked last.
    ///
    /// # Errors
    /// What the server would say instead of an answer.
    pub fn request(&self, method: &str, params: Value) -> Result<Value, String> {
        if handlers::needs(method) == Some(Needs::Text) {
            let answer = handlers::early(self.client, &self.text, method, params, None);
            return answer.map_err(|failure| failure.message);
        }
        let Some(snapshot) = &self.snapshot else { return Err("not parsed".to_owned()) };
        let context = Context { client: self.client, snapshot, uri: &self.uri, version: 0 };
        handlers::handle(&context, method, params).map_err(|failure| failure.message)
    }
}
