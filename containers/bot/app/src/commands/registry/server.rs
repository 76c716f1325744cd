//! An invocation on a running service, over `/api` (docs/reference/cli.md).

use std::time::Duration;

use anyhow::{Context as _, anyhow};
use ars_auth::Secret;
use ars_bot_adapters::residents::ANSWER_TIMEOUT;
use ars_bot_core::commands::text_of;
use ars_bot_ports::Clock as _;
use ars_commands::{Capability, Definition, RawInput};
use ars_wire::{
    ErrorCode,
    idempotency::HEADER,
    ingress::{Accepted, RESPOND_ASYNC, ROUTE, Reply},
};
use reqwest::{Client, RequestBuilder, Response, StatusCode, Url, header};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Invocation, output::Output};
use crate::{
    clock::SystemClock,
    commands::Failure,
    config::MAX_ABRIDGER_TIMEOUT,
    environment::{self, name},
    stores::is_private,
};

/// Timeout for a command on a service that answers from the stores.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(60);
/// Time that any other command's response may need beyond the service's own work limit.
const ANSWER_MARGIN: Duration = Duration::from_secs(30);
/// Timeout for connecting to a service.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How to fix a caller that a service's gate rejects.
const SET_TOKEN: &str = "set ARS_TOKEN to a token that the service accepts";

/// The error from a service that takes no requests at all.
const DISABLED: &str = "disabled";

/// A running service, and the token that it accepts.
pub struct Server {
    base: String,
    token: Option<Secret>,
    client: Client,
}

/// An error's body. Ingress errors may have no code.
#[derive(Deserialize)]
struct ErrorBody {
    error: String,
    code: Option<String>,
    detail: Option<String>,
}

/// Header with a request's preferences.
const PREFER: &str = "prefer";

/// What a request for an agent waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// Until the run is created.
    Run,
    /// Until the answer arrives.
    Answer,
}

/// The answer to a request for an agent.
#[derive(Debug)]
pub enum Dispatched {
    /// The run was created.
    Accepted(Accepted),
    /// The request has ended.
    Ended(Reply),
}

