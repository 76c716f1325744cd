//! Code host call failures. No variant carries the host's text.

use ars_codehost::answer::Meaning;

/// Why a call failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CodeHostError {
    /// The host answered, and this is what the response means.
    #[error("{}", shown(.0))]
    Answer(Meaning),
    /// The host did not answer within the time, or the connection broke.
    #[error("the code host could not be reached")]
    Unreachable,
    /// The answer has another form than the host documents.
    #[error("the code host's answer could not be read")]
    Unreadable,
    /// The response is larger than the limit.
    #[error("the code host's answer is larger than {0} bytes")]
    TooLarge(usize),
    /// The configured key cannot sign, so there is no credential.
    #[error("the code host's key in the configuration cannot be used")]
    Key,
    /// The plain token cannot do this, because only an app can.
    #[error("this needs a GitHub App; a plain token is configured")]
    NeedsApp,
}

impl CodeHostError {
    /// Returns what the host's response means, if it answered.
    pub const fn meaning(&self) -> Option<&Meaning> {
        match self {
            Self::Answer(meaning) => Some(meaning),
            Self::Unreachable
            | Self::Unreadable
            | Self::TooLarge(_)
            | Self::Key
            | Self::NeedsApp => None,
        }
    }

    /// Returns whether a call with effects may have been performed.
    /// The caller then searches for the effect.
    pub const fn is_effect_unknown(&self) -> bool {
        match self {
            Self::Unreachable | Self::Unreadable | Self::TooLarge(_) => true,
            Self::Answer(meaning) => matches!(meaning, Meaning::Unavailable | Meaning::Unknown),
            Self::Key | Self::NeedsApp => false,
        }
    }

    /// Returns whether the same call may succeed later without a change by a person.
    pub const fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable => true,
            Self::Answer(meaning) => {
                matches!(
                    meaning,
                    Meaning::Unavailable
                        | Meaning::RateLimited { .. }
                        | Meaning::SecondaryLimited { .. }
                )
            }
            Self::Unreadable | Self::TooLarge(_) | Self::Key | Self::NeedsApp => false,
        }
    }

    /// Returns whether the host has no such item, or hides it.
    pub const fn is_not_found(&self) -> bool {
        matches!(self, Self::Answer(Meaning::NotFound | Meaning::Gone))
    }
}

const fn shown(meaning: &Meaning) -> &'static str {
    match meaning {
        Meaning::Success => "the code host's answer was not expected",
        Meaning::BadCredentials => "the code host rejected the service's credential",
        Meaning::RateLimited { .. } => "the code host's rate limit is used up; try again later",
        Meaning::SecondaryLimited { .. } => {
            "the code host limits the service's requests; try again later"
        }
        Meaning::PermissionMissing => "the service has no permission for this on the code host",
        Meaning::Archived => "the repository is archived and read-only",
        Meaning::Protected => "the branch is protected",
        Meaning::Moved { .. } => "the repository has another name now; use the new one",
        Meaning::NotFound => "the code host has no such item, or the service may not see it",
        Meaning::Gone => "the item is gone, or the feature is turned off for this repository",
        Meaning::AlreadyExists => "it exists already",
        Meaning::NoDrafts => "the repository has no draft pull requests",
        Meaning::DiffTooLarge => "the diff is larger than the code host shows",
        Meaning::AnchorRejected => "the code host rejected the line of a comment",
        Meaning::OutsideInstallation => {
            "the repository is not part of the app's installation, or it was renamed"
        }
        Meaning::Invalid => "the code host rejected the request as invalid",
        Meaning::Unavailable => "the code host failed; try again later",
        Meaning::Unknown => "the code host answered in a way that the service does not know",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lost_answers_leave_the_effect_open() {
        for (error, is_unknown, is_passing) in [
            (CodeHostError::Unreachable, true, true),
            (CodeHostError::Unreadable, true, false),
            (CodeHostError::Answer(Meaning::Unavailable), true, true),
            (
                CodeHostError::Answer(Meaning::SecondaryLimited { wait_ms: 1 }),
                false,
                true,
            ),
            (CodeHostError::Answer(Meaning::Invalid), false, false),
            (CodeHostError::Key, false, false),
        ] {
            assert_eq!(
                (error.is_effect_unknown(), error.is_passing()),
                (is_unknown, is_passing),
                "{error}"
            );
        }
    }
}
