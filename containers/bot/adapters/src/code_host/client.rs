//! JSON API requests. Not here: sending (`transport`) and shapes (`wire`).

use ars_bot_ports::CodeHostError;
use ars_types::RepoSlug;
use bytes::Bytes;
use http::Method;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::{
    call::{
        Access, GRAPHQL, HostCall, Limit, MAX_HOST_ANSWER_BYTES, Operation, TokenScope, access_of,
    },
    transport::{JSON, Transport},
};

/// The interface above a transport.
pub(super) struct Client {
    pub(super) transport: Transport,
}

impl Client {
    /// Reads an item with `GET`.
    pub(super) async fn get<T: DeserializeOwned>(&self, route: &str) -> Result<T, CodeHostError> {
        let access = access_of_route(&Method::GET, route)?;
        self.send(&json_call(Method::GET, route, Bytes::new(), access))
            .await
    }

    /// Searches within a repository.
    pub(super) async fn search<T: DeserializeOwned>(
        &self,
        repository: &RepoSlug,
        route: &str,
    ) -> Result<T, CodeHostError> {
        let access = Access::Repository(repository.clone(), TokenScope::Read);
        self.send(&json_call(Method::GET, route, Bytes::new(), access))
            .await
    }

    /// Creates an item with `POST`.
    pub(super) async fn post<T: DeserializeOwned>(
        &self,
        route: &str,
        body: &(impl Serialize + ?Sized),
    ) -> Result<T, CodeHostError> {
        let access = access_of_route(&Method::POST, route)?;
        self.send(&json_call(Method::POST, route, json_body(body)?, access))
            .await
    }

    /// Changes an item with `PATCH`.
    pub(super) async fn patch<T: DeserializeOwned>(
        &self,
        route: &str,
        body: &(impl Serialize + ?Sized),
    ) -> Result<T, CodeHostError> {
        let access = access_of_route(&Method::PATCH, route)?;
        self.send(&json_call(Method::PATCH, route, json_body(body)?, access))
            .await
    }

    /// Performs a GraphQL operation on a repository.
    pub(super) async fn graphql(
        &self,
        repository: &RepoSlug,
        operation: &Operation,
        variables: &Value,
    ) -> Result<Value, CodeHostError> {
        let (text, scope) = operation.parts();
        let body = json_body(&json!({ "query": text, "variables": variables }))?;
        let access = Access::Repository(repository.clone(), scope);
        let call = json_call(Method::POST, GRAPHQL, body, access);
        // Each operation is a query or an idempotent mutation.
        let mut answer: Value = self
            .send(&HostCall {
                is_repeatable: true,
                ..call
            })
            .await?;
        Ok(answer["data"].take())
    }

    async fn send<T: DeserializeOwned>(&self, call: &HostCall) -> Result<T, CodeHostError> {
        let answer = self.transport.execute(call).await?;
        serde_json::from_slice(&answer.body).map_err(|_| CodeHostError::Unreadable)
    }
}

/// Returns a request with a whole answer in JSON. Only a read is repeatable.
fn json_call(method: Method, route: &str, body: Bytes, access: Access) -> HostCall {
    let is_repeatable = method == Method::GET;
    let limit = Limit::Whole(MAX_HOST_ANSWER_BYTES);
    HostCall {
        method,
        target: route.to_owned(),
        accept: JSON,
        body,
        access,
        limit,
        is_repeatable,
    }
}

/// Returns the access for a request that names the repository in the path.
fn access_of_route(method: &Method, route: &str) -> Result<Access, CodeHostError> {
    let path = route.split('?').next().unwrap_or(route);
    access_of(method, path).ok_or(CodeHostError::Unreadable)
}

fn json_body(body: &(impl Serialize + ?Sized)) -> Result<Bytes, CodeHostError> {
    serde_json::to_vec(body)
        .map(Bytes::from)
        .map_err(|_| CodeHostError::Unreadable)
}
