//! Who may restart the bot, and when (document 1 section 4.6, resident supplement 13).
//!
//! The questions of `POST /admin/restart` in their order, each a function over what was learned so far: who calls, with
//! which body, what the bot says about them, and what it says about itself. Whatever cannot be read refuses.
//! Not here: stopping and starting (`lifecycle`), and the bot's own decision (`containers/bot/http`).

use ars_auth::{
    TokenMap, bearer,
    gate::{self, Rejection, Rules},
};
use ars_wire::admin::{ACTION, Authorized, Failed, NotRunning, RestartRefused, Restarting};
use serde_json::Value;

use crate::Answer;

/// Most bytes of the body: room for `{"force":true}` and generous blanks.
pub const BODY_LIMIT: usize = 1024;
/// Most bytes that are read of an answer of the bot's.
pub const ANSWER_LIMIT: usize = 64 * 1024;
/// The largest count a JavaScript client can tell from its neighbours: nobody has more runs in flight.
const MOST_IN_FLIGHT: u64 = (1 << 53) - 1;
/// Longest reason of the bot's that is passed on.
const REASON_LIMIT: usize = 300;

/// Whom the head of a request comes from, or why it is refused. Nothing of the body is read before.
pub fn caller(method: &str, authorization: Option<&str>, tokens: Option<&str>) -> Result<String, Answer> {
    let tokens = TokenMap::parse(tokens).map;
    let head = gate::Head { method, presented: bearer(authorization), content_length: None };
    match gate::admit(&Rules::new(gate::order::RESTART, &tokens), &head) {
        Ok(admitted) => Ok(admitted.holder.subject.clone()),
        Err(Rejection::Method) => Err(Answer::failed(405, "POST only").with("allow", "POST")),
        Err(rejection) => Err(Answer::failed(rejection.code().http_status(), &rejection.to_string())),
    }
}

/// Whether the caller insists. `None` is a body that was too long, or broke off.
pub fn forced(body: Option<&[u8]>) -> Result<bool, Answer> {
    let refused = |what| Err(Answer::failed(400, what));
    let Some(body) = body else { return refused("the body must be empty or {\"force\"?: boolean}") };
    if body.is_empty() {
        return Ok(false);
    }
    let Ok(Value::Object(fields)) = serde_json::from_slice(body) else {
        return refused("the body must be empty or {\"force\"?: boolean}");
    };
    if fields.keys().any(|name| name != "force") {
        return refused("the body may hold force and nothing else");
    }
    match fields.get("force") {
        None => Ok(false),
        Some(Value::Bool(force)) => Ok(*force),
        Some(_) => refused("force must be a boolean"),
    }
}

/// The answer while there is no bot to ask, by the edge's own map: 200 to a subject of which every token holds
/// `deploy:write`, as the bot has it of whom it is asked about.
///
/// Whom the configuration grants it cannot be told from a stranger here: only the bot reads it. So they are refused too,
/// and the refusal says what it rests on. Nothing is lost by it: there is nothing to stop, and the next request starts
/// the bot with the environment of then anyway.
pub fn without_bot(subject: &str, tokens: Option<&str>) -> Answer {
    let tokens = TokenMap::parse(tokens).map;
    let mut known = tokens.entries_of(subject).peekable();
    if known.peek().is_some() && known.all(|entry| entry.has_scope(ACTION)) {
        return not_running();
    }
    let why = "some token of this subject lacks deploy:write, and the bot, which knows of other grants, is not running";
    Answer::failed(403, why)
}

/// Passes when the bot says that `subject` may. `answer` is its status and body, none when it gave none.
pub fn authorized(subject: &str, answer: Option<(u16, &[u8])>) -> Result<(), Answer> {
    let unreadable = "the bot's leave could not be read";
    let Some((status, body)) = answer else { return Err(Answer::failed(503, unreadable)) };
    match status {
        200 => match serde_json::from_slice::<Authorized>(body) {
            Ok(leave) if leave.ok && leave.subject == subject => Ok(()),
            _ => Err(Answer::failed(503, unreadable)),
        },
        401 | 403 | 503 => Err(Answer::failed(status, &reason(body).unwrap_or_else(|| "refused".to_owned()))),
        _ => Err(Answer::failed(503, unreadable)),
    }
}

/// What a restart begins with, or why it does not. `health` is the status and the body of the bot's probe.
pub fn decide(force: bool, health: Option<(u16, &[u8])>) -> Result<Restarting, Answer> {
    let seen = health.and_then(|(status, body)| Seen::read(status, body));
    let problems = match &seen {
        None => vec!["the bot's health could not be read".to_owned()],
        Some(seen) => seen.problems(),
    };
    if !force && !problems.is_empty() {
        return Err(Answer::of(409, &RestartRefused { ok: false, refused: true, problems }));
    }
    Ok(Restarting {
        ok: true,
        stopping: true,
        forced: force,
        in_flight: seen.as_ref().map(|seen| seen.in_flight),
        previous_started_at: seen.map(|seen| seen.started_at),
    })
}

/// 202 of a restart that has begun.
pub fn begun(restarting: &Restarting) -> Answer {
    Answer::of(202, restarting)
}

/// 200 of a restart for which there was nothing to stop.
pub fn not_running() -> Answer {
    let note = "the bot is not running; the next request starts it with the current environment";
    Answer::of(200, &NotRunning { ok: true, stopping: false, note: note.to_owned() })
}

/// 503 of a bot that the edge did not start, which only a developer's machine has.
pub fn not_ours() -> Answer {
    Answer::failed(503, "this bot was not started by the edge")
}

/// What the probe says of a bot that may or may not be stopped now.
struct Seen {
    in_flight: u64,
    draining: bool,
    started_at: String,
}

impl Seen {
    /// Reads the three fields alone: a bot of another version may say more or less besides. A count that is negative,
    /// broken or beyond reason makes the whole unreadable.
    fn read(status: u16, body: &[u8]) -> Option<Self> {
        let body: Value = serde_json::from_slice(body).ok().filter(|_| status == 200)?;
        let in_flight = body.get("inFlight")?.as_u64().filter(|count| *count <= MOST_IN_FLIGHT)?;
        let draining = body.get("draining")?.as_bool()?;
        let started_at = body.get("startedAt")?.as_str()?.to_owned();
        (body.get("ok")? == &Value::Bool(true)).then_some(Self { in_flight, draining, started_at })
    }

    fn problems(&self) -> Vec<String> {
        let in_flight = match self.in_flight {
            0 => None,
            1 => Some("1 run is in flight".to_owned()),
            count => Some(format!("{count} runs are in flight")),
        };
        let draining = self.draining.then(|| "the bot is draining already".to_owned());
        in_flight.into_iter().chain(draining).collect()
    }
}

/// The bot's own words for a refusal.
fn reason(body: &[u8]) -> Option<String> {
    let failed: Failed = serde_json::from_slice(body).ok()?;
    Some(failed.error.chars().take(REASON_LIMIT).collect())
}

#[cfg(test)]
#[path = "restart_tests.rs"]
mod tests;
