//! The transport as a service below octocrab.

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use ars_bot_ports::CodeHostError;
use ars_types::RepoSlug;
use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::{BodyExt as _, Full};
use octocrab::{AuthState, OctoBody, Octocrab, OctocrabBuilder};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tower::Service;

use super::{
    call::{Access, Call, GRAPHQL, Limit, MAX_HOST_ANSWER_BYTES, Operation, Scope, access_of},
    transport::{JSON, Transport},
};

/// The service. Cheap to clone.
#[derive(Clone)]
struct Sender(Arc<Transport>);

/// Octocrab above the transport. Its failures are those of the port.
pub(super) struct Client {
    octocrab: Octocrab,
    pub(super) transport: Arc<Transport>,
}

impl Service<Request<OctoBody>> for Sender {
    type Response = Response<Full<Bytes>>;
    type Error = CodeHostError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<OctoBody>) -> Self::Future {
        let transport = Arc::clone(&self.0);
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let named = parts.extensions.get::<NamedAccess>().cloned();
            let target = parts.uri.path_and_query().map_or_else(String::new, ToString::to_string);
            // A named request is a search, a query or an idempotent mutation.
            let is_repeatable = parts.method == Method::GET || named.is_some();
            let access = named
                .map(|one| one.0)
                .or_else(|| access_of(&parts.method, parts.uri.path()))
                .ok_or(CodeHostError::Unreadable)?;
            let body = body.collect().await.map_err(|_| CodeHostError::Unreadable)?.to_bytes();
            let limit = Limit::Whole(MAX_HOST_ANSWER_BYTES);
            let call =
                Call { method: parts.method, target, accept: JSON, body, access, limit, is_repeatable };
            let answer = transport.execute(&call).await?;
            let mut response = Response::new(Full::new(answer.body));
            *response.status_mut() = answer.status;
            Ok(response)
        })
    }
}

/// The access of a request without a repository in its path: a search, or the second interface.
#[derive(Clone)]
struct NamedAccess(Access);

impl Client {
    /// Puts octocrab above a transport. Needs the runtime.
    pub(super) fn new(transport: Transport) -> Self {
        let transport = Arc::new(transport);
        let built = OctocrabBuilder::new_empty()
            .with_service(Sender(Arc::clone(&transport)))
            .with_auth(AuthState::None)
            .build();
        let octocrab = match built {
            Ok(octocrab) => octocrab,
            Err(never) => match never {},
        };
        Self { octocrab, transport }
    }

    /// Reads an item.
    pub(super) async fn get<T: DeserializeOwned>(&self, route: &str) -> Result<T, CodeHostError> {
        self.octocrab.get(route, None::<&()>).await.map_err(failure)
    }

    /// Searches a repository.
    pub(super) async fn search<T: DeserializeOwned>(
        &self,
        repository: &RepoSlug,
        route: &str,
    ) -> Result<T, CodeHostError> {
        let body = self.send(repository, Scope::Read, Method::GET, route, None).await?;
        serde_json::from_slice(&body).map_err(|_| CodeHostError::Unreadable)
    }

    /// Creates an item.
    pub(super) async fn post<T: DeserializeOwned>(
        &self,
        route: &str,
        body: &(impl Serialize + ?Sized),
    ) -> Result<T, CodeHostError> {
        self.octocrab.post(route, Some(body)).await.map_err(failure)
    }

    /// Changes an item.
    pub(super) async fn patch<T: DeserializeOwned>(
        &self,
        route: &str,
        body: &(impl Serialize + ?Sized),
    ) -> Result<T, CodeHostError> {
        self.octocrab.patch(route, Some(body)).await.map_err(failure)
    }

    /// Performs an operation of the GraphQL interface on a repository.
    pub(super) async fn graphql(
        &self,
        repository: &RepoSlug,
        operation: &Operation,
        variables: &Value,
    ) -> Result<Value, CodeHostError> {
        let (text, scope) = operation.parts();
        let body = json!({ "query": text, "variables": variables });
        let body = self.send(repository, scope, Method::POST, GRAPHQL, Some(&body)).await?;
        let mut answer: Value = serde_json::from_slice(&body).map_err(|_| CodeHostError::Unreadable)?;
        Ok(answer["data"].take())
    }

    async fn send(
        &self,
        repository: &RepoSlug,
        scope: Scope,
        method: Method,
        uri: &str,
        body: Option<&Value>,
    ) -> Result<Bytes, CodeHostError> {
        let builder = Request::builder().method(method).uri(uri);
        let mut request = self.octocrab.build_request(builder, body).map_err(failure)?;
        request.extensions_mut().insert(NamedAccess(Access::Repository(repository.clone(), scope)));
        let response = self.octocrab.execute(request).await.map_err(failure)?;
        Ok(response.into_body().collect().await.map_err(failure)?.to_bytes())
    }
}

/// Returns the port's failure in one of octocrab. Its text is dropped, because it may be the host's.
fn failure(error: octocrab::Error) -> CodeHostError {
    match error {
        octocrab::Error::Service { source, .. } => {
            source.downcast_ref::<CodeHostError>().cloned().unwrap_or(CodeHostError::Unreachable)
        }
        _ => CodeHostError::Unreadable,
    }
}

#[cfg(test)]
#[path = "service_tests.rs"]
mod tests;
