//! The files that a request's text passes through, from the router to the first model call.
//!
//! Each hop names the expression with which a file hands the text on. `docs/ARCHITECTURE.md` lists
//! the same files.

use std::collections::BTreeSet;

use regex::Regex;

use crate::{Tree, Violation};

/// The document with the list.
const DOCUMENT: &str = "docs/ARCHITECTURE.md";
/// The list's first and last words.
const LIST: [&str; 2] = ["From the router to the first model call", "7. **Watch.**"];
/// Maximum files in the list.
const MAX_FILES: usize = 15;
const HTTP: &str = "containers/bot/http/src";
const CORE: &str = "containers/bot/core/src";
const AGENT: &str = "shared/agent/src";

/// A folder, a file in it, and the expressions with which it hands the text on.
const HOPS: [(&str, &str, &[&str]); 15] = [
    (
        HTTP,
        "surfaces/ingress/routes.rs",
        &["Route::all(ars_wire::ingress::ROUTE, post)"],
    ),
    (
        HTTP,
        "surfaces/ingress/post.rs",
        &[
            "read_body(stream",
            "body::parse(&bytes)",
            "message(Ingress::Http",
            ".dispatch(",
        ],
    ),
    (HTTP, "server/body.rs", &["collected.to_bytes()"]),
    (
        HTTP,
        "surfaces/ingress/body.rs",
        &["Address::parse(&fields)"],
    ),
    (HTTP, "surfaces/ingress/message.rs", &["IncomingMessage {"]),
    (
        CORE,
        "facade/core.rs",
        &["dispatch::dispatch(&self.context, message"],
    ),
    (
        CORE,
        "dispatch/pipeline.rs",
        &[
            "parse(context, request)",
            "lifecycle::start(context, request",
        ],
    ),
    (
        CORE,
        "request/parse.rs",
        &["directives::parse(&request.message.text)"],
    ),
    (CORE, "request/directives.rs", &["ParsedDirectives {"]),
    (
        CORE,
        "lifecycle/start.rs",
        &[
            "initial_conversation(",
            "StartFrom::Conversation(conversation)",
        ],
    ),
    (CORE, "lifecycle/drive.rs", &["driver.run(conversation)"]),
    (
        CORE,
        "run/driver.rs",
        &["Loop::new(self.prepared.spec.budget, conversation"],
    ),
    (
        CORE,
        "run/model_calls.rs",
        &["turns: state.agent_loop.turns()"],
    ),
    (
        AGENT,
        "run_loop.rs",
        &["Conversation::new(turns)", "self.conversation.shown()"],
    ),
    (AGENT, "context/conversation.rs", &["shown: turns"]),
];

/// Reports a hop that the code lacks, and a list that differs from the hops.
pub fn check(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for (folder, file, expressions) in HOPS {
        let path = format!("{folder}/{file}");
        let text = tree.text(&path).unwrap_or_default();
        let missing = expressions
            .iter()
            .filter(|expression| !text.contains(*expression));
        found.extend(
            missing
                .map(|expression| format!("{path}: the text is not handed on by `{expression}`")),
        );
    }
    let listed = listed(tree.text(DOCUMENT).unwrap_or_default());
    let expected: BTreeSet<String> = HOPS
        .iter()
        .map(|(folder, file, _)| format!("{folder}/{file}"))
        .collect();
    let differing = listed.symmetric_difference(&expected);
    found.extend(
        differing
            .map(|path| format!("{DOCUMENT}: the list of files and the hops differ in {path}")),
    );
    if listed.len() > MAX_FILES {
        found.push(format!(
            "{DOCUMENT}: {} files, the limit is {MAX_FILES}",
            listed.len()
        ));
    }
    found
}

/// Returns the listed files. A folder precedes its files.
fn listed(document: &str) -> BTreeSet<String> {
    let [first, last] = LIST;
    let after = document.split_once(first).map_or("", |(_, after)| after);
    let list = after.split_once(last).map_or(after, |(list, _)| list);
    let (mut folder, mut files) = ("", BTreeSet::new());
    // The pattern is constant.
    let quoted = Regex::new("`([^`]+)`").unwrap_or_else(|error| panic!("{error}"));
    for captures in quoted.captures_iter(list) {
        match captures.get(1).map_or("", |name| name.as_str()) {
            file if file.ends_with(".rs") => drop(files.insert(format!("{folder}/{file}"))),
            named => folder = named,
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::planted;

    #[test]
    fn missing_hop_and_missing_file_are_reported() {
        let list = format!(
            "{} in `{HTTP}` `surfaces/ingress/routes.rs` and `other.rs`. {}",
            LIST[0], LIST[1]
        );
        let routes = format!("{HTTP}/surfaces/ingress/routes.rs");
        let tree = planted(&[
            (DOCUMENT, list.as_str()),
            (
                routes.as_str(),
                "//! Route::all(ars_wire::ingress::ROUTE, post)\n",
            ),
        ]);
        let found = check(&tree);
        assert!(
            !found.iter().any(|line| line.contains("routes.rs")),
            "{found:?}"
        );
        assert!(
            found
                .iter()
                .any(|line| line.contains("differ in containers/bot/http/src/other.rs")),
            "{found:?}"
        );
        assert!(
            found
                .iter()
                .any(|line| line.starts_with("containers/bot/core/src/facade/core.rs: ")),
            "{found:?}"
        );
    }
}
