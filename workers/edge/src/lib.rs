//! The edge Worker: the only way to the bot (document 1 sections 2.2, 4.6 and 5; resident supplement 13).
//!
//! Thin: every request and the tick of each minute go to the one object that owns the bot's container. Not here: what
//! becomes of them there (`durable-objects/bot`, `shared/proxy`, `shared/container`), and storage (`workers/state`, another deployment).
#![forbid(unsafe_code)]

mod exports;
mod object;

use wasm_bindgen::prelude::wasm_bindgen;

/// Once per instance: a panic is told in the log with its place.
#[wasm_bindgen(start)]
pub fn start() {
    console_error_panic_hook::set_once();
}