impl Server {
    /// Returns the service at an address, with the environment's token.
    ///
    /// # Errors
    ///
    /// The address is invalid, or a token would be sent to it without encryption.
    pub fn at(url: &str) -> Result<Self, Failure> {
        let invalid = |rule: &str| Failure::InvalidInput(format!("--server {rule}"));
        let parsed = Url::parse(url)
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https"));
        let parsed = parsed
            .ok_or_else(|| invalid("must be the address of a service, such as https://host"))?;
        if parsed.query().is_some() || parsed.fragment().is_some() {
            return Err(invalid("must have neither a query nor a fragment"));
        }
        let token = Secret::parse(environment::variable(name::TOKEN));
        if token.is_some() && !is_private(url) {
            return Err(invalid(
                "must begin with https:// (http:// only for this machine) to get the token",
            ));
        }
        // A redirect could lead the token to another host.
        let client = Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT_TIMEOUT)
            .build()
            .context("the HTTP client")?;
        Ok(Self {
            base: url.trim_end_matches('/').to_owned(),
            token,
            client,
        })
    }

    /// Invokes a command. The input is validated here too, with the service's texts.
    pub(super) async fn invoke(&self, invocation: &Invocation) -> Result<Output, Failure> {
        let definition = invocation.definition;
        let input = definition
            .validate(&RawInput::Tokens(invocation.words.clone()))
            .map_err(|error| Failure::InvalidInput(error.to_string()))?;
        let input: Map<String, Value> = input.into()?;
        let timeout = timeout_of(definition);
        let json = self
            .post(definition.id, &Value::Object(input), timeout)
            .await?;
        let value: Value = serde_json::from_str(&json)
            .map_err(|_| Failure::Unavailable(anyhow!("the service answered without JSON")))?;
        // Another service version may have another output.
        let text = match text_of(definition.id, &json, SystemClock.now()) {
            Some(text) => text,
            None => serde_json::to_string_pretty(&value)?,
        };
        Ok(Output::new(json, &text))
    }

    /// Invokes a command that answers from the stores. Returns the output as JSON.
    pub async fn query(&self, command: &str, input: &Value) -> Result<String, Failure> {
        self.post(command, input, COMMAND_TIMEOUT).await
    }

    /// Returns an error unless a service is at the address.
    pub async fn is_there(&self) -> Result<(), Failure> {
        let json = self.get("/healthz").await?;
        let health: Value = serde_json::from_str(&json).unwrap_or_default();
        let stranger =
            || Failure::Unavailable(anyhow!("no service of this kind is at the address"));
        health["ok"].as_bool().map(drop).ok_or_else(stranger)
    }

    /// Returns an error unless the token may start runs. The empty request starts none.
    pub async fn accepts_requests(&self) -> Result<(), Failure> {
        let url = format!("{}{ROUTE}", self.base);
        let request = self
            .with_token(self.client.post(url))
            .timeout(COMMAND_TIMEOUT)
            .body("{}");
        let response = request.send().await.map_err(unreachable)?;
        match response.status() {
            // The body is looked at last.
            StatusCode::BAD_REQUEST => Ok(()),
            _ => Err(failure_of(response).await),
        }
    }

    /// Returns an error unless the token passes the command routes' gate.
    pub async fn accepts_commands(&self) -> Result<(), Failure> {
        self.get("/api/openapi.json").await.map(drop)
    }

    async fn get(&self, path: &str) -> Result<String, Failure> {
        let request = self.with_token(self.client.get(format!("{}{path}", self.base)));
        let response = request
            .timeout(COMMAND_TIMEOUT)
            .send()
            .await
            .map_err(unreachable)?;
        if !response.status().is_success() {
            return Err(failure_of(response).await);
        }
        response.text().await.map_err(unreachable)
    }

    /// Sends a request for an agent. A request with a known key returns the first request's run or
    /// answer.
    pub async fn dispatch(&self, body: &str, key: &str, wait: Wait) -> Result<Dispatched, Failure> {
        let request = self.with_token(self.client.post(format!("{}{ROUTE}", self.base)));
        let request = request
            .header(HEADER, key)
            .header(header::CONTENT_TYPE, "application/json");
        let request = match wait {
            Wait::Run => request.header(PREFER, RESPOND_ASYNC),
            Wait::Answer => request,
        };
        let response = request
            .body(body.to_owned())
            .send()
            .await
            .map_err(unreachable)?;
        let status = response.status();
        if !status.is_success() {
            return Err(failure_of(response).await);
        }
        let json = response.text().await.map_err(unreachable)?;
        let read = match status {
            StatusCode::ACCEPTED => serde_json::from_str(&json).map(Dispatched::Accepted),
            _ => serde_json::from_str(&json).map(Dispatched::Ended),
        };
        read.map_err(|error| {
            Failure::Unavailable(anyhow!(error).context("the service's answer is invalid"))
        })
    }

    /// Invokes a command with this input. Returns the output as JSON.
    async fn post(
        &self,
        command: &str,
        input: &Value,
        timeout: Duration,
    ) -> Result<String, Failure> {
        let url = format!("{}/api/{command}", self.base);
        let request = self
            .with_token(self.client.post(url))
            .timeout(timeout)
            .header(header::CONTENT_TYPE, "application/json")
            .body(input.to_string());
        let response = request.send().await.map_err(unreachable)?;
        if !response.status().is_success() {
            return Err(failure_of(response).await);
        }
        response.text().await.map_err(unreachable)
    }

    fn with_token(&self, request: RequestBuilder) -> RequestBuilder {
        match &self.token {
            Some(token) => request.bearer_auth(token.expose()),
            None => request,
        }
    }
}

/// Returns a command's timeout: above the service's own limit for the work.
const fn timeout_of(definition: &Definition) -> Duration {
    match definition.capability {
        Some(Capability::Residents | Capability::CodeHost) => {
            ANSWER_TIMEOUT.saturating_add(ANSWER_MARGIN)
        }
        Some(Capability::Abridger) => MAX_ABRIDGER_TIMEOUT.saturating_add(ANSWER_MARGIN),
        Some(Capability::Memory | Capability::Schedules) | None => COMMAND_TIMEOUT,
    }
}

