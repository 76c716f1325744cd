//! An invocation's output, wherever it ran. Not here: printing it (`command.rs`).

/// A command's output in both forms.
pub(super) struct Output {
    /// JSON on a single line.
    pub(super) json: String,
    /// Text to show people.
    pub(super) text: String,
}

impl Output {
    /// Returns the output with a clean text. Stored texts and a service's texts may have control
    /// sequences.
    pub(super) fn new(json: String, text: &str) -> Self {
        Self {
            json,
            text: ars_events::clean(text, usize::MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_has_no_control_sequences() {
        let json = "{\"label\":\"\\u001b[2Jgo\"}";
        let output = Output::new(json.to_owned(), "\u{1b}[2Jgo\n\u{9b}31mon");
        assert!(
            !output.text.contains(['\u{1b}', '\u{9b}']) && output.text.contains("go\n"),
            "{:?}",
            output.text
        );
        assert_eq!(output.json, json);
    }
}
