//! The Durable Object class this Worker exports: a newtype around its library's object, as `container.js` expects it.

use ars_do_bot::BotObject;
use ars_platform::Response;
use wasm_bindgen::prelude::wasm_bindgen;

/// Owns the bot's container.
#[wasm_bindgen]
pub struct Bot(BotObject);

#[wasm_bindgen]
#[expect(clippy::needless_pass_by_value, reason = "what wasm-bindgen makes of a text that may be missing")]
impl Bot {
    /// Wakes the object. `image` and `tokens` are what the Worker has of them now.
    #[wasm_bindgen(constructor)]
    pub fn new(
        kept: Option<String>,
        image: Option<String>,
        tokens: Option<String>,
        running: bool,
        now: f64,
    ) -> Self {
        let version = ars_do_bot::version(image.as_deref(), tokens.as_deref());
        Self(BotObject::new(kept.as_deref(), &version, running, now))
    }

    /// What becomes of a request.
    pub fn want(&mut self, now: f64) -> i32 {
        self.0.want(now)
    }

    /// The container answered a look, or did not.
    pub fn looked(&mut self, start: u32, healthy: bool, now: f64) {
        self.0.looked(start, healthy, now);
    }

    /// The container ended.
    pub fn ended(&mut self, start: u32, code: Option<i32>, now: f64) {
        self.0.ended(start, code, now);
    }

    /// The container runs, though its watch or its start failed.
    pub fn unwatched(&mut self, start: u32, now: f64) {
        self.0.unwatched(start, now);
    }

    /// The alarm rang.
    pub fn rang(&mut self, now: f64) {
        self.0.rang(now);
    }

    /// Whether there is anything to stop.
    pub fn is_running(&self) -> bool {
        self.0.is_running()
    }

    /// Restarts, or says why not.
    pub fn restart(&mut self, force: bool, status: Option<u16>, body: Option<Vec<u8>>, now: f64) -> Response {
        self.0.restart(force, status, body.as_deref(), now)
    }

    /// What to do, in JSON.
    pub fn actions(&mut self) -> String {
        self.0.actions()
    }

    /// What the storage is to keep.
    pub fn kept(&self) -> String {
        self.0.kept()
    }
}
