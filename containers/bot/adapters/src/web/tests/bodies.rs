//! Tests bodies: types, limits, encodings, character sets, timeouts and cancellation.

use std::{io::Write as _, time::Duration};

use axum::{
    body::{Body, Bytes},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::get as route,
};
use flate2::{Compression, write::GzEncoder};
use futures::{StreamExt as _, stream};
use tokio::sync::Notify;

use super::*;

const PNG: &[u8] = &[0x89, b'P', b'N', b'G'];

/// Small limits, so that tests stay small.
fn small() -> FetchLimits {
    FetchLimits {
        text_bytes: 1000,
        image_bytes: 2000,
        document_bytes: 3000,
        ..FetchLimits::default()
    }
}

fn typed(content_type: &'static str, body: impl Into<Body>) -> Response {
    ([(header::CONTENT_TYPE, content_type)], body.into()).into_response()
}

/// Returns a body without a length.
fn unannounced(bytes: &[u8]) -> Body {
    let pieces: Vec<_> = bytes
        .chunks(300)
        .map(|piece| Ok::<_, io::Error>(Bytes::copy_from_slice(piece)))
        .collect();
    Body::from_stream(stream::iter(pieces))
}

fn packed(content_type: &'static str, encoding: &'static str, bytes: Vec<u8>) -> Response {
    let headers = [
        (header::CONTENT_TYPE, content_type),
        (header::CONTENT_ENCODING, encoding),
    ];
    (headers, bytes).into_response()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Fetches a response made by `answer`.
async fn fetched(
    answer: impl Fn() -> Response + Clone + Send + Sync + 'static,
    limits: FetchLimits,
) -> Result<Fetched, WebError> {
    let site = Site::serve(Router::new().fallback(async move || answer())).await;
    get(&site, "/", limits).await
}

#[tokio::test]
async fn page_has_status_type_and_links() {
    let page = || {
        (
            StatusCode::NOT_FOUND,
            typed("Text/HTML; charset=utf-8", "<h1>Gone</h1><a href=/b>b</a>"),
        )
    };
    let site = Site::serve(Router::new().fallback(async move || page().into_response())).await;
    let fetched = get(&site, "/a", small()).await.unwrap();
    assert_eq!(
        (fetched.status, fetched.media_type.as_str()),
        (404, "text/html")
    );
    let link = site.url("site.example", "/b");
    assert_eq!(text(Ok(fetched)), (format!("# Gone\n\n[b]({link})"), false));
}

#[tokio::test]
async fn text_is_unchanged_and_binaries_are_named() {
    let json = fetched(|| typed("application/json", "{\"a\": \"<b>\"}"), small()).await;
    assert_eq!(text(json), ("{\"a\": \"<b>\"}".into(), false));
    for content_type in ["image/svg+xml", "application/zip", "video/mp4"] {
        let named = fetched(move || typed(content_type, vec![0; 9000]), small())
            .await
            .unwrap();
        assert_eq!(
            (named.media_type.as_str(), named.body),
            (content_type, FetchedBody::Other)
        );
    }
}

#[tokio::test]
async fn text_beyond_the_limit_is_marked_cut() {
    let exact = fetched(|| typed("text/plain", "x".repeat(1000)), small()).await;
    assert_eq!(text(exact), ("x".repeat(1000), false));
    for body in [
        || Body::from(vec![b'x'; 5000]),
        || unannounced(&[b'x'; 5000]),
    ] {
        let long = fetched(move || typed("text/plain", body()), small()).await;
        assert_eq!(text(long), ("x".repeat(1000), true));
    }
    let endless =
        || Body::from_stream(stream::repeat(Bytes::from_static(b"word ")).map(Ok::<_, io::Error>));
    let (words, cut) = text(fetched(move || typed("text/html", endless()), small()).await);
    assert!(cut && words.starts_with("word word") && words.len() <= 1000);
}

#[tokio::test]
async fn images_and_documents_are_never_cut() {
    let of = |length: usize| [PNG, &vec![0; length - PNG.len()]].concat();
    let image = fetched(move || typed("image/png", of(2000)), small())
        .await
        .unwrap();
    assert_eq!(image.body, FetchedBody::Image(of(2000)));
    let document = fetched(move || typed("application/pdf", of(3000)), small())
        .await
        .unwrap();
    assert_eq!(document.body, FetchedBody::Document(of(3000)));
    for (content_type, length) in [("image/png", 2000), ("application/pdf", 3000)] {
        let announced = fetched(move || typed(content_type, of(length + 1)), small()).await;
        assert_eq!(announced, Err(WebError::TooLarge(length)));
        let hidden = fetched(
            move || typed(content_type, unannounced(&of(length + 1))),
            small(),
        )
        .await;
        assert_eq!(hidden, Err(WebError::TooLarge(length)));
    }
}

#[tokio::test]
async fn limit_applies_to_decompressed_bytes() {
    let page = gzip(b"<p>packed</p>");
    let fine = fetched(move || packed("text/html", "gzip", page.clone()), small()).await;
    assert_eq!(text(fine), ("packed".into(), false));
    let bomb = gzip(&vec![b'x'; 64 << 20]);
    assert!(bomb.len() < 100_000);
    let limits = FetchLimits::default();
    let again = bomb.clone();
    let (unpacked, cut) =
        text(fetched(move || packed("text/plain", "gzip", bomb.clone()), limits).await);
    assert_eq!((unpacked.len(), cut), (limits.text_bytes, true));
    let image = fetched(move || packed("image/png", "gzip", again.clone()), limits).await;
    assert_eq!(image, Err(WebError::TooLarge(limits.image_bytes)));
}

#[tokio::test]
async fn unknown_or_broken_encoding_is_rejected() {
    for encoding in ["br", "gzip, gzip", "secret"] {
        let answer = fetched(
            move || packed("text/plain", encoding, b"x".to_vec()),
            small(),
        )
        .await;
        assert_eq!(answer, Err(WebError::Encoding), "{encoding}");
    }
    let broken = fetched(
        || packed("text/plain", "gzip", b"not gzip".to_vec()),
        small(),
    )
    .await;
    assert_eq!(broken, Err(WebError::Encoding));
}

#[tokio::test]
async fn wrong_character_set_loses_only_characters() {
    let declared = fetched(
        || typed("text/plain; charset=windows-1252", vec![b'a', 0xe9]),
        small(),
    )
    .await;
    assert_eq!(text(declared).0, "aé");
    let wrong = fetched(
        || typed("text/plain; charset=utf-8", vec![b'a', 0xe9, b'b']),
        small(),
    )
    .await;
    assert_eq!(text(wrong).0, "a\u{fffd}b");
    let unknown = fetched(|| typed("text/plain; charset=klingon", "aé"), small()).await;
    assert_eq!(text(unknown).0, "aé");
}

#[tokio::test]
async fn missing_or_endless_response_times_out() {
    let stuck = || {
        Body::from_stream(
            stream::iter([Ok::<_, io::Error>(Bytes::from_static(b"x"))]).chain(stream::pending()),
        )
    };
    let router = Router::new()
        .route("/headers", route(std::future::pending::<Response>))
        .route("/body", route(async move || typed("text/plain", stuck())))
        .route("/image", route(async move || typed("image/png", stuck())));
    let site = Site::serve(router).await;
    let limits = FetchLimits {
        time: Duration::from_millis(200),
        ..small()
    };
    for path in ["/headers", "/body", "/image"] {
        assert_eq!(
            get(&site, path, limits).await,
            Err(WebError::TimedOut(limits.time)),
            "{path}"
        );
    }
}

#[tokio::test]
async fn a_body_broken_off_is_a_failure() {
    let broken = || {
        let pieces = [Ok(Bytes::from_static(b"x")), Err(io::Error::other("gone"))];
        typed("text/plain", Body::from_stream(stream::iter(pieces)))
    };
    assert_eq!(fetched(broken, small()).await, Err(WebError::Unreachable));
}

#[tokio::test]
async fn a_stop_ends_the_wait_at_once() {
    let arrived = Arc::new(Notify::new());
    let tell = Arc::clone(&arrived);
    let router = Router::new().fallback(async move || {
        tell.notify_one();
        std::future::pending::<Response>().await
    });
    let site = Site::serve(router).await;
    let web = web(Names::with(&[("site.example", &[&[HERE]])]));
    let cancel = CancellationToken::new();
    let url = site.url("site.example", "/");
    let stop = async {
        arrived.notified().await;
        cancel.cancel();
    };
    let (answer, ()) = tokio::join!(
        web.fetch(&url, FetchScope::default(), FetchLimits::default(), &cancel),
        stop
    );
    assert_eq!(answer, Err(WebError::Cancelled));
    // A stopped run sends no request.
    assert_eq!(
        web.fetch(&url, FetchScope::default(), FetchLimits::default(), &cancel)
            .await,
        Err(WebError::Cancelled)
    );
}
