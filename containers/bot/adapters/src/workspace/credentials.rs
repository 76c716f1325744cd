//! The credentials of an origin, which reach the git that clones it and nobody else.
//!
//! A process's arguments are open to everyone on the machine and its environment to everyone of its user, so neither
//! carries them: git is told the address without them and asks a helper, which reads the one pipe they are in
//! (`start`). It is asked for the origin's own host only, wherever a redirect leads.

use ars_bot_ports::WorkspaceError;
use percent_encoding::percent_decode_str;

/// Answers git's question from the pipe; what git wants kept or forgotten is nothing to it.
const HELPER: &str = "!f() { if test \"$1\" = get; then cat <&4; fi; }; f";

/// What stands before the `@` of an http address.
#[derive(Default)]
pub(super) struct Credentials {
    /// Scheme and host, which they are for.
    site: String,
    user: String,
    password: String,
}

impl Credentials {
    /// Those of an origin; none when it has none.
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

    /// The setting that has git ask for them.
    pub(super) fn setting(&self) -> String {
        format!("credential.{}.helper={HELPER}", self.site)
    }

    /// As `start` hands them over: a line each.
    pub(super) fn lines(&self) -> String {
        format!("{}\n{}\n", self.user, self.password)
    }
}

/// What of an origin is secret, as it is written and as it is meant: a password, or a user without one, which is a
/// token. That of `ssh://git@host` is none.
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

/// The parts of an address with credentials, as written.
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

    /// Decoded; none when that is no text of one line, which is all that git's protocol can carry.
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
    fn credentials_are_decoded_and_meant_for_their_own_host() {
        let found = Credentials::of("https://bot:p%40ss:w@host:8443/x.git").unwrap().unwrap();
        assert_eq!(found.lines(), "bot\np@ss:w\n");
        assert!(found.setting().starts_with("credential.https://host:8443.helper="));
        assert!(!found.setting().contains("p@ss"));
        for without in ["https://host/a@b", "ssh://git@host/x", "/srv/x", "git@host:x"] {
            assert!(Credentials::of(without).unwrap().is_none(), "{without}");
        }
    }

    #[test]
    fn credentials_that_git_cannot_be_told_are_refused_unquoted() {
        for origin in ["https://bot:pw%0Aquit@host/x", "https://bot:pw%FF@host/x", "ssh://bot:pw@host/x"] {
            let problem = Credentials::of(origin).err().unwrap().to_string();
            assert!(!problem.contains("pw"), "{problem}");
        }
    }

    #[test]
    fn a_password_is_secret_and_a_user_only_when_it_stands_alone() {
        assert_eq!(secrets_of("https://bot:p%40ss@host/x"), ["p%40ss", "p@ss"]);
        assert_eq!(secrets_of("https://token@host/x"), ["token", "token"]);
        assert_eq!(secrets_of("ssh://bot:pw@host/x"), ["pw", "pw"]);
        assert!(secrets_of("ssh://git@host/x").is_empty());
        assert!(secrets_of("https://host/x").is_empty());
    }
}
