//! The Durable Object class that this Worker exports: a newtype over `ars_do_bot::BotObject`.

use ars_do_bot::BotObject;
use ars_platform::{ObjectContext, recoverable};
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};
use worker::{DurableObject, Env, Request, Response, Result, State, durable_object, web_sys};

/// Owns the bot's container.
#[durable_object(fetch)]
pub struct Bot(BotObject);

impl DurableObject for Bot {
    fn new(state: State, env: Env) -> Self {
        Self(BotObject::new(ObjectContext::from(state), env))
    }

    async fn fetch(&self, _: Request) -> Result<Response> {
        Response::error("requests go to `serve`", 404)
    }
}

#[wasm_bindgen(js_sys = ::worker::js_sys, wasm_bindgen_futures = ::worker::wasm_bindgen_futures)]
impl Bot {
    /// Serves a request. Returns `None` if this wasm instance was retired before it began the request.
    ///
    /// The JavaScript caller then repeats the call on the new instance.
    pub async fn serve(&self, request: web_sys::Request) -> Option<web_sys::Response> {
        recoverable(&request, self.0.serve(&request)).await
    }

    /// Handles the object's alarm.
    pub fn alarm(&self) -> std::result::Result<(), JsValue> {
        self.0
            .alarm()
            .map_err(|error| JsValue::from(error.to_string()))
    }
}
