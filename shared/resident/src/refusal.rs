//! Request rejections: a token, HTTP status, and the body's fields.
//!
//! The token before the colon is the interface. See docs/reference/residents.md#errors.

use ars_events::clean;
use ars_types::StrictRefName;
use serde::{Deserialize as _, Serialize};
use serde_json::Value;

use crate::lifecycle::StateWord;

/// Maximum length of an error text in characters.
const ERROR_MAX_CHARS: usize = 1_000;

/// A token from the error register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Token {
    /// No valid bearer, or a path that is no route.
    Unauthorized,
    /// The read token on another debug operation.
    Forbidden,
    /// A path that is no route, for an administrator.
    UnknownRoute,
    /// The route needs another method.
    MethodNotAllowed,
    /// A field is invalid.
    Invalid,
    /// A path leads out of the tree.
    PathEscape,
    /// The resource has no registry row.
    NotOnboarded,
    /// The resource has a registry row already.
    AlreadyOnboarded,
    /// There is no free place.
    OverCap,
    /// The code host installation does not contain the repository.
    NotInInstallation,
    /// The code host minted no token, for a reason that may pass.
    MintFailed,
    /// A cycle is running.
    RebuildRefused,
    /// The thread has no tree.
    NotAttached,
    /// The thread's tree was evicted.
    Evicted,
    /// The thread's tree is not on the disk.
    WorktreeMissing,
    /// The container was replaced during the call.
    RuntimeReplaced,
    /// The state does not serve.
    NotServiceable,
    /// The file could not be read.
    ReadFailed,
    /// The file could not be written.
    WriteFailed,
    /// The thread has no binding.
    NoBinding,
    /// An attach names no ref, and the thread has none yet.
    NeedsRef,
    /// The mirror has no such ref.
    UnknownRef,
    /// All pool users are in use.
    UserPoolExhausted,
    /// The mirror is locked by another operation.
    MirrorBusy,
    /// The disk has no room for another tree.
    DiskPressure,
    /// The container runs an older image.
    ImageStale,
    /// An attach step failed.
    AttachFailed,
    /// The command changes something.
    OpRefused,
    /// The command table has no such command.
    OpUnavailable,
    /// An operation step failed.
    OpFailed,
    /// The object itself failed.
    Internal,
}

impl Token {
    /// Every token, in order.
    pub const ALL: [Self; 31] = [
        Self::Unauthorized,
        Self::Forbidden,
        Self::UnknownRoute,
        Self::MethodNotAllowed,
        Self::Invalid,
        Self::PathEscape,
        Self::NotOnboarded,
        Self::AlreadyOnboarded,
        Self::OverCap,
        Self::NotInInstallation,
        Self::MintFailed,
        Self::RebuildRefused,
        Self::NotAttached,
        Self::Evicted,
        Self::WorktreeMissing,
        Self::RuntimeReplaced,
        Self::NotServiceable,
        Self::ReadFailed,
        Self::WriteFailed,
        Self::NoBinding,
        Self::NeedsRef,
        Self::UnknownRef,
        Self::UserPoolExhausted,
        Self::MirrorBusy,
        Self::DiskPressure,
        Self::ImageStale,
        Self::AttachFailed,
        Self::OpRefused,
        Self::OpUnavailable,
        Self::OpFailed,
        Self::Internal,
    ];

