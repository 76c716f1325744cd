//! A request on its way through: what is taken from it, and what is answered in the bot's place.

use ars_edge::{Answer, environment as names, headers, lifecycle};
use ars_platform::{Response, json, json_with, path_of, refuse};
use ars_wire::admin::RESTART_ROUTE;
use serde_json::{Map, Value};

/// Whether the edge itself answers this address.
pub fn is_restart(url: &str) -> bool {
    path_of(url) == RESTART_ROUTE
}

/// One line with the trace that the bot is given, and one with each of `names` (a line each) that does not pass.
pub fn pass(names: &str, connection: Option<&str>, random: &[u8]) -> String {
    let mut bytes = [0; headers::TRACE_BYTES];
    bytes.iter_mut().zip(random).for_each(|(byte, random)| *byte = *random);
    let mut lines = vec![headers::traceparent(bytes)];
    lines.extend(headers::stripped(names.lines(), connection).into_iter().map(str::to_owned));
    lines.join("\n")
}

/// Those of `names` (a line each) of an answer's headers that do not pass, a line each.
pub fn pass_back(names: &str, connection: Option<&str>) -> String {
    headers::stripped_of_answer(names.lines(), connection).join("\n")
}

/// The environment of a container that starts now, of the texts among a Worker's bindings; both as JSON objects.
pub fn environment(texts: &str) -> String {
    let texts: Map<String, Value> = serde_json::from_str(texts).unwrap_or_default();
    let texts = texts.iter().filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)));
    let environment: Map<String, Value> =
        names::of(texts).into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
    Value::Object(environment).to_string()
}

/// 503 of a bot that is not up.
pub fn unavailable(retry_after: i32) -> Response {
    response(&lifecycle::unavailable(retry_after.try_into().unwrap_or(lifecycle::SOON_S)))
}

/// The answer to a request that failed on its way.
pub fn broke_off(message: &str) -> Response {
    response(&lifecycle::broke_off(message))
}

/// The exit code that the failure of a watch tells of in words.
pub fn exit_code(message: &str) -> Option<i32> {
    lifecycle::exit_code(message)
}

/// 500 of a Worker that was given both a container and the address of a developer's bot, or neither.
pub fn misconfigured() -> Response {
    refuse(500, "this edge has no container, or has DEV_BOT_URL besides one: it passes nothing on")
}

/// An answer of the edge's own.
pub(crate) fn response(answer: &Answer) -> Response {
    match &answer.header {
        None => json(answer.status, &answer.body),
        Some((name, value)) => json_with(answer.status, &answer.body, name, value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_path_is_the_edges_own() {
        for url in ["https://bot.example/admin/restart", "http://127.0.0.1:1/admin/restart?x=1"] {
            assert!(is_restart(url), "{url}");
        }
        for url in [
            "https://bot.example/admin/restart/",
            "https://bot.example/admin/restart/authorize",
            "https://bot.example//admin/restart",
            "https://bot.example/admin/%72estart",
            "https://bot.example/?/admin/restart",
        ] {
            assert!(!is_restart(url), "{url}");
        }
    }

    #[test]
    fn a_request_gets_a_trace_and_loses_what_is_listed_after_it() {
        let passed = pass("accept\nx_ars_restart_subject\nx-mine", Some("X-Mine"), &[1; 24]);
        let lines: Vec<_> = passed.lines().collect();
        assert!(lines[0].starts_with("00-0101"), "{passed}");
        assert_eq!(lines[1..], ["x_ars_restart_subject", "x-mine"]);
    }

    #[test]
    fn a_container_gets_what_the_worker_has_of_the_names_and_no_binding() {
        let texts = r#"{"MEMORY_TOKEN":"m","OTHER_SECRET":"x","DEV_BOT_URL":"y","ARS_SECRET_LOCAL":"k"}"#;
        let environment: Value = serde_json::from_str(&environment(texts)).unwrap();
        let expected = serde_json::json!({"ARS_SECRET_LOCAL": "k", "MEMORY_TOKEN": "m", "PORT": "8080"});
        assert_eq!(environment, expected);
    }
}
