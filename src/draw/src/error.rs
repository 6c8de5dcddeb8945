//! Why there is no picture.

use std::fmt;

/// What was asked for cannot be drawn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DrawError {
    /// What is wrong, as a sentence without its full stop.
    pub message: String,
    /// What can be written instead.
    pub help: Option<String>,
}

impl DrawError {
    /// One without help.
    #[cold]
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), help: None }
    }

    /// One that says what can be written instead.
    #[cold]
    pub fn helped(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { message: message.into(), help: Some(help.into()) }
    }
}

impl fmt::Display for DrawError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for DrawError {}
