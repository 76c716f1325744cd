//! The Durable Object classes that this Worker exports: newtypes over those in `ars_do_resident`.

use ars_do_resident::{RegistryObject, ResidentObject};
use ars_platform::{ObjectContext, recoverable};
use wasm_bindgen::prelude::wasm_bindgen;
use worker::{DurableObject, Env, Request, Response, Result, State, durable_object, web_sys};

/// A resident that owns a container.
#[durable_object(fetch)]
pub struct Resident(ResidentObject);

impl DurableObject for Resident {
    fn new(state: State, env: Env) -> Self {
        Self(ResidentObject::new(ObjectContext::from(state), env))
    }

    async fn fetch(&self, _: Request) -> Result<Response> {
        Response::error("requests go to `serve`", 404)
    }
}

#[wasm_bindgen(js_sys = ::worker::js_sys, wasm_bindgen_futures = ::worker::wasm_bindgen_futures)]
impl Resident {
    /// Serves a call. Returns `None` if this wasm instance was retired before it began the call.
    ///
    /// The JavaScript caller then repeats the call on the new instance.
    pub async fn serve(&self, request: web_sys::Request) -> Option<web_sys::Response> {
        recoverable(&request, self.0.serve(&request)).await
    }

    /// Handles the object's alarm.
    pub async fn alarm(&self) {
        self.0.alarm().await;
    }
}

/// The only resident registry.
#[durable_object(fetch)]
pub struct ResidentRegistry(RegistryObject);

impl DurableObject for ResidentRegistry {
    fn new(state: State, _: Env) -> Self {
        Self(RegistryObject::new(ObjectContext::from(state)))
    }

    async fn fetch(&self, _: Request) -> Result<Response> {
        Response::error("requests go to `serve`", 404)
    }
}

#[wasm_bindgen(js_sys = ::worker::js_sys, wasm_bindgen_futures = ::worker::wasm_bindgen_futures)]
impl ResidentRegistry {
    /// Serves a registry call.
    pub async fn serve(&self, request: web_sys::Request) -> Option<web_sys::Response> {
        Some(recoverable(&request, self.0.serve(&request)).await)
    }
}
