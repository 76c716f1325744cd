//! Why a folder of skills cannot be loaded.

use std::{io, path::PathBuf};

/// Why a folder of skills cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SkillError {
    /// A folder or file could not be read.
    #[error("{path} could not be read")]
    Unreadable {
        /// Its path.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A file is not a skill.
    #[error("{path} is not a skill: {reason}")]
    Malformed {
        /// Its path.
        path: PathBuf,
        /// The fault.
        reason: MalformedSkill,
    },
}

/// The fault of a file that is not a skill.
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
    /// No agent is named, or one by an empty name.
    #[error("`agents` must name at least one agent, and none by an empty name")]
    Agents,
    /// There is no text after the front matter.
    #[error("it has no body")]
    NoBody,
    /// Another skill of the folder has the same name.
    #[error("another skill has its `name`")]
    DuplicateName,
}
