//! `cargo xtask bench edge`: the time that our edge path and its twin add to a request.
//!
//! The path is Worker, Durable Object and bot. The twin is the same proxy in TypeScript
//! (`tests/bench/edge.ts`). Both run before a small server, which is also measured directly. Not
//! here: correctness (`tests/edge`), and the container, which costs both the same.

use std::io::{Result as IoResult, Write as _, copy, sink};
use std::path::Path;

use anyhow::{Result, ensure};
use ars_raw_http::{Call, Upstream};
use ars_workerd::{Bot, Settings, build_edge_worker, ensure_npm};

use super::compare::{Options, Row, Side, bundle, get, measure, post};
use crate::terminal::Step;

/// The twin's entry, from the root.
const TWIN: &str = "tests/bench/edge.ts";
/// Large body size in bytes: a request with attached documents.
const LARGE_BODY: usize = 1 << 20;
/// Frames per stream, each sent alone.
const FRAMES: u32 = 100;
/// A small bot response.
const SMALL: &[u8] =
    br#"{"ok":true,"ready":true,"draining":false,"inFlight":0,"startedAt":1790000000000,"commit":"unknown"}"#;
const JSON: &str = "application/json";
/// Request fields that end at the edge in several spellings, and a field that passes.
const FIELDS: &str = "GET /fields HTTP/1.1\r\nHost: localhost\r\nConnection: keep-alive, X-Mine\r\nX_Mine: 1\r\n\
    TE: trailers\r\nX-ARS-Restart-Subject: ann\r\nbaggage: a=b\r\nX_B3_TraceId: 1\r\nX-Yours: 3\r\n\r\n";
/// Response fields for that request: connection fields, and others.
const ANSWER_FIELDS: &str = "text/plain\r\nConnection: x-listed\r\nX-Listed: 1\r\nUpgrade: h2c\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2";

/// Measures and prints the table.
pub fn run(options: &Options) -> Result<()> {
    let step = Step::begin("builds");
    let npm = ensure_npm(&|line| step.update(line))?;
    let built = build_edge_worker(&|line| step.update(line))?;
    step.done("");
    options.settle()?;
    let upstream = Upstream::start(answer)?;
    let dir = &options.dir;
    let ours = |data: &Path| Settings::edge(&npm, &built, data, Bot::Native(upstream.url()));
    let twin = |data: &Path| {
        Ok(Settings {
            modules: bundle(&npm, TWIN, data)?,
            ..ours(data)?
        })
    };
    let sides = [
        Side::direct(upstream.address()),
        Side::start("Rust", dir, ours)?,
        Side::start("TypeScript", dir, twin)?,
    ];
    check_alike(&sides)?;
    measure(&sides, &rows(), options)
}

fn rows() -> [Row; 4] {
    [
        Row::repeated("small JSON", 1, get("/small")),
        Row::repeated("small JSON, 16 at once", 16, get("/small")),
        Row::repeated("1 MB up", 1, post("/large", &"x".repeat(LARGE_BODY))),
        Row::repeated("stream of 100 frames", 1, get("/frames")),
    ]
}

/// Checks that both Workers pass on the rows' answers unchanged and treat fields alike.
fn check_alike([direct, ours, twin]: &[Side; 3]) -> Result<()> {
    for row in rows() {
        let request = (row.source)(0)();
        let expected = direct.ask(&request)?;
        for side in [ours, twin] {
            ensure!(
                side.ask(&request)? == expected,
                "{}: {} changes the answer",
                row.name,
                side.name
            );
        }
    }
    let arrived = |side: &Side| {
        let mut answer = side.ask(FIELDS.as_bytes())?;
        let mut lines: Vec<_> = String::from_utf8(answer.body)?
            .lines()
            .map(str::to_ascii_lowercase)
            .collect();
        lines.sort_unstable();
        answer.body = lines.join("\n").into_bytes();
        anyhow::Ok(answer)
    };
    let [first, second] = [arrived(ours)?, arrived(twin)?];
    ensure!(
        String::from_utf8_lossy(&first.body).contains("x-yours: 3"),
        "a field did not pass: {first:?}"
    );
    ensure!(
        first == second,
        "the Workers treat fields differently: {first:?} and {second:?}"
    );
    Ok(())
}

/// The server behind the Workers, which does next to nothing.
fn answer(mut call: Call<'_>) -> IoResult<()> {
    match call.head.target() {
        "/large" => {
            let bytes = copy(&mut call.body, &mut sink())?;
            call.reply
                .whole(200, JSON, format!(r#"{{"bytes":{bytes}}}"#).as_bytes())
        }
        "/frames" => {
            let mut chunks = call.reply.chunks(200, "text/event-stream")?;
            let mut frame = Vec::new();
            for seq in 0..FRAMES {
                frame.clear();
                write!(
                    frame,
                    "data: {{\"type\":\"tool_call\",\"seq\":{seq},\"tool\":\"bash\"}}\n\n"
                )?;
                chunks.send(&frame)?;
            }
            chunks.end()
        }
        // The trace context is new each time, so only the length is compared.
        "/fields" => {
            let line = |(name, value): (&str, &str)| match name {
                "traceparent" => format!("{name}: {} bytes\n", value.len()),
                _ => format!("{name}: {value}\n"),
            };
            let lines: String = call.head.fields().map(line).collect();
            call.reply.whole(200, ANSWER_FIELDS, lines.as_bytes())
        }
        _ => call.reply.whole(200, JSON, SMALL),
    }
}
