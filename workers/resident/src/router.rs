//! Takes a request to the object: compares the bearer, checks the fields, and does the work.

use ars_auth::{
    gate::{self, Head, HeldSecrets, Rules},
    strict_bearer,
};
use ars_do_resident::{Envelope, RESIDENT_BINDING, STREAM_PATH};
use ars_platform::{
    INTERNAL_BODY, drain_body, forward, header_of, json, path_of, query_of, read_within, refuse,
    request_of, text_binding,
};
use ars_resident::wire::Credential;
use ars_resident_engine::fleet::{Admitted, Request as Checked, Work, perform, prepare};
use worker::{
    Env, console_error,
    web_sys::{Request, Response},
};

use crate::fleet::WorkerFleet;

/// The secrets, in the order in which they are compared.
const SECRETS: [(&str, Credential); 3] = [
    ("RESIDENT_ADMIN_TOKEN", Credential::Admin),
    ("RESIDENT_OPERATOR_TOKEN", Credential::Operator),
    ("RESIDENT_READ_TOKEN", Credential::Read),
];
/// Maximum body size in bytes: a write's largest content as escaped JSON, with the names.
const BODY_MAX_BYTES: usize = 7 << 20;
/// Timeout for a body in milliseconds.
const BODY_MS: f64 = 30_000.0;
/// Maximum bytes drained from a rejected body.
const DRAIN_BYTES: usize = 64 << 10;
/// Timeout for a drain in milliseconds.
const DRAIN_MS: f64 = 1_000.0;

/// Answers a routed request.
pub async fn answer(request: &Request, env: &Env) -> Response {
    let (url, method) = (request.url(), request.method());
    let (path, credential) = (path_of(&url), credential_of(request, env));
    // When the head rejects a request, the body is not read.
    let admitted = match Admitted::admit(path, &method, credential) {
        Ok(admitted) => admitted,
        Err(reply) => {
            drain_body(request, DRAIN_BYTES, DRAIN_MS).await;
            return json(reply.status, &reply.body.to_string());
        }
    };
    let Some(body) = read_within(request.body(), BODY_MAX_BYTES, BODY_MS).await else {
        return refuse(
            413,
            &format!("the body must arrive whole and have at most {BODY_MAX_BYTES} bytes"),
        );
    };
    let body = String::from_utf8_lossy(&body);
    let resource = query_of(&url, "resource");
    let fleet = WorkerFleet::new(env);
    let checked = Checked {
        admitted,
        resource: resource.as_deref(),
        body: &body,
    };
    match prepare(&fleet, checked).await {
        Err(reply) => json(reply.status, &reply.body.to_string()),
        Ok(Work::Object { resource, call }) if call.is_streamed() => {
            let call = *call;
            stream(env, Envelope { resource, call }).await
        }
        Ok(work) => {
            let reply = perform(&fleet, work).await;
            json(reply.status, &reply.body.to_string())
        }
    }
}

/// Returns the credential that a request presents.
fn credential_of(request: &Request, env: &Env) -> Credential {
    let secrets = SECRETS.map(|(name, credential)| (text_binding(env, name), credential));
    let secrets = HeldSecrets::parse(secrets);
    let header = header_of(&request.headers(), "authorization");
    let head = Head {
        presented: header.as_deref().and_then(strict_bearer),
        ..Head::default()
    };
    match gate::admit(&Rules::new(gate::order::RESIDENT, &secrets), &head) {
        Ok(admitted) => *admitted.holder,
        // The rejection depends on the route, which the fleet checks.
        Err(_) => Credential::None,
    }
}

/// Passes the object's stream on. The work runs to the end if the caller disconnects, except a
/// command.
async fn stream(env: &Env, envelope: Envelope) -> Response {
    let streamed = async {
        let document = serde_json::to_string(&envelope).map_err(|error| error.to_string())?;
        forward(
            env,
            RESIDENT_BINDING,
            envelope.resource.as_str(),
            &request_of(STREAM_PATH, &document)?,
        )
        .await
    };
    streamed.await.unwrap_or_else(|cause| {
        console_error!("fault: a resident did not answer: {cause}");
        json(500, INTERNAL_BODY)
    })
}
