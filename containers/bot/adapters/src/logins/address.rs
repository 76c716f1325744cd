//! User and password in an origin's address.

use percent_encoding::percent_decode_str;

use super::login::Login;

/// Returns the login in an origin. `None` without a login, and for ssh, where the user is not a
/// secret.
///
/// # Errors
/// Returns why the login cannot be used, without the login text.
pub(crate) fn login_in(origin: &str) -> Result<Option<Login>, &'static str> {
    let Some(found) = FoundAddress::in_origin(origin) else {
        return Ok(None);
    };
    if !found.is_http() {
        let problem = "a password in an address is for http and https";
        return if found.password.is_empty() {
            Ok(None)
        } else {
            Err(problem)
        };
    }
    let (user, password) = found
        .decoded()
        .ok_or("the credentials in its address are not percent-encoded text of one line")?;
    Ok(Some(Login { user, password }))
}

/// Returns an origin's secrets, encoded and decoded: a password, or a user without a password (a
/// token). The user in `ssh://git@host` is not a secret.
pub fn secrets_of(origin: &str) -> Vec<String> {
    let Some(found) = FoundAddress::in_origin(origin) else {
        return Vec::new();
    };
    if found.password.is_empty() && !found.is_http() {
        return Vec::new();
    }
    let decoded = found
        .decoded()
        .map(|(user, password)| if password.is_empty() { user } else { password });
    let written = if found.password.is_empty() {
        found.user
    } else {
        found.password
    };
    let both = [Some(written.to_owned()), decoded];
    both.into_iter()
        .flatten()
        .filter(|secret| !secret.is_empty())
        .collect()
}

/// Removes `user:password@` from every URL.
pub(crate) fn without_userinfo(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("://") {
        let (before, after) = rest.split_at(start + 3);
        clean.push_str(before);
        let authority = after.find(|c: char| matches!(c, '/' | '\'' | '"') || c.is_whitespace());
        let authority = &after[..authority.unwrap_or(after.len())];
        rest = match authority.rfind('@') {
            Some(at) => &after[at + 1..],
            None => after,
        };
    }
    clean.push_str(rest);
    clean
}

/// Parts of an address with credentials, still encoded.
struct FoundAddress<'a> {
    scheme: &'a str,
    user: &'a str,
    password: &'a str,
}

impl<'a> FoundAddress<'a> {
    fn in_origin(origin: &'a str) -> Option<Self> {
        let (scheme, rest) = origin.split_once("://")?;
        let authority = rest.split('/').next()?;
        let (userinfo, _) = authority.rsplit_once('@')?;
        let (user, password) = userinfo.split_once(':').unwrap_or((userinfo, ""));
        Some(Self {
            scheme,
            user,
            password,
        })
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
    fn logins_are_decoded() {
        let found = login_in("https://bot:p%40ss:w@host:8443/x.git")
            .unwrap()
            .unwrap();
        assert_eq!(
            (found.user.as_str(), found.password.as_str()),
            ("bot", "p@ss:w")
        );
        for without in [
            "https://host/a@b",
            "ssh://git@host/x",
            "/srv/x",
            "git@host:x",
        ] {
            assert!(login_in(without).unwrap().is_none(), "{without}");
        }
    }

    #[test]
    fn unrepresentable_logins_are_rejected() {
        for origin in [
            "https://bot:pw%0Aquit@host/x",
            "https://bot:pw%FF@host/x",
            "ssh://bot:pw@host/x",
        ] {
            let problem = login_in(origin).err().unwrap();
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

    #[test]
    fn credentials_are_cut_out_of_urls() {
        assert_eq!(
            without_userinfo(
                "fatal: repository 'https://u:p@ss@host/x.git/' not found at ssh://git@h"
            ),
            "fatal: repository 'https://host/x.git/' not found at ssh://h"
        );
        assert_eq!(without_userinfo("mail a@b"), "mail a@b");
    }
}
