//! The web port: pages of the public internet, and a search over them.
//!
//! Not here: which addresses count as public and how a body becomes text (the adapter), and how an answer is shown to
//! the model (`tools`). Implements bot supplement section 15, the `web_fetch` and `web_search` rows.

use std::time::Duration;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

/// Reads the public web. Nothing private can be reached through it, whatever the URL says.
#[async_trait]
pub trait Web: Send + Sync {
    /// Fetches a page. An answer with an error status is an answer.
    async fn fetch(
        &self,
        url: &str,
        limits: FetchLimits,
        cancel: &CancellationToken,
    ) -> Result<Fetched, WebError>;

    /// The best matches of a query, best first.
    async fn search(
        &self,
        query: &str,
        limit: Duration,
        cancel: &CancellationToken,
    ) -> Result<Vec<WebHit>, WebError>;
}

/// How much one fetch may take (bot supplement section 15, the `web_fetch` limits).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchLimits {
    /// From the call to the last byte, redirects included.
    pub time: Duration,
    /// Bytes of text after decompression; more is cut.
    pub text_bytes: usize,
    /// Bytes of an image; more is refused.
    pub image_bytes: usize,
    /// Bytes of a document; more is refused.
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

/// What a URL answered. Every field is the far side's word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// Where the last redirect led.
    pub url: String,
    /// The HTTP status.
    pub status: u16,
    /// The media type the answer declares, without parameters; empty when it declares none.
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
        /// There was more than the limit.
        cut: bool,
    },
    /// A JPEG, PNG, GIF or WebP image, whole.
    Image(Vec<u8>),
    /// A PDF, whole.
    Document(Vec<u8>),
    /// Of a type that is only named; it was not read.
    Other,
}

/// One search result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebHit {
    /// The page's title.
    pub title: String,
    /// Its address.
    pub url: String,
    /// A few words of it.
    pub description: String,
}

/// Why there is no answer. No variant carries text of the far side.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WebError {
    /// Not an absolute http or https URL, or one with credentials in it.
    #[error("`url` must be an absolute http or https URL without a user name or password")]
    Url,
    /// The host is private, local or reserved: by its name, its literal address, or what its name resolves to.
    #[error("the address is not on the public internet; private, local and reserved addresses are refused")]
    Forbidden,
    /// A redirect led to a URL that is refused.
    #[error("a redirect was refused: {0}")]
    Redirect(Box<WebError>),
    /// Too many redirects.
    #[error("more than {0} redirects")]
    Redirects(usize),
    /// The name has no address.
    #[error("the host name could not be resolved")]
    Unresolved,
    /// No connection, or it broke.
    #[error("the host could not be reached or broke the connection off")]
    Unreachable,
    /// It took too long.
    #[error("no full answer within {} s", .0.as_secs_f64())]
    TimedOut(Duration),
    /// An image or document beyond its limit.
    #[error("the body is larger than {0} bytes and is refused, not cut")]
    TooLarge(usize),
    /// The body is in a compression nobody asked for, or broken in it.
    #[error("the body's content encoding cannot be read")]
    Encoding,
    /// No search service is configured.
    #[error("web search is not configured")]
    NotConfigured,
    /// The search service refused or failed, with this status.
    #[error("the search service answered with status {0}")]
    Search(u16),
    /// The search service's answer made no sense.
    #[error("the search service's answer could not be read")]
    SearchAnswer,
    /// The run was stopped.
    #[error("stopped")]
    Cancelled,
}
