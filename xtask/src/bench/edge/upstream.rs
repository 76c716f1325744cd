//! The server behind the Workers: it does next to nothing, so that what is measured is the way to it.

use std::io::{Result, Write as _, copy, sink};

use ars_upstream::{Call, Upstream};

/// Frames of one stream, each sent for itself.
const FRAMES: u32 = 100;
/// What a bot answers to a small request, about.
const SMALL: &[u8] =
    br#"{"ok":true,"ready":true,"draining":false,"inFlight":0,"startedAt":1790000000000,"commit":"unknown"}"#;
const JSON: &str = "application/json";

/// Starts it.
pub fn start() -> Result<Upstream> {
    Upstream::start(answer)
}

fn answer(mut call: Call<'_>) -> Result<()> {
    match call.head.target() {
        "/large" => {
            let bytes = copy(&mut call.body, &mut sink())?;
            call.reply.whole(200, JSON, format!(r#"{{"bytes":{bytes}}}"#).as_bytes())
        }
        "/frames" => {
            let mut chunks = call.reply.chunks(200, "text/event-stream")?;
            let mut frame = Vec::new();
            for seq in 0..FRAMES {
                frame.clear();
                write!(frame, "data: {{\"type\":\"tool_call\",\"seq\":{seq},\"tool\":\"bash\"}}\n\n")?;
                chunks.send(&frame)?;
            }
            chunks.end()
        }
        // `/healthz`, which starting a Worker asks for, among them.
        _ => call.reply.whole(200, JSON, SMALL),
    }
}
