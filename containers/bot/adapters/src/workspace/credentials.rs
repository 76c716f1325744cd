//! The credentials of git for an origin: those of its address, or of the code host.
//!
//! Everyone on the machine can read a process's arguments, and every process of the same user its environment, so
//! neither contains them. Git gets the address without credentials and asks a helper, which reads them from a pipe
//! (`start`). The helper answers for the origin's own host only, wherever a redirect leads.

use ars_bot_ports::{WorkspaceError, code_host::GitCredential};
use percent_encoding::percent_decode_str;

/// The helper: answers git's `get` from the pipe, and ignores `store` and `erase`.
const HELPER: &str = "!f() { if test \"$1\" = get; then cat <&4; fi; }; f";

/// User and password of an HTTP address.
#[derive(Default)]
pub(super) struct Credentials {
    /// Their scheme and host.
    site: String,
    user: String,
    password: String,
}

impl Credentials {
    /// Returns the credentials of an origin, if it has any.
    pub(super) fn of(origin: &str) -> Result<Option<Self>, WorkspaceError> {
        let Some(found) = Found::in_origin(origin) else { return Ok(None) };
        if !found.is_http() {
            let problem = "a password in an address is for http and https";
            return if found.password.is_empty() {
                Ok(None)
            } else {
                Err(WorkspaceError::Clone(problem.into()))
            };
        }
        let Some((user, password)) = found.decoded() else {
            let problem = "the credentials in its address are not percent-encoded text of one line";
            return Err(WorkspaceError::Clone(problem.into()));
        };
        Ok(Some(Self { site: format!("{}://{}", found.scheme, found.host), user, password }))
    }

    /// Returns a credential of the code host for an origin without own credentials.
    pub(super) fn minted(origin: &str, credential: &GitCredential) -> Option<Self> {
        let (scheme, rest) = origin.split_once("://")?;
        let host = rest.split('/').next()?;
        let password = credential.password.expose().to_owned();
        Some(Self { site: format!("{scheme}://{host}"), user: credential.user.to_owned(), password })
    }

    /// Returns the git setting that enables the helper.
    pub(super) fn setting(&self) -> String {
        format!("credential.{}.helper={HELPER}", self.site)
    }

    /// Returns one line each, in the form that `start` writes to the pipe.
    pub(super) fn lines(&self) -> String {
        format!("{}\n{}\n", self.user, self.password)
    }
}

/// Returns the secrets of an origin, encoded and decoded: a password, or a user without one (a token).
/// The user of `ssh://git@host` is not a secret.
pub fn secrets_of(origin: &str) -> Vec<String> {
    let Some(found) = Found::in_origin(origin) else { return Vec::new() };
    if found.password.is_empty() && !found.is_http() {
        return Vec::new();
    }
    let decoded = found.decoded().map(|(user, password)| if password.is_empty() { user } else { password });
    let written = if found.password.is_empty() { found.user } else { found.password };
    let both = [Some(written.to_owned()), decoded];
    both.into_iter().flatten().filter(|secret| !secret.is_empty()).collect()
}

/// The parts of an address with credentials, still encoded.
struct Found<'a> {
    scheme: &'a str,
    user: &'a str,
    password: &'a str,
    host: &'a str,
}

impl<'a> Found<'a> {
    fn in_origin(origin: &'a str) -> Option<Self> {
        let (scheme, rest) = origin.split_once("://")?;
        let authority = rest.split('/').next()?;
        let (userinfo, host) = authority.rsplit_once('@')?;
        let (user, password) = userinfo.split_once(':').unwrap_or((userinfo, ""));
        Some(Self { scheme, user, password, host })
    }

    fn is_http(&self) -> bool {
        matches!(self.scheme, "http" | "https")
    }

    /// Returns the decoded parts, or `None` with line breaks, which git's protocol cannot represent.
    fn decoded(&self) -> Option<(String, String)> {
        let decode = |written| {
            let text = percent_decode_str(written).decode_utf8().ok()?;
            (!text.contains(char::is_control)).then(|| text.into_owned())
        };
        Some((decode(self.user)?, decode(self.password)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_decoded_for_their_host() {
        let found = Credentials::of("https://bot:p%40ss:w@host:8443/x.git").unwrap().unwrap();
        assert_eq!(found.lines(), "bot\np@ss:w\n");
        assert!(found.setting().starts_with("credential.https://host:8443.helper="));
        assert!(!found.setting().contains("p@ss"));
        for without in ["https://host/a@b", "ssh://git@host/x", "/srv/x", "git@host:x"] {
            assert!(Credentials::of(without).unwrap().is_none(), "{without}");
        }
    }

    #[test]
    fn unrepresentable_credentials_are_rejected() {
        for origin in ["https://bot:pw%0Aquit@host/x", "https://bot:pw%FF@host/x", "ssh://bot:pw@host/x"] {
            let problem = Credentials::of(origin).err().unwrap().to_string();
            assert!(!problem.contains("pw"), "{problem}");
        }
    }

    #[test]
    fn user_is_secret_only_without_a_password() {
        assert_eq!(secrets_of("https://bot:p%40ss@host/x"), ["p%40ss", "p@ss"]);
        assert_eq!(secrets_of("https://token@host/x"), ["token", "token"]);
        assert_eq!(secrets_of("ssh://bot:pw@host/x"), ["pw", "pw"]);
        assert!(secrets_of("ssh://git@host/x").is_empty());
        assert!(secrets_of("https://host/x").is_empty());
    }
}
