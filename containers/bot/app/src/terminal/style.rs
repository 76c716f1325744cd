//! Colours on a terminal.

/// How text may be decorated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// Colours text with ANSI codes.
    Colour,
    /// Leaves text plain.
    Plain,
}

impl Style {
    /// Colour on a terminal, unless `NO_COLOR` is set.
    pub fn choose(on_terminal: bool, no_color: bool) -> Self {
        if on_terminal && !no_color {
            Self::Colour
        } else {
            Self::Plain
        }
    }

    /// Returns the text dimmed.
    pub fn dim(self, text: &str) -> String {
        self.wrap(text, "2")
    }

    /// Text that stands out.
    pub fn bold(self, text: &str) -> String {
        self.wrap(text, "1")
    }

    /// Returns the text as a success.
    pub fn good(self, text: &str) -> String {
        self.wrap(text, "32")
    }

    /// Returns the text as a failure.
    pub fn bad(self, text: &str) -> String {
        self.wrap(text, "31")
    }

    fn wrap(self, text: &str, code: &str) -> String {
        match self {
            Self::Colour => format!("\x1b[{code}m{text}\x1b[0m"),
            Self::Plain => text.to_owned(),
        }
    }
}
