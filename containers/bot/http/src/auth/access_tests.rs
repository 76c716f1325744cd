//! Signatures, keys and their cache, with keys generated here.

use std::sync::Mutex as StdMutex;

use ars_bot_ports::WebError;
use async_trait::async_trait;
use aws_lc_rs::{
    rand::SystemRandom,
    rsa::KeySize,
    signature::{KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use super::*;

const NOW: UnixMillis = 1_760_000_000_000;

/// A proxy with a key pair under each name.
struct Team {
    served: StdMutex<Result<Vec<Value>, u16>>,
    fetches: AtomicU64,
}

#[async_trait]
impl Certificates for Team {
    async fn fetch(&self) -> Result<String, WebError> {
        self.fetches.fetch_add(1, Ordering::SeqCst);
        match &*self.served.lock().unwrap() {
            Ok(keys) => Ok(json!({ "keys": keys }).to_string()),
            Err(status) => Err(WebError::Keys(*status)),
        }
    }
}

struct World {
    team: Arc<Team>,
    access: Access,
    pair: RsaKeyPair,
}

impl World {
    fn new() -> Self {
        let pair = RsaKeyPair::generate(KeySize::Rsa2048).unwrap();
        let served = StdMutex::new(Ok(vec![jwk("k1", &pair)]));
        let team = Arc::new(Team {
            served,
            fetches: AtomicU64::new(0),
        });
        let proxy = Proxy::new("team.example.com", "app").unwrap();
        let access = Access::new(proxy, Arc::<Team>::clone(&team));
        Self { team, access, pair }
    }

    fn token(&self, key_id: &str, claims: &Value) -> String {
        signed(&self.pair, &json!({"alg": "RS256", "kid": key_id}), claims)
    }

    fn fetches(&self) -> u64 {
        self.team.fetches.load(Ordering::SeqCst)
    }

    async fn accepts(&self, token: &str, now: UnixMillis) -> Result<Identity, Denied> {
        self.access.identify(token, now).await
    }
}

/// Reads the numbers from the key's DER, at fixed places for 2048 bits and the exponent 65537.
fn jwk(id: &str, pair: &RsaKeyPair) -> Value {
    let der = pair.public_key().as_ref();
    let (modulus, exponent) = (&der[9..265], &der[der.len() - 3..]);
    let (n, e) = (
        URL_SAFE_NO_PAD.encode(modulus),
        URL_SAFE_NO_PAD.encode(exponent),
    );
    json!({"kid": id, "kty": "RSA", "alg": "RS256", "use": "sig", "n": n, "e": e})
}

fn signed(pair: &RsaKeyPair, header: &Value, claims: &Value) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let text = format!("{}.{}", part(header), part(claims));
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

fn claims(subject: &str) -> Value {
    let expires = NOW / 1_000 + 1_000_000;
    json!({"iss": "https://team.example.com", "aud": "app", "exp": expires, "sub": subject})
}

fn ann() -> Result<Identity, Denied> {
    Ok(Identity::Person("ann".into()))
}

#[tokio::test]
async fn signature_covers_the_exact_bytes() {
    let world = World::new();
    let token = world.token("k1", &claims("ann"));
    assert_eq!(world.accepts(&token, NOW).await, ann());
    let (text, signature) = token.rsplit_once('.').unwrap();
    let (header, _) = text.split_once('.').unwrap();
    let forged = URL_SAFE_NO_PAD.encode(claims("eve").to_string());
    let respelled = URL_SAFE_NO_PAD.encode(r#"{"kid": "k1", "alg": "RS256"}"#);
    let body = text.split_once('.').unwrap().1;
    let short = &signature[..signature.len() - 4];
    let other = RsaKeyPair::generate(KeySize::Rsa2048).unwrap();
    for token in [
        format!("{header}.{forged}.{signature}"),
        format!("{respelled}.{body}.{signature}"),
        format!("{text}.{short}"),
        format!("{text}.AAAA"),
        signed(
            &other,
            &json!({"alg": "RS256", "kid": "k1"}),
            &claims("ann"),
        ),
        format!("{text}."),
        String::new(),
    ] {
        assert_eq!(
            world.accepts(&token, NOW).await,
            Err(Denied::BadCredential),
            "{token}"
        );
    }
    assert_eq!(world.fetches(), 1);
}

#[tokio::test]
async fn keys_are_fetched_again_after_an_hour() {
    let world = World::new();
    let token = world.token("k1", &claims("ann"));
    for (at, fetches) in [
        (NOW, 1),
        (NOW + 3_599_999, 1),
        (NOW + 3_600_000, 2),
        (NOW + 3_600_001, 2),
    ] {
        assert_eq!(world.accepts(&token, at).await, ann());
        assert_eq!(world.fetches(), fetches, "{at}");
    }
}

#[tokio::test]
async fn unknown_key_causes_one_fetch() {
    let world = World::new();
    let (known, unknown) = (
        world.token("k1", &claims("ann")),
        world.token("k2", &claims("ann")),
    );
    assert_eq!(world.accepts(&known, NOW).await, ann());
    assert_eq!(
        world.accepts(&unknown, NOW).await,
        Err(Denied::BadCredential)
    );
    assert_eq!(world.fetches(), 2);
    *world.team.served.lock().unwrap() = Ok(vec![jwk("k2", &world.pair)]);
    let later = NOW + REFETCH_INTERVAL_MS;
    assert_eq!(world.accepts(&unknown, later).await, ann());
    assert_eq!(world.fetches(), 3);
    assert_eq!(
        world.accepts(&known, later).await,
        Err(Denied::BadCredential)
    );
}

#[tokio::test]
async fn invented_keys_cause_one_fetch_per_interval() {
    let world = World::new();
    let known = world.token("k1", &claims("ann"));
    assert_eq!(world.accepts(&known, NOW).await, ann());
    for n in 0..30 {
        let invented = world.token(&format!("x{n}"), &claims("ann"));
        let at = NOW + n * REFETCH_INTERVAL_MS / 10;
        assert_eq!(
            world.accepts(&invented, at).await,
            Err(Denied::BadCredential)
        );
        assert_eq!(world.accepts(&known, at).await, ann());
    }
    assert_eq!(world.fetches(), 1 + 3);
}

#[tokio::test]
async fn concurrent_requests_share_a_fetch() {
    let world = World::new();
    let token = world.token("k1", &claims("ann"));
    let both = tokio::join!(world.accepts(&token, NOW), world.accepts(&token, NOW));
    assert_eq!(both, (ann(), ann()));
    assert_eq!(world.fetches(), 1);
}

#[tokio::test]
async fn missing_keys_refuse_every_token() {
    let world = World::new();
    let token = world.token("k1", &claims("ann"));
    *world.team.served.lock().unwrap() = Err(500);
    for _ in 0..2 {
        assert_eq!(world.accepts(&token, NOW).await, Err(Denied::NoKeys));
    }
    assert_eq!(world.fetches(), 1);
    let later = NOW + REFETCH_INTERVAL_MS;
    *world.team.served.lock().unwrap() = Ok(vec![jwk("k1", &world.pair)]);
    assert_eq!(world.accepts(&token, later).await, ann());
    *world.team.served.lock().unwrap() = Err(500);
    assert_eq!(world.accepts(&token, later).await, ann());
    assert_eq!(
        world.accepts(&token, later + 3_600_000).await,
        Err(Denied::NoKeys)
    );
}

#[tokio::test]
async fn token_of_another_application_causes_no_fetch() {
    let world = World::new();
    let mut claims = claims("ann");
    claims["aud"] = json!("other");
    assert_eq!(
        world.accepts(&world.token("k1", &claims), NOW).await,
        Err(Denied::BadCredential)
    );
    assert_eq!(world.fetches(), 0);
}

#[tokio::test]
async fn service_token_is_for_command_routes_only() {
    use crate::auth::viewer::{Area, by_access};
    use axum::http::{HeaderMap, HeaderValue};

    let world = World::new();
    let mut service = claims("");
    service["common_name"] = json!("ci");
    let header = |token: &str| {
        let mut headers = HeaderMap::new();
        headers.append(
            "cf-access-jwt-assertion",
            HeaderValue::from_str(token).unwrap(),
        );
        headers
    };
    let (person, service) = (
        header(&world.token("k1", &claims("ann"))),
        header(&world.token("k1", &service)),
    );
    let admitted = async |headers: &HeaderMap, area| {
        by_access(&world.access, headers, area, NOW)
            .await
            .map(|actor| actor.id)
    };
    assert_eq!(
        admitted(&person, Area::Pages).await,
        Ok("access:ann".to_owned())
    );
    assert_eq!(
        admitted(&person, Area::Api).await,
        Ok("access:ann".to_owned())
    );
    assert_eq!(
        admitted(&service, Area::Api).await,
        Ok("access:svc:ci".to_owned())
    );
    assert_eq!(
        admitted(&service, Area::Pages).await,
        Err(Denied::ServiceToken)
    );
    assert_eq!(
        admitted(&HeaderMap::new(), Area::Api).await,
        Err(Denied::BadCredential)
    );
    let mut twice = person.clone();
    twice.append("cf-access-jwt-assertion", HeaderValue::from_static("x"));
    assert_eq!(
        admitted(&twice, Area::Pages).await,
        Err(Denied::BadCredential)
    );
}
