//! The state Worker: memory, friction, schedules and runs behind one bearer (document 2 sections 4.2, 4.3, 5, 7;
//! state-worker supplement 1).
//!
//! Thin: the gate decides what is let in, the router names the object that keeps it, and `entry.js` passes it on.
//! Not here: storage (`durable-objects/`), validation (`shared/`).
#![forbid(unsafe_code)]

mod objects;
mod router;

use wasm_bindgen::prelude::wasm_bindgen;

/// Once per instance: a panic is told in the log with its place.
#[wasm_bindgen(start)]
pub fn start() {
    console_error_panic_hook::set_once();
}
