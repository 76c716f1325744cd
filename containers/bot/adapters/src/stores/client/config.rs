//! Configuration documents.

use ars_bot_ports::{Document, Documents, Replacement, StoreError};
use ars_wire::{
    config::{GetRequest, GetResponse, PutRequest, PutResponse, Stale},
    state::{ConfigVerb, Route},
};
use async_trait::async_trait;
use serde_json::Value;

use super::{Client, Transport, parse};
use crate::stores::{failure::malformed, transport::StoreResponse};

#[async_trait]
impl<T: Transport> Documents for Client<T> {
    async fn newest(&self, key: &str) -> Result<Document, StoreError> {
        let answer = self
            .ask(Route::Config(ConfigVerb::Get), &GetRequest { key })
            .await?;
        let GetResponse { document, version } = answer;
        Ok(Document { document, version })
    }

    /// Replaces a document. The route's conflict has another shape than on all other routes.
    async fn replace(
        &self,
        key: &str,
        document: &Value,
        expected: u64,
    ) -> Result<Replacement, StoreError> {
        let request = PutRequest {
            key,
            document,
            expected_version: expected,
        };
        let StoreResponse { status, text } = self
            .request(Route::Config(ConfigVerb::Put), &request)
            .await?;
        let answer = parse(&text)?;
        if status == 409 {
            let Stale { version, .. } = serde_json::from_value(answer).map_err(malformed)?;
            return Ok(Replacement::Stale(version));
        }
        match serde_json::from_value(answer).map_err(malformed)? {
            PutResponse { ok: true, version } => Ok(Replacement::Saved(version)),
            PutResponse { ok: false, .. } => Err(malformed("200 with another ok")),
        }
    }
}
