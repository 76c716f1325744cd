//! A request in the form the core knows, independent of the channel.

use ars_auth::Actor;
use ars_events::InputSource;
use ars_types::{Effort, ModelRef, Platform, RefName, ThreadKey, UnixMillis, Visibility};
use ars_wire::idempotency::IdempotencyKey;
use sha2::{Digest as _, Sha256};

use crate::Attachment;

/// An inbound request, converted by a channel adapter.
#[derive(Debug, Clone)]
pub struct IncomingMessage {
    /// The requester, namespaced by platform (`http:<subject>`), with the grants the channel vouches for.
    pub actor: Actor,
    /// Namespaced channel, such as `http:default`.
    pub channel_id: String,
    /// Key of the conversation's thread.
    pub thread_key: ThreadKey,
    /// Who may see the channel.
    pub visibility: Visibility,
    /// The request text, untrimmed.
    pub text: String,
    /// Files that came with it, in their order.
    pub attachments: Vec<Attachment>,
    /// When the adapter accepted it.
    pub received_at: UnixMillis,
    /// Choices made outside the text, such as command-line flags. They override directives.
    pub choices: Choices,
    /// Where the request was written.
    pub source: Option<InputSource>,
    /// The caller's idempotency key, which the run's claim stores.
    pub idempotency: Option<IdempotencyKey>,
    /// The requester confirmed the destructive command in the text. Set only by a channel that asks
    /// for confirmations, and by no one's input.
    pub is_confirmed: bool,
}

/// Returns the idempotency key of a platform's event: the same identity is the same event, in each
/// delivery and process.
pub fn event_key(platform: Platform, identity: &[u8]) -> IdempotencyKey {
    let digest = hex::encode(Sha256::digest(identity));
    IdempotencyKey {
        subject: platform.to_string(),
        key: digest.clone(),
        fingerprint: digest,
    }
}

/// What a request chooses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Choices {
    /// Name of the agent.
    pub agent: Option<String>,
    /// The model, if chosen.
    pub model: Option<ModelRef>,
    /// The effort, if chosen.
    pub effort: Option<Effort>,
    /// A configured repository's name, or a path or URL.
    pub repository: Option<String>,
    /// The ref to start from.
    pub git_ref: Option<RefName>,
    /// A coding run changes the pull request that the text names, or nothing.
    pub must_continue: bool,
}