    /// Returns the token's word and HTTP status.
    pub const fn parts(self) -> (&'static str, u16) {
        match self {
            Self::Unauthorized => ("unauthorized", 401),
            Self::Forbidden => ("forbidden", 403),
            Self::UnknownRoute => ("unknown route", 404),
            Self::MethodNotAllowed => ("method-not-allowed", 405),
            Self::Invalid => ("invalid", 400),
            Self::PathEscape => ("path-escape", 400),
            Self::NotOnboarded => ("not-onboarded", 404),
            Self::AlreadyOnboarded => ("already-onboarded", 409),
            Self::OverCap => ("over-cap", 429),
            Self::NotInInstallation => ("not-in-installation", 403),
            Self::MintFailed => ("github-token-mint-failed", 503),
            Self::RebuildRefused => ("rebuild-refused", 409),
            Self::NotAttached => ("not-attached", 409),
            Self::Evicted => ("evicted", 409),
            Self::WorktreeMissing => ("worktree-missing", 409),
            Self::RuntimeReplaced => ("runtime-replaced", 409),
            Self::NotServiceable => ("not-serviceable", 503),
            Self::ReadFailed => ("read-failed", 404),
            Self::WriteFailed => ("write-failed", 400),
            Self::NoBinding => ("no-binding", 404),
            Self::NeedsRef => ("needs-ref", 409),
            Self::UnknownRef => ("unknown-ref", 400),
            Self::UserPoolExhausted => ("user-pool-exhausted", 429),
            Self::MirrorBusy => ("mirror-busy", 503),
            Self::DiskPressure => ("disk-pressure", 503),
            Self::ImageStale => ("image-stale", 503),
            Self::AttachFailed => ("attach-failed", 500),
            Self::OpRefused => ("op-refused", 409),
            Self::OpUnavailable => ("op-unavailable", 409),
            Self::OpFailed => ("op-failed", 500),
            Self::Internal => ("internal", 500),
        }
    }

    /// Returns the token that starts an error text, or `None` for a text with another form.
    fn of_error(error: &str) -> Option<Self> {
        let starts = |token: &Self| {
            let rest = error.strip_prefix(token.parts().0);
            rest.is_some_and(|rest| {
                rest.is_empty() || rest.starts_with(": ") || rest.starts_with(" at ")
            })
        };
        Self::ALL.into_iter().find(starts)
    }

    /// Returns what the client must do before it may repeat the call.
    pub const fn needs(self) -> Option<&'static str> {
        match self {
            Self::NotAttached | Self::Evicted | Self::WorktreeMissing => Some("attach"),
            Self::NeedsRef => Some("ref"),
            _ => None,
        }
    }
}

