//! The server behind the Workers: it does next to nothing, so that what is measured is the way to it.

use std::io::{Result, Write as _, copy, sink};

use ars_upstream::{Call, Head, Upstream};

/// Frames of one stream, each sent for itself.
const FRAMES: u32 = 100;
/// What a bot answers to a small request, about.
const SMALL: &[u8] =
    br#"{"ok":true,"ready":true,"draining":false,"inFlight":0,"startedAt":1790000000000,"commit":"unknown"}"#;
const JSON: &str = "application/json";
/// Answered with the fields that arrived, a line each, and with fields that belong to the connection besides others.
pub const FIELDS_ROUTE: &str = "/fields";
/// Those of that answer.
const FIELDS: &str = "text/plain\r\nConnection: x-listed\r\nX-Listed: 1\r\nKeep-Alive: timeout=5\r\n\
    Proxy-Authenticate: Basic\r\nProxy_Connection: a\r\nTE: trailers\r\nTrailer: x-late\r\nUpgrade: h2c\r\n\
    Set-Cookie: a=1\r\nSet-Cookie: b=2\r\nWWW-Authenticate: Bearer\r\nX-Others: 1";

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
        FIELDS_ROUTE => call.reply.whole(200, FIELDS, arrived(&call.head).as_bytes()),
        // `/healthz`, which starting a Worker asks for, among them.
        _ => call.reply.whole(200, JSON, SMALL),
    }
}

/// The fields that arrived, a line each; of a trace, which is another one each time, as much as all have in common.
fn arrived(head: &Head) -> String {
    let line = |(name, value): (&str, &str)| match name {
        "traceparent" => format!("{name}: {} bytes\n", value.len()),
        _ => format!("{name}: {value}\n"),
    };
    head.fields().map(line).collect()
}
