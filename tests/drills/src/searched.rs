//! Searches every machine for its secrets when the drill ends. It searches the bots' and the
//! Worker's logs, the records, the model's requests, and running bots' output.
//!
//! Not here: the drill that uses every place where a secret could show
//! (`tests/drills/canaries.rs`).

use crate::{Machine, secrets};

impl Machine {
    /// Returns where secrets show.
    pub fn leaks(&self) -> Vec<String> {
        let mut texts = vec![
            ("the log of a bot", self.logs()),
            ("the Worker's log", self.log_of_the_worker()),
            ("a stream or the index", self.streams()),
        ];
        texts.extend(
            self.state
                .records()
                .iter()
                .map(|record| ("a record", record.to_string())),
        );
        // The model's requests contain the texts of users and of the model.
        let prompts = self.vendor.requests().into_iter();
        let prompts = prompts.map(|request| request.body.to_string().replace(secrets::QUOTED, ""));
        texts.extend(prompts.map(|prompt| ("a prompt", prompt)));
        let found = texts.iter().flat_map(|(place, text)| {
            secrets::seen_in(text)
                .into_iter()
                .map(move |secret| format!("{secret} in {place}"))
        });
        found.chain(self.watch.leaks()).collect()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // A failed drill reports its own cause.
        if !std::thread::panicking() {
            let leaks = self.leaks();
            assert!(leaks.is_empty(), "secrets show:\n{}", leaks.join("\n"));
        }
    }
}
