//! Checks that the Worker makes on a caller before it asks the object.
//!
//! Only with a container, which has this deployment's tokens. A bot on a developer's machine has
//! its own tokens, and nothing is started for it.

use ars_platform::{header_of, path_of, text_binding};
use ars_proxy::caller;
use worker::{
    Env,
    web_sys::{Request, Response},
};

use crate::{
    object::is_native,
    policy::TOKENS,
    proxy::{drain_caller_body, response},
};

/// Returns the answer to a rejected request, or `None` if method and bearer are accepted.
pub async fn rejected(request: &Request, env: &Env) -> Option<Response> {
    if is_native(env) {
        return None;
    }
    let url = request.url();
    let authorization = header_of(&request.headers(), "authorization");
    let tokens = text_binding(env, TOKENS);
    let refusal = caller::refusal(
        path_of(&url),
        &request.method(),
        authorization.as_deref(),
        tokens.as_deref(),
    )?;
    drain_caller_body(request).await;
    Some(response(&refusal))
}
