//! Requests a live run to stop: `{ ok, ownerLive }`, or `{ ok: false }` if it is not live.
//!
//! The owner receives the request with its next heartbeat, with the actor. The last request wins.

use serde_json::{Value as Json, json};

use ars_sql::{Sql, Value};
use ars_store::{Refusal, StoreFailure, json::parse_body, request::required_run_id};
use ars_types::{StopMode, UnixMillis};

use super::answers::NOT_LIVE;
use crate::RunStore;

/// How an actor must look.
const ACTOR_RULE: &str =
    "must be {kind, id}, each 1 to 128 letters, digits, `:`, `@`, `.`, `_` or `-`";
/// Maximum length of a word in an actor.
const MAX_ACTOR_WORD: usize = 128;

impl<S: Sql> RunStore<S> {
    /// Handles a `/runs/stop` request.
    pub(crate) fn stop(&self, body: &str, now: UnixMillis) -> Result<String, StoreFailure> {
        let body = parse_body(body)?;
        let id = required_run_id(&body, "runId")?;
        let mode = body
            .get("mode")
            .and_then(Json::as_str)
            .and_then(StopMode::parse);
        let mode = mode.ok_or_else(|| Refusal::field("mode", "must be soft or hard"))?;
        let actor = body
            .get("actor")
            .filter(|actor| !actor.is_null())
            .map(actor)
            .transpose()?;
        // A repetition without an actor, such as from an older bot, keeps the first actor.
        let statement = "UPDATE live_runs SET stop = ?2, \
                         stop_actor = CASE WHEN stop IS ?2 THEN coalesce(?4, stop_actor) ELSE ?4 END \
                         WHERE run_id = ?1 RETURNING lease_until > ?3";
        let actor = actor.map_or(Value::Null, Value::from);
        let params = [
            Value::from(id.as_str()),
            Value::from(mode.as_str()),
            Value::from(now),
            actor,
        ];
        Ok(match self.sql().query(statement, &params)?.first() {
            Some(row) => format!(r#"{{"ok":true,"ownerLive":{}}}"#, row.integer(0)? == 1),
            None => NOT_LIVE.to_owned(),
        })
    }
}

/// Returns the actor's stored form, which the owner's note names.
fn actor(actor: &Json) -> Result<String, Refusal> {
    let word = |name: &str| {
        actor
            .get(name)
            .and_then(Json::as_str)
            .filter(|word| is_word(word))
    };
    match (word("kind"), word("id")) {
        (Some(kind), Some(id)) => Ok(json!({ "kind": kind, "id": id }).to_string()),
        _ => Err(Refusal::field("actor", ACTOR_RULE)),
    }
}

fn is_word(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b":@._-".contains(&byte);
    (1..=MAX_ACTOR_WORD).contains(&text.len()) && text.bytes().all(is_allowed)
}
