//! The Web API: calls, their rates and their failures. Not here: the event socket.

mod base;
mod calls;
mod client;
mod error;
mod files;
mod limiter;
mod method;
mod streams;

pub use base::{ApiBase, DEFAULT_API_BASE};
pub use calls::{Account, ChannelFacts, Page, PostForm, Posted, UserFacts};
pub use client::{Api, Call};
pub use error::ApiError;
pub use files::DownloadError;
pub use limiter::Urgency;
pub use method::Method;
pub use streams::Recipient;