fn unreachable(error: reqwest::Error) -> Failure {
    Failure::Unavailable(anyhow!(error.without_url()).context("the service could not be reached"))
}

/// Returns whether no connection was made, so that the service has not seen the request.
pub fn is_unconnected(failure: &Failure) -> bool {
    let Failure::Unavailable(error) = failure else {
        return false;
    };
    error
        .downcast_ref::<reqwest::Error>()
        .is_some_and(reqwest::Error::is_connect)
}

/// Returns the failure that an answer reports.
pub async fn failure_of(response: Response) -> Failure {
    let status = response.status();
    reported(status, &response.text().await.unwrap_or_default())
}

fn reported(status: StatusCode, body: &str) -> Failure {
    let body: Option<ErrorBody> = serde_json::from_str(body).ok();
    let code = body
        .as_ref()
        .and_then(|body| ErrorCode::parse(body.code.as_deref()?));
    let text = body.map(|ErrorBody { error, detail, .. }| {
        let text = detail.map_or_else(|| error.clone(), |detail| format!("{error}: {detail}"));
        ars_events::clean(&text, usize::MAX)
    });
    match (code, text) {
        // The gate's code. A caller that it admits and that lacks a permission gets another code.
        (Some(ErrorCode::Forbidden), Some(text)) => {
            Failure::Command(ErrorCode::Forbidden, format!("{text}: {SET_TOKEN}"))
        }
        (Some(code), Some(text)) => Failure::Command(code, text),
        (_, text) => {
            let reason = text
                .as_ref()
                .map(|text| format!(": {text}"))
                .unwrap_or_default();
            let answered = format!("the service answered {status}{reason}");
            match (status.as_u16(), text) {
                (400 | 413 | 422, Some(text)) => Failure::InvalidInput(text),
                (401 | 403, _) => {
                    Failure::Command(ErrorCode::Unauthorized, format!("{answered}: {SET_TOKEN}"))
                }
                // These do not pass with time.
                (404, _) => Failure::Command(ErrorCode::NotFound, answered),
                (409, _) => Failure::Conflict(answered),
                (_, Some(text)) if text.starts_with(DISABLED) => Failure::Refused(answered),
                _ => Failure::Unavailable(anyhow!(answered)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ars_bot_core::commands::catalogue;
    use ars_commands::Surface;
    use ars_resident::plan::OP_TIMEOUT_MS;

    use super::*;

    #[test]
    fn caller_waits_longer_than_an_operation() {
        let catalogue = catalogue();
        let timeout = |id| timeout_of(catalogue.get(id, Surface::Cli).unwrap());
        let operation = Duration::from_millis(OP_TIMEOUT_MS.unsigned_abs());
        for id in ["repo.test", "repo.build", "repo.onboard"] {
            assert!(timeout(id) > operation + ANSWER_MARGIN, "{id}");
        }
        assert!(timeout("review.abridge") > MAX_ABRIDGER_TIMEOUT);
        assert_eq!(timeout("runs.list"), COMMAND_TIMEOUT);
    }

    #[test]
    fn failure_that_stays_is_no_outage() {
        for (status, body, expected) in [
            (409, r#"{"error":"gone"}"#, ErrorCode::Conflict),
            (404, "nothing here", ErrorCode::NotFound),
            (401, "{}", ErrorCode::Unauthorized),
            (
                503,
                r#"{"error":"disabled","detail":"set it"}"#,
                ErrorCode::Refused,
            ),
            (503, r#"{"error":"busy"}"#, ErrorCode::Unavailable),
            (502, "", ErrorCode::Unavailable),
        ] {
            let failure = reported(StatusCode::from_u16(status).unwrap(), body);
            assert_eq!(
                failure.is_outage(),
                expected == ErrorCode::Unavailable,
                "{status} {body}"
            );
            assert_eq!(failure.code(), expected, "{status} {body}");
        }
    }
}
