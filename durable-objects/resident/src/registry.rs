//! The registry object.

use std::cell::OnceCell;

use ars_platform::{
    BUILD, DoSql, ObjectContext, Storage, internal, json, path_of, read_within, refuse,
};
use ars_resident::document::read_bytes;
use ars_resident_engine::{Fault, Registry, RegistryCall};
use worker::web_sys::{Request, Response};

use crate::REGISTRY_PATH;

/// Maximum call size in bytes: two records.
const CALL_MAX_BYTES: usize = 1 << 20;
/// Milliseconds in which a call arrives.
const CALL_MS: f64 = 10_000.0;

/// The registry as an object. A Worker wraps it in the class it exports.
pub struct RegistryObject {
    storage: Storage,
    registry: OnceCell<Registry<DoSql>>,
}

impl RegistryObject {
    /// Returns the object, which opens the tables at the first call.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "the class hands its context over"
    )]
    pub fn new(context: ObjectContext) -> Self {
        Self {
            storage: context.storage(),
            registry: OnceCell::new(),
        }
    }

    /// Answers a registry call.
    pub async fn serve(&self, request: &Request) -> Response {
        if path_of(&request.url()) != REGISTRY_PATH {
            return refuse(404, "not found");
        }
        let body = read_within(request.body(), CALL_MAX_BYTES, CALL_MS).await;
        let call: Option<RegistryCall> = body.and_then(|body| read_bytes(&body).ok());
        let Some(call) = call else {
            return refuse(400, "the body must be a call of the registry");
        };
        match self.answer(call) {
            Ok(text) => json(200, &text),
            Err(fault) => internal(&fault),
        }
    }

    fn answer(&self, call: RegistryCall) -> Result<String, Fault> {
        let registry = match self.registry.get() {
            Some(registry) => registry,
            None => {
                let opened = Registry::open(DoSql::new(self.storage.clone()), BUILD)?;
                self.registry.get_or_init(|| opened)
            }
        };
        Ok(serde_json::to_string(&registry.answer(call)?)?)
    }
}
