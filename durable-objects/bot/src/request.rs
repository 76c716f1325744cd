//! A request on its way through: what is taken from it, and what is answered in the bot's place.

use ars_container::{Answer, failure, lifecycle};
use ars_platform::{Response, json, json_with, path_of, refuse};
use ars_proxy::{environment as names, failure as answers, headers, local};
use ars_wire::admin::RESTART_ROUTE;
use serde_json::{Map, Value};

/// Where a request goes.
pub enum Way {
    /// To the edge itself: it asks for a restart.
    Restart,
    /// Back, with this answer.
    Refused(Response),
    /// On to the bot, with this trace instead of these of its headers; a line each.
    Passes(String),
}

/// Where a request to this address goes. `names` are its headers', a line each; before a developer's bot, which is no
/// container, it must name this machine.
pub fn way(url: &str, is_native: bool, names: &str, connection: Option<&str>, random: &[u8]) -> Way {
    let refused = if is_native { local::refusal(url) } else { None };
    match refused {
        Some(refusal) => Way::Refused(response(&refusal)),
        None if is_restart(url) => Way::Restart,
        None => Way::Passes(pass(names, connection, random)),
    }
}

fn is_restart(url: &str) -> bool {
    path_of(url) == RESTART_ROUTE
}

fn pass(names: &str, connection: Option<&str>, random: &[u8]) -> String {
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
    response(&answers::unavailable(retry_after.try_into().unwrap_or(lifecycle::RETRY_AFTER_S)))
}

/// The answer to a request that failed on its way.
pub fn connection_lost(message: &str) -> Response {
    response(&answers::connection_lost(message))
}

/// Whether the failure of a request says that nobody is there to take it.
pub fn is_unreachable(message: &str) -> bool {
    failure::is_unreachable(message)
}

/// The exit code that the failure of a watch tells of in words.
pub fn exit_code(message: &str) -> Option<i32> {
    failure::exit_code(message)
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
    fn before_a_developers_bot_a_name_of_another_machine_leads_nowhere() {
        let goes = |url, is_native| match way(url, is_native, "accept", None, &[1; 24]) {
            Way::Restart => "restart",
            Way::Refused(_) => "back",
            Way::Passes(_) => "on",
        };
        assert_eq!(goes("http://localhost:1/runs", true), "on");
        assert_eq!(goes("http://localhost:1/admin/restart", true), "restart");
        assert_eq!(goes("https://bot.example/runs", false), "on");
        assert_eq!(goes("https://bot.example/admin/restart", false), "restart");
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
