//! A Worker's side: picks the object a body is for and passes the body on.

use ars_platform::{post, refuse};
use ars_runs::store_key_of;
use worker::{Env, Response, Result};

use crate::Verb;

/// The namespace's name in the Worker's settings.
pub const BINDING: &str = "RUN_STORE";

/// Asks the object of the body's store. A body without a usable store key is refused here, since there is no
/// object to ask; an error means that the object could not be reached or broke down.
pub async fn ask(env: &Env, verb: Verb, body: &[u8]) -> Result<Response> {
    let Ok(text) = std::str::from_utf8(body) else { return refuse(400, "body must be UTF-8") };
    let key = match store_key_of(text) {
        Ok(key) => key,
        Err(refusal) => return refuse(refusal.status, &refusal.message),
    };
    let object = env.durable_object(BINDING)?.get_by_name(key.as_str())?;
    object.fetch_with_request(post(verb.path(), body)?).await
}
