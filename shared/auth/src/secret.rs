//! Secret text: tokens and keys from configuration.
//!
//! A secret has no `Debug`, `Display` or `Serialize`, so that no log line or error can contain it. Comparisons take
//! constant time for equal lengths. Not here: reading secrets (the shells) and redaction (`ars-events`).

use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq;

/// A non-empty secret, compared in constant time.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// Returns the secret from a configuration value; `None` if it is unset or empty and so grants
    /// nothing.
    pub fn parse(value: Option<String>) -> Option<Self> {
        value.filter(|text| !text.is_empty()).map(Self)
    }

    /// Returns the text, for the code that sends it.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Returns whether `presented` is this secret. The duration depends only on the length.
    pub fn matches(&self, presented: &[u8]) -> bool {
        self.0.len() == presented.len() && self.0.as_bytes().ct_eq(presented).into()
    }

    /// Returns whether `presented` is this secret, in a time that does not depend on the length
    /// either.
    pub fn matches_digest(&self, presented: &[u8]) -> bool {
        Sha256::digest(self.0.as_bytes())
            .as_slice()
            .ct_eq(Sha256::digest(presented).as_slice())
            .into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `Secret: Debug` or another of these would make the type below ambiguous: a compile error.
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
        assert!(secret.matches("s3crét".as_bytes()) && secret.matches_digest("s3crét".as_bytes()));
        for other in ["", "s3cré", "s3crétt", "s3crèt", "S3CRÉT"] {
            assert!(!secret.matches(other.as_bytes()), "{other}");
            assert!(!secret.matches_digest(other.as_bytes()), "{other}");
        }
        assert!(!secret.matches(b"\xff\xff\xff\xff\xff\xff\xff"));
    }
}
