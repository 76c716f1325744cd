//! A single check's result.

use serde::Serialize;

/// A single check's result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The part that was checked.
    pub check: &'static str,
    /// Whether the part works.
    pub state: State,
    /// The facts. Never contains a secret.
    pub detail: String,
    /// How to mend it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mend: Option<String>,
}

/// Whether a part works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// The part works.
    Ok,
    /// It works with a limitation.
    Warning,
    /// It does not work.
    Failure,
}

impl Finding {
    pub fn ok(check: &'static str, detail: impl Into<String>) -> Self {
        Self {
            check,
            state: State::Ok,
            detail: detail.into(),
            mend: None,
        }
    }

    pub fn warning(
        check: &'static str,
        detail: impl Into<String>,
        mend: impl Into<String>,
    ) -> Self {
        Self {
            check,
            state: State::Warning,
            detail: detail.into(),
            mend: Some(mend.into()),
        }
    }

    pub fn failure(
        check: &'static str,
        detail: impl Into<String>,
        mend: impl Into<String>,
    ) -> Self {
        Self {
            check,
            state: State::Failure,
            detail: detail.into(),
            mend: Some(mend.into()),
        }
    }

    /// Returns the finding for people: a line, and another with the fix.
    pub fn lines(&self) -> String {
        let state = match self.state {
            State::Ok => "ok",
            State::Warning => "warning",
            State::Failure => "failure",
        };
        let mend = self
            .mend
            .as_ref()
            .map_or_else(String::new, |mend| format!("         mend: {mend}\n"));
        format!("{state:<8} {}: {}\n{mend}", self.check, self.detail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mend_follows_on_its_own_line() {
        assert_eq!(Finding::ok("git", "2.40").lines(), "ok       git: 2.40\n");
        let failure = Finding::failure("models", "no model", "set a key");
        assert_eq!(
            failure.lines(),
            "failure  models: no model\n         mend: set a key\n"
        );
    }
}
