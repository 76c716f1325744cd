//! A single resident's object.

use std::cell::OnceCell;
use std::rc::Rc;

use ars_platform::{
    ClientLeft, DoSql, HEARTBEAT_MS, INTERNAL_BODY, ObjectContext, internal, is_retired, json,
    path_of, read_within, refuse, run_task, streamed_answer, thrown_text,
};
use ars_resident::document::read_bytes;
use ars_resident_engine::{Engine, Fault, Host as _};
use worker::{
    Env, console_error,
    web_sys::{Request, Response},
};

use crate::host::PlatformHost;
use crate::{CALL_PATH, Envelope, STREAM_PATH};

/// Maximum call size in bytes: a write's content as escaped JSON, and the names.
const CALL_MAX_BYTES: usize = 8 << 20;
/// Milliseconds in which a call arrives.
const CALL_MS: f64 = 30_000.0;
/// Milliseconds until an alarm that failed is tried again.
const ALARM_RETRY_MS: i64 = 30_000;

/// A resident as an object. A Worker wraps it in the class it exports.
pub struct ResidentObject {
    context: ObjectContext,
    env: Env,
    engine: OnceCell<Rc<Engine<DoSql, PlatformHost>>>,
}

impl ResidentObject {
    /// Returns the object, which opens the tables at the first call.
    pub const fn new(context: ObjectContext, env: Env) -> Self {
        Self {
            context,
            env,
            engine: OnceCell::new(),
        }
    }

    /// Answers a call, or returns `None` in a retired instance that has not begun it.
    pub async fn serve(&self, request: &Request) -> Option<Response> {
        if is_retired() {
            return None;
        }
        let path = path_of(&request.url()).to_owned();
        let body = read_within(request.body(), CALL_MAX_BYTES, CALL_MS).await;
        let envelope: Option<Envelope> = body.and_then(|body| read_bytes(&body).ok());
        let Some(Envelope { resource, call }) = envelope else {
            return Some(refuse(400, "the body must be a call of a resident"));
        };
        let engine = match self.engine() {
            Ok(engine) => engine,
            Err(fault) => return Some(internal(&fault)),
        };
        engine.host().belongs_to(&resource);
        Some(match path.as_str() {
            CALL_PATH => {
                let reply = engine.answer(call).await;
                json(reply.status, &reply.body.to_string())
            }
            STREAM_PATH => {
                let operation = |left: ClientLeft| async move {
                    engine.answer_while(call, left).await.body.to_string()
                };
                streamed_answer(&self.context, HEARTBEAT_MS, operation).unwrap_or_else(|thrown| {
                    console_error!("fault: an answer has no stream: {}", thrown_text(&thrown));
                    json(500, INTERNAL_BODY)
                })
            }
            _ => refuse(404, "not found"),
        })
    }

    /// Handles the alarm. A failed alarm is set again, because the platform gives up after some
    /// repetitions.
    pub async fn alarm(&self) {
        let engine = match self.engine() {
            Ok(engine) => engine,
            Err(fault) => return console_error!("fault: the resident was not opened: {fault}"),
        };
        let task = Rc::clone(&engine);
        let done = run_task(async move {
            if let Err(fault) = task.alarm().await {
                console_error!("fault: the alarm of a resident failed: {fault}");
                set_again(&task).await;
            }
        });
        if let Err(trap) = done.await {
            console_error!("fault: the alarm of a resident broke off: {trap}");
            set_again(&engine).await;
        }
    }

    fn engine(&self) -> Result<Rc<Engine<DoSql, PlatformHost>>, Fault> {
        if let Some(engine) = self.engine.get() {
            return Ok(Rc::clone(engine));
        }
        let host = PlatformHost::new(self.context.clone(), self.env.clone());
        let opened = Engine::open(DoSql::new(self.context.storage()), host)?;
        Ok(Rc::clone(self.engine.get_or_init(|| opened)))
    }
}

async fn set_again(engine: &Engine<DoSql, PlatformHost>) {
    let host = engine.host();
    if let Err(error) = host.set_alarm(host.now() + ALARM_RETRY_MS).await {
        console_error!("fault: the alarm of a resident was not set: {error}");
    }
}
