//! Tool calls as every vendor accepts them back: within a turn, each has a unique id and a plain
//! name.
//!
//! A model or a server between chooses ids and names, and the next request repeats them. Not here:
//! arguments, which stay as they came until they are repeated (`conversation::object`).

use std::collections::HashSet;

use ars_agent::{ModelTurn, Part, ToolSpec, Turn};

/// Longest call id and name that both vendors accept, in bytes.
const WORD_MAX_BYTES: usize = 64;
/// Name for a call that has none.
const UNNAMED: &str = "unnamed";

/// Replaces ids that another call has, and parts that a vendor rejects in ids and names.
///
/// A changed name is not in `tools`, so the model reads that there is no such tool.
pub(super) fn normalise(turn: &mut ModelTurn, earlier: &[Turn], tools: &[ToolSpec]) {
    let parts = earlier.iter().flat_map(|turn| &turn.parts);
    let mut taken: HashSet<String> = parts.filter_map(id).map(str::to_owned).collect();
    // An id that is fine stays, wherever it stands.
    let own: HashSet<String> = turn
        .parts
        .iter()
        .filter_map(id)
        .map(str::to_owned)
        .collect();
    for part in &mut turn.parts {
        let Part::ToolCall { call_id, name, .. } = part else {
            continue;
        };
        if !is_word(call_id) || taken.contains(call_id) {
            let unused = (1..).map(|number| format!("call_{}_{number}", earlier.len()));
            let fresh = unused
                .into_iter()
                .find(|id| !taken.contains(id) && !own.contains(id));
            *call_id = fresh.unwrap_or_default();
        }
        taken.insert(call_id.clone());
        if !is_word(name) && tools.iter().all(|tool| tool.name != *name) {
            *name = plain(name, tools);
        }
    }
}

fn id(part: &Part) -> Option<&str> {
    match part {
        Part::ToolCall { call_id, .. } => Some(call_id),
        _ => None,
    }
}

fn is_word(text: &str) -> bool {
    (1..=WORD_MAX_BYTES).contains(&text.len()) && text.bytes().all(is_plain)
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

fn plain(name: &str, tools: &[ToolSpec]) -> String {
    let letters = name.chars().map(|c| {
        if c.is_ascii() && is_plain(c as u8) {
            c
        } else {
            '_'
        }
    });
    let plain: String = letters.take(WORD_MAX_BYTES).collect();
    match plain.as_str() {
        "" => UNNAMED.to_owned(),
        taken if tools.iter().any(|tool| tool.name == taken) => {
            let kept: String = taken
                .chars()
                .take(WORD_MAX_BYTES - "unknown_".len())
                .collect();
            format!("unknown_{kept}")
        }
        _ => plain,
    }
}

#[cfg(test)]
mod tests {
    use ars_agent::{Role, StopReason, Usage};
    use proptest::prelude::*;
    use serde_json::{Map, json};

    use super::*;

    fn turn(calls: &[(&str, &str)]) -> ModelTurn {
        let part = |(call_id, name): &(&str, &str)| Part::ToolCall {
            call_id: (*call_id).into(),
            name: (*name).into(),
            input: json!({}),
            extra: Map::new(),
        };
        let parts = calls.iter().map(part).collect();
        ModelTurn {
            parts,
            stop: StopReason::ToolUse,
            usage: Usage::default(),
        }
    }

    fn words(turn: &ModelTurn) -> Vec<(String, String)> {
        let word = |part: &Part| match part {
            Part::ToolCall { call_id, name, .. } => Some((call_id.clone(), name.clone())),
            _ => None,
        };
        turn.parts.iter().filter_map(word).collect()
    }

    fn tool(name: &str) -> ToolSpec {
        ToolSpec {
            name: name.into(),
            description: String::new(),
            input_schema: json!({}),
        }
    }

    #[test]
    fn ids_and_names_that_are_fine_stay() {
        let mut given = turn(&[("toolu_1", "read_file"), ("call-2", "mcp__a__b")]);
        let before = words(&given);
        normalise(&mut given, &[], &[tool("read_file")]);
        assert_eq!(words(&given), before);
        let long = "x".repeat(100);
        let mut given = turn(&[("a", &long)]);
        normalise(&mut given, &[], &[tool(&long)]);
        assert_eq!(
            words(&given)[0].1,
            long,
            "a tool that exists stays callable"
        );
    }

    #[test]
    fn repaired_name_is_no_tool() {
        let long = "x".repeat(200);
        let mut given = turn(&[("a", "read.file"), ("b", ""), ("c", &long), ("d", "größe")]);
        normalise(&mut given, &[], &[tool("read_file")]);
        let names: Vec<String> = words(&given).into_iter().map(|(_, name)| name).collect();
        assert_eq!(
            names,
            ["unknown_read_file", "unnamed", &long[..64], "gr__e"]
        );
    }

    proptest! {
        /// Whatever ids a model sends, in a turn or over several, the next request has each once.
        #[test]
        fn each_call_has_an_id_of_its_own(turns in prop::collection::vec(prop::collection::vec("(|x|call_[01]_1|a:b|é{40})", 1..4), 1..5)) {
            let (mut earlier, mut seen) = (Vec::new(), HashSet::new());
            for ids in turns {
                let calls: Vec<(&str, &str)> = ids.iter().map(|id| (id.as_str(), "bash")).collect();
                let mut given = turn(&calls);
                normalise(&mut given, &earlier, &[]);
                for (id, _) in words(&given) {
                    prop_assert!(is_word(&id) && seen.insert(id.clone()), "{id}");
                }
                earlier.push(Turn { role: Role::Assistant, parts: given.parts });
            }
        }
    }
}
