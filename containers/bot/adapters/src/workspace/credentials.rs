//! An origin's login, as only the git that clones it receives it.
//!
//! Everyone on the machine can read a process's arguments, and every process with the same user the
//! environment, so neither contains it. Git gets the address without a login and asks a helper,
//! which reads it from a pipe (`start`). The helper answers only for the origin's own host,
//! wherever a redirect leads.

use crate::logins::Login;

/// The helper: answers git's `get` from the pipe, and ignores `store` and `erase`.
const HELPER: &str = "!f() { if test \"$1\" = get; then cat <&4; fi; }; f";

/// Login for an HTTP address.
pub(crate) struct Credentials {
    /// The address's scheme and host.
    site: String,
    login: Login,
}

impl Credentials {
    /// Returns the credentials for an address without a login.
    pub(super) fn new(address: &str, login: Login) -> Self {
        let (scheme, rest) = address.split_once("://").unwrap_or_default();
        let host = rest.split('/').next().unwrap_or_default();
        Self {
            site: format!("{scheme}://{host}"),
            login,
        }
    }

    /// Returns the git setting that enables the helper.
    pub(super) fn setting(&self) -> String {
        format!("credential.{}.helper={HELPER}", self.site)
    }

    /// Returns a line for each, in the form that `start` writes to the pipe.
    pub(super) fn lines(&self) -> String {
        format!("{}\n{}\n", self.login.user, self.login.password)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn helper_answers_for_the_site_only() {
        let login = Login {
            user: "bot".into(),
            password: "p@ss:w".into(),
        };
        let found = Credentials::new("https://host:8443/x.git", login);
        assert_eq!(found.lines(), "bot\np@ss:w\n");
        assert!(
            found
                .setting()
                .starts_with("credential.https://host:8443.helper=")
        );
        assert!(!found.setting().contains("p@ss"));
    }
}
