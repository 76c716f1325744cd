//! The text of a snapshot: questions followed by their answer. Questions with equal answers are grouped.

use std::fmt::Write as _;

/// Builder of a snapshot text.
pub(crate) struct Sheet {
    text: String,
    /// Answer of the last group of questions, which is still open.
    open: Option<String>,
}

impl Sheet {
    /// Starts a sheet with this heading.
    pub fn of(heading: &str) -> Self {
        Self { text: format!("{heading}\n"), open: None }
    }

    /// Adds a question with its answer, and the answers of later requests by path.
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

    /// Returns the whole text.
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
