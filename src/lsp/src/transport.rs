//! Messages in and out of standard input and output.
//!
//! The reader differs from lsp-server's in two ways: a message that is no JSON gets an error for an
//! answer and does not end the session, and the queue behind it is not bounded, so that the main
//! loop sees at once how many edits wait.

use std::io::{self, BufRead, Write};
use std::thread::{self, JoinHandle};

use crossbeam_channel::{Receiver, Sender, unbounded};
use lsp_server::{ErrorCode, Message};

/// A message longer than this is not read into memory.
const MAX_LENGTH: usize = 1 << 30;

/// Something to write: a message, or JSON that has no type because its request had no id.
pub(crate) enum Outgoing {
    Message(Message),
    Raw(String),
    /// Nothing follows.
    End,
}

impl<T: Into<Message>> From<T> for Outgoing {
    fn from(message: T) -> Self {
        Self::Message(message.into())
    }
}

/// Both ends of the conversation.
pub(crate) struct Transport {
    pub(crate) incoming: Receiver<Message>,
    pub(crate) outgoing: Sender<Outgoing>,
    writer: JoinHandle<io::Result<()>>,
}

impl Transport {
    /// Starts the threads that read and write.
    pub(crate) fn stdio() -> io::Result<Self> {
        let (incoming_sender, incoming) = unbounded();
        let (outgoing, outgoing_receiver) = unbounded::<Outgoing>();
        let answers = outgoing.clone();
        // Not joined: it may be waiting for input that never comes.
        thread::Builder::new().name("reader".to_owned()).spawn(move || {
            let mut input = io::stdin().lock();
            while let Some(body) = frame(&mut input) {
                match serde_json::from_slice::<Message>(&body) {
                    Ok(message) => {
                        if incoming_sender.send(message).is_err() {
                            break;
                        }
                    }
                    Err(error) => {
                        let _ = answers.send(Outgoing::Raw(refusal(&body, &error)));
                    }
                }
            }
        })?;
        let writer = thread::Builder::new().name("writer".to_owned()).spawn(move || {
            let mut output = io::stdout().lock();
            for message in outgoing_receiver {
                match message {
                    Outgoing::Message(message) => message.write(&mut output)?,
                    Outgoing::Raw(text) => {
                        write!(output, "Content-Length: {}\r\n\r\n{text}", text.len())?;
                        output.flush()?;
                    }
                    Outgoing::End => break,
                }
            }
            Ok(())
        })?;
        Ok(Self { incoming, outgoing, writer })
    }

    /// Waits until everything is written.
    pub(crate) fn finish(self) -> io::Result<()> {
        // The reader keeps the channel open as long as the input is, so that its end is said.
        let _ = self.outgoing.send(Outgoing::End);
        self.writer.join().unwrap_or(Ok(()))
    }
}

/// What is answered to a message that is none.
fn refusal(body: &[u8], error: &serde_json::Error) -> String {
    let value = serde_json::from_slice::<serde_json::Value>(body).ok();
    let code = if value.is_some() { ErrorCode::InvalidRequest } else { ErrorCode::ParseError };
    let id = value.and_then(|mut value| value.get_mut("id").map(serde_json::Value::take));
    serde_json::json!({
        "jsonrpc": "2.0",
        "id": id,
        "error": { "code": code as i32, "message": error.to_string() },
    })
    .to_string()
}

/// The body of the next message; `None` at the end of the input. Headers that make no sense are
/// skipped.
fn frame(input: &mut impl BufRead) -> Option<Vec<u8>> {
    loop {
        let mut length = None;
        loop {
            let mut line = Vec::new();
            if input.read_until(b'\n', &mut line).ok()? == 0 {
                return None;
            }
            let line = String::from_utf8_lossy(&line);
            let line = line.trim();
            if line.is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.trim().eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse::<usize>().ok();
            }
        }
        let Some(length) = length.filter(|&length| length <= MAX_LENGTH) else { continue };
        let mut body = vec![0; length];
        input.read_exact(&mut body).ok()?;
        return Some(body);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_survive_bad_headers() {
        let mut input: &[u8] =
            b"nonsense\r\n\r\nContent-Length: x\r\n\r\ncontent-length: 2\r\nOther: 1\r\n\r\n{}Content-Length: 3\r\n\r\n{}";
        assert_eq!(frame(&mut input).as_deref(), Some(&b"{}"[..]));
        assert_eq!(frame(&mut input), None);
    }

    #[test]
    fn refusals_keep_the_id() {
        let error = serde_json::from_str::<Message>("1").unwrap_err();
        assert!(refusal(br#"{"id":7}"#, &error).contains(r#""id":7"#));
        assert!(refusal(b"{", &error).contains("-32700"));
    }
}