/// A rejection. Its JSON is the response body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Refusal {
    #[serde(skip)]
    token: Token,
    error: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    needs: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    default_ref: Option<StrictRefName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<StateWord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl Refusal {
    /// Makes a rejection. The detail is cleaned and capped.
    pub fn new(token: Token, detail: &str) -> Self {
        let word = token.parts().0;
        let error = match (token, detail) {
            // These bodies have no details.
            (Token::Unauthorized | Token::UnknownRoute, _) | (_, "") => word.to_owned(),
            // The failing step is part of the token.
            (Token::AttachFailed | Token::OpFailed | Token::WriteFailed, detail)
                if detail.starts_with("at ") =>
            {
                format!("{word} {detail}")
            }
            (_, detail) => format!("{word}: {detail}"),
        };
        let reason = match token {
            Token::MirrorBusy | Token::DiskPressure | Token::RuntimeReplaced => {
                Some(word.to_owned())
            }
            _ => None,
        };
        let error = clean(&error, ERROR_MAX_CHARS);
        Self {
            token,
            error,
            needs: token.needs(),
            default_ref: None,
            state: None,
            reason,
        }
    }

    /// Rejects a call on a resident that does not serve.
    pub fn not_serviceable(state: StateWord, reason: &str) -> Self {
        let mut refusal = Self::new(
            Token::NotServiceable,
            &format!("the resident is {}", state.as_str()),
        );
        refusal.state = Some(state);
        refusal.reason = Some(clean(reason, ERROR_MAX_CHARS));
        refusal
    }

    /// Rejects an attach without a ref.
    pub fn needs_ref(default_ref: StrictRefName) -> Self {
        let detail = format!("name a ref; the default branch is {default_ref}");
        Self {
            default_ref: Some(default_ref),
            ..Self::new(Token::NeedsRef, &detail)
        }
    }

    /// Parses a response body. Returns `None` for a body that is no rejection from the register.
    pub fn of_body(body: &Value) -> Option<Self> {
        let text = |field: &str| body.get(field).and_then(Value::as_str);
        let error = text("error")?;
        let token = Token::of_error(error)?;
        Some(Self {
            token,
            error: clean(error, ERROR_MAX_CHARS),
            needs: token.needs(),
            default_ref: text("defaultRef").and_then(|name| StrictRefName::parse(name).ok()),
            state: body
                .get("state")
                .and_then(|state| StateWord::deserialize(state).ok()),
            reason: text("reason").map(|reason| clean(reason, ERROR_MAX_CHARS)),
        })
    }

    /// Adds the resident's state.
    #[must_use]
    pub fn in_state(mut self, state: StateWord) -> Self {
        self.state = Some(state);
        self
    }

    /// Returns the rejection's token.
    pub const fn token(&self) -> Token {
        self.token
    }

    /// Returns the HTTP status.
    pub const fn status(&self) -> u16 {
        self.token.parts().1
    }

    /// Returns the default branch, for an attach that needs a ref.
    pub const fn default_ref(&self) -> Option<&StrictRefName> {
        self.default_ref.as_ref()
    }

    /// Returns the resident's state, where the rejection names it.
    pub const fn state(&self) -> Option<StateWord> {
        self.state
    }

    /// Returns the state's reason, where the rejection names it.
    pub fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    /// Returns the error text.
    pub fn error(&self) -> &str {
        &self.error
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn tokens_are_distinct_and_start_the_error() {
        let words: BTreeSet<_> = Token::ALL.iter().map(|token| token.parts().0).collect();
        assert_eq!(words.len(), Token::ALL.len());
        for token in Token::ALL {
            assert!(
                Refusal::new(token, "why")
                    .error()
                    .starts_with(token.parts().0)
            );
            assert!((400..=503).contains(&token.parts().1));
        }
    }

    #[test]
    fn bodies_have_the_documented_fields() {
        let json = |refusal: Refusal| serde_json::to_value(refusal).unwrap();
        let main = StrictRefName::parse("main").unwrap();
        let body = json(Refusal::needs_ref(main));
        assert_eq!(
            (&body["needs"], &body["defaultRef"]),
            (&"ref".into(), &"main".into())
        );
        assert_eq!(
            json(Refusal::new(Token::Unauthorized, "x")),
            serde_json::json!({"error": "unauthorized"})
        );
        let body =
            json(Refusal::new(Token::DiskPressure, "too little room").in_state(StateWord::Warm));
        assert_eq!(body["reason"], "disk-pressure");
        assert_eq!(body["state"], "warm");
        let body = json(Refusal::new(
            Token::AttachFailed,
            "at worktree-clone: exit 1",
        ));
        assert_eq!(body["error"], "attach-failed at worktree-clone: exit 1");
    }

    #[test]
    fn rejections_survive_the_wire() {
        let main = StrictRefName::parse("main").unwrap();
        let rejections = Token::ALL
            .into_iter()
            .map(|token| Refusal::new(token, "why"))
            .chain([
                Refusal::needs_ref(main),
                Refusal::not_serviceable(StateWord::Degraded, "disk-full: no room"),
                Refusal::new(Token::AttachFailed, "at worktree-clone: exit 1"),
            ]);
        for refusal in rejections {
            let body = serde_json::to_value(&refusal).unwrap();
            assert_eq!(Refusal::of_body(&body), Some(refusal));
        }
        for body in [
            serde_json::json!({"error": ""}),
            serde_json::json!({"error": "evictedly"}),
        ] {
            assert_eq!(Refusal::of_body(&body), None);
        }
    }

    #[test]
    fn error_hides_secrets() {
        let token = format!("ghp_{}", "a1".repeat(18));
        let refusal = Refusal::new(Token::OpFailed, &format!("remote: {token}\u{1b}[31m"));
        assert!(
            !refusal.error().contains(&token) && !refusal.error().contains('\u{1b}'),
            "{}",
            refusal.error()
        );
    }
}
