//! Adapter errors: settings and files that cannot be used.

use std::{io, path::PathBuf};

/// Why a skill folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SkillError {
    /// A folder or file could not be read.
    #[error("{path} could not be read")]
    Unreadable {
        /// Path that was read.
        path: PathBuf,
        /// Why the script is invalid.
        source: io::Error,
    },
    /// A file is not a skill.
    #[error("{path} is not a skill: {reason}")]
    Malformed {
        /// Path that was read.
        path: PathBuf,
        /// Why the skill is malformed.
        reason: MalformedSkill,
    },
}

/// Why a file is not a skill.
#[derive(Debug, thiserror::Error)]
pub enum MalformedSkill {
    /// The file is too large.
    #[error("it is larger than 64 KiB")]
    TooLarge,
    /// The file is not text.
    #[error("it is not UTF-8")]
    NotUtf8,
    /// The first line does not open the front matter.
    #[error("it does not begin with a line of `---`")]
    NotOpened,
    /// No line closes the front matter.
    #[error("its front matter does not end with a line of `---`")]
    NotClosed,
    /// The front matter has another shape.
    #[error("its front matter is not as it should be: {0}")]
    FrontMatter(Box<dyn std::error::Error + Send + Sync>),
    /// The name is empty or too long.
    #[error("`name` must be 1 to 64 characters on one line")]
    Name,
    /// The description is empty or too long.
    #[error("`description` must be 1 to 1,000 characters without control characters")]
    Description,
    /// No agent is named, or an agent has an empty name.
    #[error("`agents` must name at least one agent, and none by an empty name")]
    Agents,
    /// There is no text after the front matter.
    #[error("it has no body")]
    NoBody,
    /// Another skill in the folder has the same name.
    #[error("another skill has its `name`")]
    DuplicateName,
}

/// A provider that cannot be set up as configured. No error quotes a value.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// The base URL is invalid.
    #[error("providers.{provider}.baseUrl {source}")]
    BaseUrl {
        /// Name of the provider.
        provider: String,
        /// The form that is expected.
        source: EndpointError,
    },
    /// The client cannot be set up.
    #[error("providers.{provider}.{source}")]
    Setup {
        /// Name of the provider.
        provider: String,
        /// The setting that is invalid.
        source: ModelSetupError,
    },
    /// A rehearsal without a script.
    #[error("providers.{provider}.script is missing")]
    NoScript {
        /// Name of the provider.
        provider: String,
    },
    /// A script that cannot be used.
    #[error("providers.{provider}.script {source}")]
    Script {
        /// Name of the provider.
        provider: String,
        /// Why the script is invalid.
        source: ScriptError,
    },
    /// The HTTP client cannot be made, for example without TLS roots.
    #[error("the HTTP client cannot be set up")]
    Http(#[source] reqwest::Error),
}

/// A script that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// The file cannot be read.
    #[error("cannot be read")]
    Unreadable(#[source] std::io::Error),
    /// The file is too large.
    #[error("is larger than {limit} bytes")]
    TooLarge {
        /// The limit that was exceeded.
        limit: u64,
    },
    /// The file is not a script.
    #[error("is not a script: {0}")]
    Malformed(String),
    /// A turn has neither text nor calls.
    #[error("has a turn (number {0}) without text and calls")]
    EmptyTurn(usize),
}

/// A client that cannot be set up. Names the invalid setting, never the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ModelSetupError {
    /// The key cannot be sent in a header.
    #[error("apiKey must be printable ASCII on one line")]
    Key,
    /// The HTTP library failed.
    #[error("kind cannot be set up")]
    Library,
}

/// An invalid base URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be an http or https URL without credentials, query or fragment")]
pub struct EndpointError;

/// A client that cannot be set up. Names the invalid setting, never the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WebSetupError {
    /// The search key cannot be sent in a header.
    #[error("BRAVE_SEARCH_API_KEY must be printable ASCII on one line")]
    SearchKey,
    /// The search service's address is invalid.
    #[error("the search service's address must be an http or https URL")]
    SearchUrl,
    /// The HTTP library failed, for example without root certificates.
    #[error("the HTTP client for web pages cannot be set up")]
    Library,
}

/// Why a name was rejected; found again in the client error's source chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unresolvable {
    /// The name has no address.
    #[error("the name has no address")]
    Unknown,
    /// An address is not public. A single such address suffices: a public site has no private
    /// address.
    #[error("the name has an address that is not public")]
    Forbidden,
}
