//! Mode `access`: people and service tokens behind an access proxy with keys that are made here.
#![expect(
    clippy::unwrap_used,
    reason = "a double that cannot go on fails its test"
)]

use std::sync::Arc;

use ars_auth::{Grants, Set, access::Proxy};
use ars_bot_core::settings::Settings;
use ars_bot_http::{Access, Dashboard};
use ars_bot_ports::{Certificates, WebError};
use async_trait::async_trait;
use aws_lc_rs::{
    rand::SystemRandom,
    rsa::KeySize,
    signature::{KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use reqwest::Client;
use serde_json::{Value, json};

use super::support::{Bot, TOKENS, public};

/// The proxy's public keys.
struct Team(String);

#[async_trait]
impl Certificates for Team {
    async fn fetch(&self) -> Result<String, WebError> {
        Ok(self.0.clone())
    }
}

/// Returns the document with the public key: the numbers have fixed places in the 2048-bit DER.
fn keys(pair: &RsaKeyPair) -> String {
    let der = pair.public_key().as_ref();
    let (n, e) = (
        URL_SAFE_NO_PAD.encode(&der[9..265]),
        URL_SAFE_NO_PAD.encode(&der[der.len() - 3..]),
    );
    json!({"keys": [{"kid": "k1", "kty": "RSA", "alg": "RS256", "use": "sig", "n": n, "e": e}]})
        .to_string()
}

/// Returns the proxy's assertion about this identity.
pub fn assertion(pair: &RsaKeyPair, identity: &Value) -> String {
    let mut claims = json!({"iss": "https://team.example.com", "aud": ["app"], "exp": 1_760_000_600_u64, "sub": ""});
    let members = identity.as_object().unwrap().clone();
    claims.as_object_mut().unwrap().extend(members);
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let text = format!(
        "{}.{}",
        part(&json!({"alg": "RS256", "kid": "k1"})),
        part(&claims)
    );
    let mut signature = vec![0; pair.public_modulus_len()];
    pair.sign(
        &RSA_PKCS1_SHA256,
        &SystemRandom::new(),
        text.as_bytes(),
        &mut signature,
    )
    .unwrap();
    format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))
}

/// Returns the gate for a proxy with this key.
pub fn by_access(pair: &RsaKeyPair) -> Dashboard {
    let proxy = Proxy::new("team.example.com", "app").unwrap();
    Dashboard::Access(Arc::new(Access::new(proxy, Arc::new(Team(keys(pair))))))
}

/// The service token `ci` may list runs and do nothing else.
#[tokio::test]
async fn service_token_is_admitted_to_commands_alone() {
    let pair = RsaKeyPair::generate(KeySize::Rsa2048).unwrap();
    let grants = Grants {
        actions: Set::only(&["runs:read"]),
        ..Grants::default()
    };
    let settings = Settings {
        grants: [("access:svc:ci".to_owned(), grants)].into(),
        ..public()
    };
    let bot = Bot::behind(by_access(&pair), TOKENS, settings).await;
    let service = assertion(&pair, &json!({"common_name": "ci"}));
    let stranger = assertion(&pair, &json!({"common_name": "other"}));
    let person = assertion(&pair, &json!({"sub": "ann"}));
    for (token, path, status) in [
        (&service, "/api/runs.list", 200),
        (&service, "/api/help.show", 403),
        (&service, "/api/openapi.json", 200),
        (&service, "/runs", 403),
        (&service, "/metrics", 403),
        (&service, "/residents", 403),
        (&stranger, "/api/runs.list", 403),
        (&person, "/api/runs.list", 200),
        (&person, "/api/help.show", 200),
        (&person, "/runs", 200),
    ] {
        let request = Client::new()
            .get(bot.url(path))
            .header("cf-access-jwt-assertion", token);
        assert_eq!(
            request.send().await.unwrap().status(),
            status,
            "{path} {token}"
        );
    }
}

/// In this mode no bearer is counted: an answer that names the gate would let anyone try tokens.
#[tokio::test]
async fn bearer_is_not_tried_as_an_ingress_token() {
    let pair = RsaKeyPair::generate(KeySize::Rsa2048).unwrap();
    let bot = Bot::behind(by_access(&pair), TOKENS, public()).await;
    for token in ["good", "guess"] {
        let request = Client::new()
            .get(bot.url("/api/runs.list"))
            .bearer_auth(token);
        let refused = request.send().await.unwrap();
        let (status, body) = (
            refused.status().as_u16(),
            refused.json::<Value>().await.unwrap(),
        );
        assert_eq!(
            (status, &body["error"]),
            (403, &json!("forbidden")),
            "{token}"
        );
    }
}
