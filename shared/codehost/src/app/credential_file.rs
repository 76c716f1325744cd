//! The file that carries a token to git, and its renewal before a command that may write.

use ars_types::UnixMillis;

use super::tokens::has_life;

/// Maximum age of git's file with a token of unknown end.
const MAX_UNKNOWN_AGE_MS: i64 = 2_700_000;

/// The file, as one `stat` shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CredentialFile {
    /// It is missing.
    Missing,
    /// It is empty: git erased the token after the host rejected it.
    Empty,
    /// It has a token.
    Written {
        /// When it was written.
        at: UnixMillis,
        /// End of the token, if known.
        expires_at: Option<UnixMillis>,
    },
}

/// Renewal of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Renewal {
    /// It stays.
    None,
    /// It is written again, with a cached token if there is one.
    Write,
    /// It is written again with a fresh token, because the cached one may be the rejected one.
    WriteFresh,
}

/// Decides about the file before a command. A failed renewal does not stop the command.
pub fn renewal(file: CredentialFile, now: UnixMillis) -> Renewal {
    match file {
        CredentialFile::Missing | CredentialFile::Empty => Renewal::WriteFresh,
        CredentialFile::Written { expires_at: Some(expires_at), .. } if has_life(expires_at, now) => {
            Renewal::None
        }
        CredentialFile::Written { at, expires_at: None } if now.saturating_sub(at) <= MAX_UNKNOWN_AGE_MS => {
            Renewal::None
        }
        CredentialFile::Written { .. } => Renewal::Write,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_is_renewed_before_its_token_ends() {
        let written = |at, expires_at| CredentialFile::Written { at, expires_at };
        for (file, now, expected) in [
            (CredentialFile::Missing, 0, Renewal::WriteFresh),
            (CredentialFile::Empty, 0, Renewal::WriteFresh),
            (written(0, Some(3_600_000)), 2_099_999, Renewal::None),
            (written(0, Some(3_600_000)), 2_100_000, Renewal::Write),
            (written(0, None), 2_700_000, Renewal::None),
            (written(0, None), 2_700_001, Renewal::Write),
        ] {
            assert_eq!(renewal(file, now), expected, "{file:?} {now}");
        }
    }
}
