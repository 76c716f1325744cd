//! `GET /runs/assets/<name>`: styles and scripts for the pages, embedded in the binary.

use axum::{extract::Path, http::StatusCode, response::Response};

use crate::respond;

const SCRIPT: &str = "text/javascript; charset=utf-8";

const IMAGE: &str = "image/svg+xml";

/// Answers with a file, or with the same 404 as all run pages.
pub(crate) async fn asset(Path(name): Path<String>) -> Response {
    let (media_type, text) = match name.as_str() {
        "style.css" => (
            "text/css; charset=utf-8",
            include_str!("../../../assets/style.css"),
        ),
        "run.js" => (SCRIPT, include_str!("../../../assets/run.js")),
        "transcript.js" => (SCRIPT, include_str!("../../../assets/transcript.js")),
        "log.js" => (SCRIPT, include_str!("../../../assets/log.js")),
        "call.js" => (SCRIPT, include_str!("../../../assets/call.js")),
        "diff.js" => (SCRIPT, include_str!("../../../assets/diff.js")),
        "facts.js" => (SCRIPT, include_str!("../../../assets/facts.js")),
        "control.js" => (SCRIPT, include_str!("../../../assets/control.js")),
        "queued.js" => (SCRIPT, include_str!("../../../assets/queued.js")),
        "slices.js" => (SCRIPT, include_str!("../../../assets/slices.js")),
        "markdown.js" => (SCRIPT, include_str!("../../../assets/markdown.js")),
        "dom.js" => (SCRIPT, include_str!("../../../assets/dom.js")),
        "index.js" => (SCRIPT, include_str!("../../../assets/index.js")),
        "residents.js" => (SCRIPT, include_str!("../../../assets/residents.js")),
        "morph.js" => (SCRIPT, include_str!("../../../assets/morph.js")),
        "stream.js" => (SCRIPT, include_str!("../../../assets/stream.js")),
        "times.js" => (SCRIPT, include_str!("../../../assets/times.js")),
        "favicon-good.svg" => (IMAGE, include_str!("../../../assets/favicon-good.svg")),
        "favicon-changing.svg" => (IMAGE, include_str!("../../../assets/favicon-changing.svg")),
        "favicon-bad.svg" => (IMAGE, include_str!("../../../assets/favicon-bad.svg")),
        "favicon-unknown.svg" => (IMAGE, include_str!("../../../assets/favicon-unknown.svg")),
        "favicon.svg" => (IMAGE, include_str!("../../../assets/favicon.svg")),
        _ => return respond::not_found(),
    };
    respond::with_type(StatusCode::OK, media_type, text)
}
