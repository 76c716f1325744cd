//! The text that a snapshot pins: questions, and below them the answer; questions of one answer stand together.

use std::fmt::Write as _;

/// A sheet being written.
pub(crate) struct Sheet {
    text: String,
    /// The answer of the questions that stand last, to which more may be added.
    open: Option<String>,
}

impl Sheet {
    /// With this heading.
    pub fn of(heading: &str) -> Self {
        Self { text: format!("{heading}\n"), open: None }
    }

    /// A question with its answer, and by which paths was seen what afterwards.
    pub fn add(&mut self, question: &str, answer: &str, seen: &[(&str, String)]) {
        if self.open.as_deref() != Some(answer) || !seen.is_empty() {
            self.close();
            self.text.push('\n');
            self.open = Some(answer.to_owned());
        }
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "# {question}");
        if !seen.is_empty() {
            self.close();
        }
        for (path, answer) in seen {
            let _ = writeln!(self.text, "  then {path}\n{answer}");
        }
    }

    /// The whole text.
    pub fn finish(mut self) -> String {
        self.close();
        self.text
    }

    fn close(&mut self) {
        if let Some(answer) = self.open.take() {
            let _ = writeln!(self.text, "{answer}");
        }
    }
}
