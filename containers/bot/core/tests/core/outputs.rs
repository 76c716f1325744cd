//! Outputs too long for a conversation.

use std::{sync::Arc, time::Duration};

use ars_agent::{Part, ToolContent};
use ars_bot_core::Capabilities;
use ars_bot_ports::{FetchLimits, FetchScope, Fetched, FetchedBody, Web, WebError, WebHit};
use async_trait::async_trait;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::support::*;

/// A web with a single page at a long address.
struct LongAddress;

#[async_trait]
impl Web for LongAddress {
    async fn fetch(
        &self,
        _url: &str,
        _scope: FetchScope<'_>,
        _limits: FetchLimits,
        _cancel: &CancellationToken,
    ) -> Result<Fetched, WebError> {
        let url = format!("first{}last", "é".repeat(200_000));
        let body = FetchedBody::Text {
            text: "said".into(),
            cut: false,
        };
        Ok(Fetched {
            url,
            status: 200,
            media_type: "text/plain".into(),
            body,
        })
    }

    async fn search(
        &self,
        _query: &str,
        _limit: Duration,
        _cancel: &CancellationToken,
    ) -> Result<Vec<WebHit>, WebError> {
        Ok(Vec::new())
    }
}

fn read(url: &'static str) -> Vec<Move> {
    vec![
        Move::Ask(vec![("web_fetch", json!({ "url": url }))]),
        Move::Say("read"),
    ]
}

/// Returns the page's text in the conversation.
fn shown(world: &World) -> String {
    let seen = world.model.seen.lock().unwrap();
    let results = seen
        .last()
        .unwrap()
        .iter()
        .flat_map(|turn| &turn.parts)
        .filter_map(|part| match part {
            Part::ToolResult { content, .. } => Some(content),
            _ => None,
        });
    let texts = results.flatten().filter_map(|content| match content {
        ToolContent::Text { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

#[tokio::test]
async fn long_output_is_shown_by_its_ends() {
    for (request, place) in [
        ("agent:coding repo:acme/app read it", ".ars/outputs/"),
        ("read it", "no file"),
    ] {
        let capabilities = Capabilities {
            web: Some(Arc::new(LongAddress)),
            ..Capabilities::default()
        };
        let world = world_with(read("https://example.com/"), capabilities);
        world.ask(request).await;
        let shown = shown(&world);
        assert!(
            shown.contains("firsté") && shown.contains("élast") && shown.contains(place),
            "{request}"
        );
        assert!(shown.chars().count() < 61_000, "{request}");
    }
}
