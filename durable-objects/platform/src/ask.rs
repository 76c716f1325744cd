//! A Worker's side: asks the object of a name.

use worker::{Env, Response, Result};

use crate::request::post;

/// Posts a body to an object. An error means that the object could not be reached or broke down.
pub async fn ask(env: &Env, binding: &str, name: &str, path: &str, body: &[u8]) -> Result<Response> {
    let object = env.durable_object(binding)?.get_by_name(name)?;
    object.fetch_with_request(post(path, body)?).await
}
