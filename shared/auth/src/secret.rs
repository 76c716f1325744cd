//! Text that must never be shown: tokens and keys from configuration.
//!
//! Not here: where secrets are read from (the shells) and their removal from shown text (`ars-events`).
//! Implements document 1 section 5.1 (constant-time, equal-length compare) and the house rule that a secret has
//! no `Debug`, `Display` or `Serialize`, so that no log line or error can carry one.

use subtle::ConstantTimeEq;

/// A non-empty secret.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// The secret in a configuration value; none when that is unset or empty, so an empty secret grants nothing.
    pub fn parse(value: Option<String>) -> Option<Self> {
        value.filter(|text| !text.is_empty()).map(Self)
    }

    /// The text itself, for the one place that sends it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether `presented` is this secret. Only the length can be learned from the time this takes.
    pub fn matches(&self, presented: &[u8]) -> bool {
        self.0.len() == presented.len() && self.0.as_bytes().ct_eq(presented).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `Secret: Debug` (or any of the others) would make the inferred type below ambiguous: a compile error.
    macro_rules! assert_not_implemented {
        ($($bound:path),+) => {$({
            trait AmbiguousIf<Marker> {
                fn check() {}
            }
            struct Implemented;
            impl<T: ?Sized> AmbiguousIf<()> for T {}
            impl<T: ?Sized + $bound> AmbiguousIf<Implemented> for T {}
            <Secret as AmbiguousIf<_>>::check();
        })+};
    }

    #[test]
    fn a_secret_cannot_be_printed_or_serialized() {
        assert_not_implemented!(std::fmt::Debug, std::fmt::Display, serde::Serialize);
    }

    #[test]
    fn an_unset_or_empty_value_is_no_secret() {
        assert!(Secret::parse(None).is_none());
        assert!(Secret::parse(Some(String::new())).is_none());
        assert_eq!(Secret::parse(Some(" ".into())).unwrap().expose(), " ");
    }

    #[test]
    fn only_the_very_same_bytes_match() {
        let secret = Secret::parse(Some("s3crét".into())).unwrap();
        assert!(secret.matches("s3crét".as_bytes()));
        for other in ["", "s3cré", "s3crétt", "s3crèt", "S3CRÉT"] {
            assert!(!secret.matches(other.as_bytes()), "{other}");
        }
        assert!(!secret.matches(b"\xff\xff\xff\xff\xff\xff\xff"));
    }
}
