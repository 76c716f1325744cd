//! The text of a snapshot: questions, and below them their answer. Questions with the same answer share lines.

use std::fmt::Write as _;

use crate::layout::WIDTH;

/// A sheet under construction.
pub(crate) struct Sheet {
    text: String,
    questions: Vec<String>,
    /// The answer of these questions, to which more may be added.
    answer: String,
}

impl Sheet {
    /// An empty sheet with this heading.
    pub fn of(heading: &str) -> Self {
        Self { text: format!("{heading}\n"), questions: Vec::new(), answer: String::new() }
    }

    /// Adds a question with its answer, and the answers of later requests by their paths.
    pub fn add(&mut self, question: &str, answer: &str, seen: &[(&str, String)]) {
        if self.answer != answer || !seen.is_empty() {
            self.close();
            answer.clone_into(&mut self.answer);
        }
        self.questions.push(question.to_owned());
        if !seen.is_empty() {
            self.close();
        }
        for (path, answer) in seen {
            // Writing to a string cannot fail.
            let _ = writeln!(self.text, "  then {path}\n{answer}");
        }
    }

    /// Returns the whole text.
    pub fn finish(mut self) -> String {
        self.close();
        self.text
    }

    fn close(&mut self) {
        if self.questions.is_empty() {
            return;
        }
        let mut line = "#".to_owned();
        let mut last = "";
        for (nth, question) in self.questions.iter().enumerate() {
            // Further values of one field need not repeat its name.
            let (field, value) = question.split_once(MAY_NOT_BE).unwrap_or(("", question));
            let part = if !field.is_empty() && field == last { value } else { question };
            last = field;
            let comma = if nth + 1 < self.questions.len() { " |" } else { "" };
            if line.chars().count() + 1 + part.chars().count() + comma.len() > WIDTH {
                let _ = writeln!(self.text, "{line}");
                "#".clone_into(&mut line);
            }
            let _ = write!(line, " {part}{comma}");
        }
        let _ = writeln!(self.text, "{line}\n{}", self.answer);
        self.questions.clear();
    }
}

/// Between a field and a value in the question of a rejected value.
pub(crate) const MAY_NOT_BE: &str = " may not be ";
