//! Markdown becomes markup with links as the only tags, in bounded chunks; encoded text is decoded.
#![no_main]

use ars_slack::{
    markup::{chunks, to_mrkdwn},
    text::{decode, escape, request_text},
};
use libfuzzer_sys::fuzz_target;

/// Smallest chunks.
const LIMIT: usize = 40;

fuzz_target!(|text: &str| {
    assert_eq!(decode(&escape(text)), text);
    request_text(text, "UB");
    let markup = to_mrkdwn(text);
    for tag in markup.split('<').skip(1) {
        let is_link = ["https://", "http://", "mailto:", "tel:"]
            .iter()
            .any(|scheme| tag.to_ascii_lowercase().starts_with(scheme));
        assert!(is_link && tag.contains('>'), "{markup}");
    }
    for chunk in chunks(&markup, LIMIT) {
        assert!(chunk.chars().count() <= LIMIT, "{chunk}");
    }
});
