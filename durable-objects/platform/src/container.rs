//! A Durable Object's container whose object decides when it runs, and the server in it.
//!
//! Not here: a container that follows its own lifecycle (`owner`).

use std::cell::Cell;
use std::rc::Rc;

use js_sys::{Array, Promise, futures::JsFuture};
use wasm_bindgen::{JsCast, JsValue};
use worker::web_sys::{
    AbortController, ReadableStream, Request, RequestInit, RequestRedirect, Response,
};

use crate::body::Chunks;
use crate::call::start_task;
use crate::owner::options;
use crate::{raw, raw::describe, read_within};

/// Milliseconds in which a response head arrives. Measuring the disk is the slowest.
const HEAD_MS: f64 = 150_000.0;
/// Milliseconds without a response byte after which the connection counts as lost.
const SILENCE_MS: f64 = 60_000.0;

/// A single object's container.
pub struct Container {
    context: raw::ObjectContext,
    inner: raw::Container,
    port: u16,
    is_watched: Rc<Cell<bool>>,
}

/// A request's body.
pub enum Outgoing<'a> {
    /// Without any body.
    None,
    /// A JSON document's text.
    Json(&'a str),
    /// A stream of bytes.
    Stream(&'a ReadableStream),
}

/// The server's response. Dropping it ends the connection.
pub struct Incoming {
    response: Response,
    _abort: Abort,
}

impl Container {
    /// Returns the object's container with a server on `port`; `None` for an object without a
    /// container.
    pub fn from_context(context: &raw::ObjectContext, port: u16) -> Option<Self> {
        let inner = context.container()?;
        Some(Self {
            context: context.clone(),
            inner,
            port,
            is_watched: Rc::default(),
        })
    }

    /// Returns whether it runs.
    pub fn is_running(&self) -> bool {
        let running = self.inner.running();
        if running {
            self.watch();
        }
        running
    }

    /// Starts it with an environment. The server may not listen yet.
    ///
    /// # Errors
    /// The platform error's text.
    pub fn start(&self, environment: Vec<(String, String)>) -> Result<(), String> {
        self.inner
            .start(&options(environment))
            .map_err(|thrown| describe(&thrown))?;
        self.watch();
        Ok(())
    }

    /// Kills it and waits until it ends.
    ///
    /// # Errors
    /// The platform error's text.
    pub async fn destroy(&self) -> Result<(), String> {
        let destroyed = async { JsFuture::from(self.inner.destroy()?).await.map(drop) };
        destroyed.await.map_err(|thrown| describe(&thrown))
    }

    /// Sends a request to the server in it.
    ///
    /// # Errors
    /// The failure's text: no connection, or it broke off.
    pub async fn send(
        &self,
        method: &str,
        path: &str,
        bearer: &str,
        body: Outgoing<'_>,
    ) -> Result<Incoming, String> {
        let sent = async {
            let abort = AbortController::new()?;
            let init = RequestInit::new();
            init.set_method(method);
            init.set_redirect(RequestRedirect::Manual);
            init.set_signal(Some(&abort.signal()));
            match &body {
                Outgoing::None => {}
                Outgoing::Json(text) => init.set_body(&JsValue::from_str(text)),
                Outgoing::Stream(stream) => init.set_body(stream),
            }
            let request =
                Request::new_with_str_and_init(&format!("http://container{path}"), &init)?;
            request
                .headers()
                .set("authorization", &format!("Bearer {bearer}"))?;
            request.headers().set("content-type", "application/json")?;
            let abort = Abort(abort);
            let answer = self.inner.tcp_port(self.port)?.fetch(&request)?;
            // A stream has its own measure: the time without a byte.
            if let Outgoing::Stream(_) = body {
                let response: Response = JsFuture::from(answer).await?.unchecked_into();
                return Ok(Incoming {
                    response,
                    _abort: abort,
                });
            }
            let (elapsed, timer) = raw::timer(HEAD_MS);
            let first = JsFuture::from(Promise::race(&Array::of2(&answer, &elapsed))).await;
            raw::clear_timeout(&timer);
            let response: Response = first?
                .dyn_into()
                .map_err(|_| JsValue::from("no answer arrived in time"))?;
            Ok::<_, JsValue>(Incoming {
                response,
                _abort: abort,
            })
        };
        sent.await.map_err(|thrown| describe(&thrown))
    }

    /// Waits in the background until it ends: without a waiter the platform reports it as running
    /// for ever.
    fn watch(&self) {
        if self.is_watched.replace(true) {
            return;
        }
        let (inner, is_watched) = (self.inner.clone(), Rc::clone(&self.is_watched));
        let task = start_task(async move {
            if let Ok(ended) = inner.monitor() {
                // An error is an end too.
                drop(JsFuture::from(ended).await);
            }
            is_watched.set(false);
        });
        self.context.wait_until(&task);
    }
}

/// Ends a request when it is dropped. An ended request is not affected.
struct Abort(AbortController);

impl Drop for Abort {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Incoming {
    /// Returns the HTTP status.
    pub fn status(&self) -> u16 {
        self.response.status()
    }

    /// Returns the body, up to `max_bytes`; `None` beyond that, or if it breaks off.
    pub async fn bytes(&self, max_bytes: usize) -> Option<Vec<u8>> {
        read_within(self.response.body(), max_bytes, SILENCE_MS).await
    }

    /// Returns the body's pieces as they arrive.
    pub fn chunks(&self) -> Option<Chunks> {
        self.response
            .body()
            .map(|body| Chunks::new(&body, SILENCE_MS))
    }

    /// Returns the body's declared length.
    pub fn length(&self) -> Option<f64> {
        // Not as a float: parsing a float needs large tables.
        let length: u64 = self
            .response
            .headers()
            .get("content-length")
            .ok()??
            .parse()
            .ok()?;
        Some(length as f64)
    }
}
