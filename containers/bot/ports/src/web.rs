//! The web port: pages on the public internet, and a search over them.
//!
//! Not here: checking for public addresses and converting a body to text (the adapter), and the
//! presentation to the model (`ars-bot-tools`).

use std::time::Duration;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use crate::WebError;

/// A client for the public web. It never reaches a private address.
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

    /// Returns a query's best matches, best first.
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
    /// Name of the agent.
    pub agent: &'a str,
    /// Whether the run has a working tree.
    pub has_tree: bool,
    /// Name of the repository, if any.
    pub repository: Option<&'a str>,
    /// Origin of the repository, if any.
    pub origin: Option<&'a str>,
}

/// Limits for a fetch (docs/reference/limits.md#tools).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchLimits {
    /// From the call to the last byte, redirects included.
    pub time: Duration,
    /// Text bytes after decompression; more is cut.
    pub text_bytes: usize,
    /// Maximum image size in bytes. A larger image is rejected.
    pub image_bytes: usize,
    /// Maximum document size in bytes. A larger document is rejected.
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

/// A URL's response. Every field is untrusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// The URL after the last redirect.
    pub url: String,
    /// HTTP status of the response.
    pub status: u16,
    /// The media type the answer declares, without parameters, or empty.
    pub media_type: String,
    /// Body, by declared type.
    pub body: FetchedBody,
}

/// A body, by declared type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FetchedBody {
    /// Text, made readable when it was HTML.
    Text {
        /// Text after conversion.
        text: String,
        /// The text was longer than the limit.
        cut: bool,
    },
    /// A JPEG, PNG, GIF or WebP image, whole.
    Image(Vec<u8>),
    /// A whole PDF document.
    Document(Vec<u8>),
    /// A body with another type, which was not read.
    Other,
}

/// A search result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebHit {
    /// Title of the page.
    pub title: String,
    /// Address of the page.
    pub url: String,
    /// An excerpt from the page.
    pub description: String,
}
