//! The questions of a restart, each between two things that are awaited.

use ars_container::{Answer, restart};
use ars_platform::Response;
use ars_wire::admin::{AUTHORIZE_ROUTE, SUBJECT_HEADER, subject_header};

use crate::request::response;

/// Who calls, or the answer.
pub type Caller = Result<String, Response>;
/// Whether the caller insists, or the answer.
pub type Force = Result<bool, Response>;

/// Who calls.
pub fn restart_caller(method: &str, authorization: Option<&str>, tokens: Option<&str>) -> Caller {
    restart::caller(method, authorization, tokens).map_err(told)
}

/// Whether they insist. No body is one that was too long, or broke off.
pub fn restart_force(body: Option<&[u8]>) -> Force {
    restart::forced(body).map_err(told)
}

/// The answer while nothing runs that could be asked about them.
pub fn restart_without_bot(subject: &str, tokens: Option<&str>) -> Response {
    response(&restart::without_bot(subject, tokens))
}

/// What the bot is asked about them, a line each: the path, the header, its value.
pub fn restart_question(subject: &str) -> String {
    [AUTHORIZE_ROUTE, SUBJECT_HEADER, &subject_header(subject)].join("\n")
}

/// The answer when the bot does not plainly give leave.
pub fn restart_refusal(subject: &str, status: Option<u16>, body: Option<&[u8]>) -> Option<Response> {
    restart::authorized(subject, status.zip(body)).err().map(told)
}

/// The answer about a bot that the edge did not start: the refusal it would get, or that it is not ours to stop.
pub fn restart_elsewhere(force: bool, status: Option<u16>, body: Option<&[u8]>) -> Response {
    let refused = restart::decide(force, status.zip(body)).err();
    response(&refused.unwrap_or_else(restart::not_ours))
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that `map_err` takes")]
fn told(answer: Answer) -> Response {
    response(&answer)
}
