//! An access proxy's token (`Cf-Access-Jwt-Assertion`): form, claims and actor.
//!
//! Not here: the signature and fetching the keys (the bot's gate).

use ars_types::{Platform, UnixMillis};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Map, Value};

use crate::{Actor, Denied, Grants};

/// The only signature algorithm.
const ALGORITHM: &str = "RS256";
/// Seconds that `nbf` and `iat` may lie ahead of this clock.
const MAX_AHEAD_S: u32 = 60;
/// Name prefix for machines behind the proxy.
pub(crate) const SERVICE: &str = "svc:";
/// Maximum length of an actor id, in characters.
pub const MAX_ACTOR_CHARS: usize = 128;

/// The access proxy: its team and the application in front of which it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proxy {
    issuer: String,
    audience: String,
}

impl Proxy {
    /// Returns the proxy for a team domain; `None` for anything but a host name and an audience.
    pub fn new(team_domain: &str, audience: &str) -> Option<Self> {
        let is_host = team_domain.contains('.')
            && team_domain.split('.').all(|label| {
                !label.is_empty()
                    && label
                        .bytes()
                        .all(|b| b.is_ascii_alphanumeric() || b == b'-')
            });
        let is_audience = !audience.is_empty() && !audience.contains(char::is_whitespace);
        let issuer = format!("https://{team_domain}");
        (is_host && is_audience).then(|| Self {
            issuer,
            audience: audience.to_owned(),
        })
    }

    /// Returns the address where the proxy publishes its keys.
    pub fn certificates(&self) -> String {
        format!("{}/cdn-cgi/access/certs", self.issuer)
    }
}

/// The proxy's public RSA key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey {
    /// Key id, by which a token names the key.
    pub id: String,
    /// The modulus, big-endian without leading zeros.
    pub modulus: Vec<u8>,
    /// The exponent, big-endian without leading zeros.
    pub exponent: Vec<u8>,
}

/// Returns the usable RSA keys from a JSON Web Key Set, or `None` if the text is no such set.
pub fn public_keys(key_set: &str) -> Option<Vec<PublicKey>> {
    let set: Value = serde_json::from_str(key_set).ok()?;
    Some(
        set.get("keys")?
            .as_array()?
            .iter()
            .filter_map(public_key)
            .collect(),
    )
}

fn public_key(key: &Value) -> Option<PublicKey> {
    let text = |name: &str| key.get(name)?.as_str();
    let is_for_signatures = text("use").is_none_or(|purpose| purpose == "sig");
    let has_algorithm = text("alg").is_none_or(|algorithm| algorithm == ALGORITHM);
    if text("kty")? != "RSA" || !is_for_signatures || !has_algorithm {
        return None;
    }
    let number = |name: &str| {
        let bytes = URL_SAFE_NO_PAD.decode(text(name)?).ok()?;
        let digits = bytes.iter().position(|byte| *byte != 0)?;
        Some(bytes[digits..].to_vec())
    };
    Some(PublicKey {
        id: text("kid")?.to_owned(),
        modulus: number("n")?,
        exponent: number("e")?,
    })
}

/// A well-formed token. Neither signature nor claims are checked yet.
pub struct Assertion<'t> {
    /// The bytes under the signature.
    pub signed: &'t [u8],
    /// The signature to verify.
    pub signature: Vec<u8>,
    /// The id of the signing key.
    pub key_id: String,
    claims: Map<String, Value>,
}

impl<'t> Assertion<'t> {
    /// Parses a compact JSON Web Token with `alg` RS256.
    ///
    /// # Errors
    ///
    /// Any other text is a bad credential.
    pub fn parse(token: &'t str) -> Result<Self, Denied> {
        Self::split(token).ok_or(Denied::BadCredential)
    }

    fn split(token: &'t str) -> Option<Self> {
        let (signed, signature) = token.rsplit_once('.')?;
        let (header, claims) = signed.split_once('.')?;
        let (header, claims) = (object(header)?, object(claims)?);
        // `crit` names extensions that a reader must know; none is known here.
        if header.get("alg")?.as_str()? != ALGORITHM || header.contains_key("crit") {
            return None;
        }
        let key_id = header
            .get("kid")?
            .as_str()
            .filter(|id| !id.is_empty())?
            .to_owned();
        let signature = URL_SAFE_NO_PAD
            .decode(signature)
            .ok()
            .filter(|bytes| !bytes.is_empty())?;
        Some(Self {
            signed: signed.as_bytes(),
            signature,
            key_id,
            claims,
        })
    }

    /// Checks the claims and returns the identity they name.
    ///
    /// # Errors
    ///
    /// A claim that is missing, malformed or meant for another proxy is a bad credential.
    pub fn identity(&self, proxy: &Proxy, now: UnixMillis) -> Result<Identity, Denied> {
        let is_valid = self.text("iss") == Some(&proxy.issuer)
            && self.is_for(&proxy.audience)
            && self.is_current(now).unwrap_or_default();
        if !is_valid {
            return Err(Denied::BadCredential);
        }
        self.named().ok_or(Denied::BadCredential)
    }

    fn text(&self, claim: &str) -> Option<&str> {
        self.claims.get(claim)?.as_str()
    }

    fn is_for(&self, audience: &str) -> bool {
        match self.claims.get("aud") {
            Some(Value::String(one)) => one == audience,
            Some(Value::Array(several)) => several.iter().any(|one| one.as_str() == Some(audience)),
            _ => false,
        }
    }

    /// Returns `None` if a time is no number or, in the case of `exp`, missing.
    fn is_current(&self, now: UnixMillis) -> Option<bool> {
        #[expect(clippy::cast_precision_loss, reason = "times are far below 2^53")]
        let now = now as f64 / 1_000.0;
        let expires = self.claims.get("exp")?.as_f64()?;
        let mut is_current = expires > now;
        for claim in ["nbf", "iat"] {
            if let Some(begins) = self.claims.get(claim) {
                is_current &= begins.as_f64()? <= now + f64::from(MAX_AHEAD_S);
            }
        }
        Some(is_current)
    }

    /// A subject is a person; a machine has an empty subject and a common name.
    fn named(&self) -> Option<Identity> {
        let is_name = |name: &&str| {
            let length = Platform::Access.id(SERVICE).len() + name.chars().count();
            !name.is_empty()
                && length <= MAX_ACTOR_CHARS
                && !name.chars().any(|c| c.is_control() || c.is_whitespace())
        };
        match self.text("sub")? {
            "" => self
                .text("common_name")
                .filter(is_name)
                .map(|name| Identity::Service(name.to_owned())),
            // Such a subject would be taken for a machine, and `*` for everyone in the grants.
            subject if subject.starts_with(SERVICE) || subject == "*" => None,
            subject => Some(subject)
                .filter(is_name)
                .map(|subject| Identity::Person(subject.to_owned())),
        }
    }
}

fn object(part: &str) -> Option<Map<String, Value>> {
    let bytes = URL_SAFE_NO_PAD.decode(part).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// The identity in a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Identity {
    /// A browser session, by token subject.
    Person(String),
    /// A service token, by common name.
    Service(String),
}

impl Identity {
    /// Returns the actor. A machine has no grants but those in the configuration entry.
    pub fn actor(&self) -> Actor {
        match self {
            Self::Person(subject) => Actor::browser(&Platform::Access.id(subject)),
            Self::Service(name) => Actor::new(
                Platform::Access.id(format_args!("{SERVICE}{name}")),
                Grants::default(),
            ),
        }
    }
}

#[cfg(test)]
#[path = "access_tests.rs"]
mod tests;
