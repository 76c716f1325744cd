//! Decides `POST /admin/restart`, in order: caller, body, the bot's authorization and health.
//!
//! Whatever cannot be read is refused. Not here: stopping and starting (`lifecycle`), the bot's own
//! decision (`containers/bot/http`).

use ars_auth::{
    Surface, TokenMap, bearer,
    gate::{self, Rules},
};
use ars_wire::admin::{ACTION, Authorized, Failed, NotRunning, RestartRefused, Restarting};
use serde_json::Value;

use crate::Answer;

/// Limit for the request body, in bytes.
pub const BODY_LIMIT: usize = 1024;
/// Limit for a response from the bot, in bytes.
pub const ANSWER_LIMIT: usize = 64 * 1024;
/// Largest plausible number of runs in flight: the largest integer that JavaScript holds exactly.
const MOST_IN_FLIGHT: u64 = (1 << 53) - 1;
/// Limit for a relayed reason, in characters.
const REASON_LIMIT: usize = 300;

/// Returns the caller's subject, by the request head alone.
pub fn caller(
    method: &str,
    authorization: Option<&str>,
    tokens: Option<&str>,
) -> Result<String, Answer> {
    let tokens = TokenMap::parse(tokens).map;
    let head = gate::Head {
        method,
        presented: bearer(authorization),
        content_length: None,
    };
    match gate::admit(&Rules::new(gate::order::EDGE, &tokens), &head) {
        Ok(admitted) => Ok(admitted.holder.subject.clone()),
        Err(rejection) => Err(Surface::Admin.rejected(rejection).into()),
    }
}

/// Returns the body's `force`. `None` is a body that was too long or incomplete.
pub fn forced(body: Option<&[u8]>) -> Result<bool, Answer> {
    let refused = |what| Err(Answer::failed(400, what));
    let Some(body) = body else {
        return refused("the body must be empty or {\"force\"?: boolean}");
    };
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

/// Returns the response while no bot runs: 200 if all the subject's tokens have `deploy:write`.
///
/// Configured grants are unknown here, because only the bot reads the configuration. Their holders
/// are refused, and the text gives the reason. There is nothing to stop, and the next request
/// starts the bot with the current environment anyway.
pub fn without_bot(subject: &str, tokens: Option<&str>) -> Answer {
    let tokens = TokenMap::parse(tokens).map;
    let mut known = tokens.entries_of(subject).peekable();
    if known.peek().is_some() && known.all(|entry| entry.has_scope(ACTION)) {
        return not_running();
    }
    let why = "some token of this subject lacks deploy:write, and the bot, which knows of other grants, is not running";
    Answer::failed(403, why)
}

/// Accepts the bot's authorization of `subject`. `answer` is the response's status and body, if
/// any.
pub fn authorized(subject: &str, answer: Option<(u16, &[u8])>) -> Result<(), Answer> {
    let unreadable = "the bot's leave could not be read";
    let Some((status, body)) = answer else {
        return Err(Answer::failed(503, unreadable));
    };
    match status {
        200 => match serde_json::from_slice::<Authorized>(body) {
            Ok(leave) if leave.ok && leave.subject == subject => Ok(()),
            _ => Err(Answer::failed(503, unreadable)),
        },
        401 | 403 | 503 => Err(Answer::failed(
            status,
            &reason(body).unwrap_or_else(|| "refused".to_owned()),
        )),
        _ => Err(Answer::failed(503, unreadable)),
    }
}

/// Decides about the restart by the status and body of the bot's health response.
pub fn decide(force: bool, health: Option<(u16, &[u8])>) -> Result<Restarting, Answer> {
    let seen = health.and_then(|(status, body)| Seen::read(status, body));
    let problems = match &seen {
        None => vec!["the bot's health could not be read".to_owned()],
        Some(seen) => seen.problems(),
    };
    if !force && !problems.is_empty() {
        return Err(Answer::json(
            409,
            &RestartRefused {
                ok: false,
                refused: true,
                problems,
            },
        ));
    }
    Ok(Restarting {
        ok: true,
        stopping: true,
        forced: force,
        in_flight: seen.as_ref().map(|seen| seen.in_flight),
        previous_started_at: seen.map(|seen| seen.started_at),
    })
}

/// Returns 202 for a restart that began.
pub fn begun(restarting: &Restarting) -> Answer {
    Answer::json(202, restarting)
}

/// Returns 200 for a restart without a running bot.
pub fn not_running() -> Answer {
    let note = "the bot is not running; the next request starts it with the current environment";
    Answer::json(
        200,
        &NotRunning {
            ok: true,
            stopping: false,
            note: note.to_owned(),
        },
    )
}

/// Returns 503 for a bot on a developer's machine, which the edge did not start.
pub fn not_ours() -> Answer {
    Answer::failed(503, "this bot was not started by the edge")
}

/// The health that decides whether the bot may be stopped.
struct Seen {
    in_flight: u64,
    draining: bool,
    started_at: String,
}

impl Seen {
    /// Reads these three fields only, because other bot versions may have others. An impossible
    /// count makes the health unreadable.
    fn read(status: u16, body: &[u8]) -> Option<Self> {
        let body: Value = serde_json::from_slice(body)
            .ok()
            .filter(|_| status == 200)?;
        let in_flight = body
            .get("inFlight")?
            .as_u64()
            .filter(|count| *count <= MOST_IN_FLIGHT)?;
        let draining = body.get("draining")?.as_bool()?;
        let started_at = body.get("startedAt")?.as_str()?.to_owned();
        (body.get("ok")? == &Value::Bool(true)).then_some(Self {
            in_flight,
            draining,
            started_at,
        })
    }

    fn problems(&self) -> Vec<String> {
        let in_flight = match self.in_flight {
            0 => None,
            1 => Some("1 run is in flight".to_owned()),
            count => Some(format!("{count} runs are in flight")),
        };
        let draining = self
            .draining
            .then(|| "the bot is draining already".to_owned());
        in_flight.into_iter().chain(draining).collect()
    }
}

/// Returns the bot's reason for a refusal.
fn reason(body: &[u8]) -> Option<String> {
    let failed: Failed = serde_json::from_slice(body).ok()?;
    Some(failed.error.chars().take(REASON_LIMIT).collect())
}

#[cfg(test)]
#[path = "restart_tests.rs"]
mod tests;
