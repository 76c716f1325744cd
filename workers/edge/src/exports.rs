//! The functions that `entry.js`, `container.js` and those beside it call between what they await.
#![expect(clippy::needless_pass_by_value, reason = "what wasm-bindgen makes of a text that may be missing")]

use ars_do_bot as bot;
use ars_platform::Response;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

/// The namespace's binding and the object's name, a line each.
#[wasm_bindgen]
pub fn object() -> String {
    [bot::BINDING, bot::NAME].join("\n")
}

/// The bot's port inside of its container.
#[wasm_bindgen]
pub fn port() -> u16 {
    bot::PORT
}

/// Most bytes that the edge reads of an answer of the bot's.
#[wasm_bindgen]
pub fn answer_limit() -> usize {
    bot::ANSWER_LIMIT
}

/// Most bytes of a restart's body.
#[wasm_bindgen]
pub fn restart_body_limit() -> usize {
    bot::BODY_LIMIT
}

/// Where a request goes: the trace that the bot is given and which headers do not pass, a line each; or a refusal; or
/// nothing, when it asks the edge itself for a restart.
#[wasm_bindgen]
pub fn way(url: &str, is_native: bool, names: &str, connection: Option<String>, random: &[u8]) -> JsValue {
    match bot::way(url, is_native, names, connection.as_deref(), random) {
        bot::Way::Restart => JsValue::UNDEFINED,
        bot::Way::Refused(refusal) => refusal.into(),
        bot::Way::Passes(lines) => lines.into(),
    }
}

/// Which headers of an answer do not pass; a line each.
#[wasm_bindgen]
pub fn pass_back(names: &str, connection: Option<String>) -> String {
    bot::pass_back(names, connection.as_deref())
}

/// The environment of a container that starts now.
#[wasm_bindgen]
pub fn environment(texts: &str) -> String {
    bot::environment(texts)
}

/// 503 of a bot that is not up.
#[wasm_bindgen]
pub fn unavailable(retry_after: i32) -> Response {
    bot::unavailable(retry_after)
}

/// The answer to a request that failed on its way.
#[wasm_bindgen]
pub fn connection_lost(message: &str) -> Response {
    bot::connection_lost(message)
}

/// Whether the failure of a request says that nobody is there to take it.
#[wasm_bindgen]
pub fn is_unreachable(message: &str) -> bool {
    bot::is_unreachable(message)
}

/// The exit code that the failure of a watch tells of in words, if it does.
#[wasm_bindgen]
pub fn exit_code(message: &str) -> Option<i32> {
    bot::exit_code(message)
}

/// 500 of an edge that does not know where the bot is.
#[wasm_bindgen]
pub fn misconfigured() -> Response {
    bot::misconfigured()
}

/// The subject that wants a restart, or the refusal.
#[wasm_bindgen]
pub fn restart_caller(method: &str, authorization: Option<String>, tokens: Option<String>) -> JsValue {
    match bot::restart_caller(method, authorization.as_deref(), tokens.as_deref()) {
        Ok(subject) => subject.into(),
        Err(refusal) => refusal.into(),
    }
}

/// Whether a restart is forced, or the refusal.
#[wasm_bindgen]
pub fn restart_force(body: Option<Vec<u8>>) -> JsValue {
    match bot::restart_force(body.as_deref()) {
        Ok(force) => force.into(),
        Err(refusal) => refusal.into(),
    }
}

/// The answer while nothing runs that could be asked about a subject.
#[wasm_bindgen]
pub fn restart_without_bot(subject: &str, tokens: Option<String>) -> Response {
    bot::restart_without_bot(subject, tokens.as_deref())
}

/// Where and how the bot is asked about a subject, a line each.
#[wasm_bindgen]
pub fn restart_question(subject: &str) -> String {
    bot::restart_question(subject)
}

/// The refusal when the bot gave no leave.
#[wasm_bindgen]
pub fn restart_refusal(subject: &str, status: Option<u16>, body: Option<Vec<u8>>) -> Option<Response> {
    bot::restart_refusal(subject, status, body.as_deref())
}

/// The answer about a bot that the edge did not start.
#[wasm_bindgen]
pub fn restart_elsewhere(force: bool, status: Option<u16>, body: Option<Vec<u8>>) -> Response {
    bot::restart_elsewhere(force, status, body.as_deref())
}
