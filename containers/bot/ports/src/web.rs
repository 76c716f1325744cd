//! The web port: pages of the public internet, and a search over them.
//!
//! Not here: the check for public addresses and the conversion of a body to text (the adapter), and the presentation to
//! the model (`ars-bot-tools`).

use std::time::Duration;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use crate::WebError;

/// A client of the public web. It never reaches a private address.
#[async_trait]
pub trait Web: Send + Sync {
    /// Fetches a page for a run. An answer with an error status is a result.
    async fn fetch(
        &self,
        url: &str,
        scope: FetchScope<'_>,
        limits: FetchLimits,
        cancel: &CancellationToken,
    ) -> Result<Fetched, WebError>;

    /// Returns the best matches of a query, best first.
    async fn search(
        &self,
        query: &str,
        limit: Duration,
        cancel: &CancellationToken,
    ) -> Result<Vec<WebHit>, WebError>;
}

/// The run that fetches, as far as it decides about hosts.
#[derive(Debug, Clone, Copy, Default)]
pub struct FetchScope<'a> {
    /// The agent.
    pub agent: &'a str,
    /// Whether the run has a working tree.
    pub has_tree: bool,
    /// The repository's name.
    pub repository: Option<&'a str>,
    /// The repository's origin.
    pub origin: Option<&'a str>,
}

/// The limits of one fetch (docs/reference/limits.md#tools).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchLimits {
    /// From the call to the last byte, redirects included.
    pub time: Duration,
    /// Bytes of text after decompression; more is cut.
    pub text_bytes: usize,
    /// Bytes of an image. A larger one is rejected.
    pub image_bytes: usize,
    /// Bytes of a document. A larger one is rejected.
    pub document_bytes: usize,
}

impl Default for FetchLimits {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(12),
            text_bytes: 1 << 20,
            image_bytes: 5 << 20,
            document_bytes: 10 << 20,
        }
    }
}

/// The answer of a URL. Every field is untrusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// The URL after the last redirect.
    pub url: String,
    /// The HTTP status.
    pub status: u16,
    /// The media type the answer declares, without parameters, or empty.
    pub media_type: String,
    /// The body.
    pub body: FetchedBody,
}

/// A body, by its declared type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FetchedBody {
    /// Text, made readable when it was HTML.
    Text {
        /// The text.
        text: String,
        /// The text was longer than the limit.
        cut: bool,
    },
    /// A JPEG, PNG, GIF or WebP image, whole.
    Image(Vec<u8>),
    /// A PDF, whole.
    Document(Vec<u8>),
    /// A body of another type, which was not read.
    Other,
}

/// One search result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebHit {
    /// The page's title.
    pub title: String,
    /// Its address.
    pub url: String,
    /// An excerpt.
    pub description: String,
}
