//! Forms and claims in access tokens.

use serde_json::json;

use super::*;

const NOW_S: i64 = 1_760_000_000;

fn proxy() -> Proxy {
    Proxy::new("team.example.com", "app").unwrap()
}

fn encoded(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}

fn token(header: &Value, claims: &Value) -> String {
    format!("{}.{}.c2ln", encoded(header), encoded(claims))
}

fn header() -> Value {
    json!({"alg": "RS256", "kid": "k1", "typ": "JWT"})
}

fn claims() -> Value {
    json!({"iss": "https://team.example.com", "aud": ["app"], "exp": NOW_S + 1, "sub": "ann", "email": "a@example.com"})
}

/// Returns the valid claims with one replaced; `null` removes it.
fn with(claim: &str, value: Value) -> Value {
    let mut claims = claims();
    if value.is_null() {
        claims.as_object_mut().unwrap().remove(claim);
    } else {
        claims[claim] = value;
    }
    claims
}

fn identity(claims: &Value) -> Result<Identity, Denied> {
    Assertion::parse(&token(&header(), claims)).and_then(|it| it.identity(&proxy(), NOW_S * 1_000))
}

#[test]
fn well_formed_token_is_taken_apart() {
    let text = token(&header(), &claims());
    let assertion = Assertion::parse(&text).unwrap();
    assert_eq!(
        assertion.signed,
        text.rsplit_once('.').unwrap().0.as_bytes()
    );
    assert_eq!(
        (assertion.signature.as_slice(), assertion.key_id.as_str()),
        (b"sig".as_slice(), "k1")
    );
}

#[test]
fn malformed_token_is_refused() {
    let claims = claims();
    let headers = [
        json!({"alg": "none", "kid": "k1"}),
        json!({"alg": "HS256", "kid": "k1"}),
        json!({"alg": "rs256", "kid": "k1"}),
        json!({"alg": ["RS256"], "kid": "k1"}),
        json!({"kid": "k1"}),
        json!({"alg": "RS256"}),
        json!({"alg": "RS256", "kid": ""}),
        json!({"alg": "RS256", "kid": 1}),
        json!({"alg": "RS256", "kid": "k1", "crit": ["x"]}),
        json!(["RS256"]),
        json!(null),
    ];
    let good = token(&header(), &claims);
    let mut texts: Vec<_> = headers
        .iter()
        .map(|header| token(header, &claims))
        .collect();
    texts.extend([
        String::new(),
        ".".into(),
        "..".into(),
        "a.b.c".into(),
        "é.é.é".into(),
        good.replace('.', ""),
    ]);
    texts.push(good.trim_end_matches("c2ln").to_owned());
    texts.push(format!("{good}="));
    texts.push(format!("{good}.c2ln"));
    texts.push(format!(" {good}"));
    texts.push(token(&header(), &json!([1])));
    texts.push(token(&header(), &json!("text")));
    for text in texts {
        assert_eq!(
            Assertion::parse(&text).err(),
            Some(Denied::BadCredential),
            "{text}"
        );
    }
}

#[test]
fn valid_claims_name_a_person() {
    let person = Identity::Person("ann".into());
    for claims in [
        claims(),
        with("aud", json!("app")),
        with("aud", json!(["other", "app"])),
        with("exp", json!(f64::from(i32::MAX))),
        with("nbf", json!(NOW_S + 60)),
        with("iat", json!(NOW_S - 5)),
        with("common_name", json!("ci")),
    ] {
        assert_eq!(identity(&claims).as_ref(), Ok(&person), "{claims}");
    }
    assert_eq!(person.actor(), Actor::browser("access:ann"));
}

#[test]
fn invalid_claims_are_refused() {
    for (claim, values) in [
        (
            "iss",
            vec![
                json!(null),
                json!("https://team.example.com/"),
                json!("http://team.example.com"),
                json!(1),
            ],
        ),
        (
            "aud",
            vec![
                json!(null),
                json!("ap"),
                json!(["x"]),
                json!([]),
                json!([["app"]]),
                json!({"app": 1}),
            ],
        ),
        (
            "exp",
            vec![
                json!(null),
                json!(NOW_S),
                json!(NOW_S - 1),
                json!("9999999999"),
                json!(true),
            ],
        ),
        ("nbf", vec![json!(NOW_S + 61), json!("0"), json!([])]),
        ("iat", vec![json!(NOW_S + 61), json!("0"), json!({})]),
        (
            "sub",
            vec![
                json!(null),
                json!(""),
                json!(5),
                json!("svc:ci"),
                json!("*"),
                json!("a b"),
                json!("a\nb"),
            ],
        ),
    ] {
        for value in values {
            let claims = with(claim, value);
            assert_eq!(identity(&claims), Err(Denied::BadCredential), "{claims}");
        }
    }
    assert_eq!(
        identity(&with("sub", json!("x".repeat(200)))),
        Err(Denied::BadCredential)
    );
}

#[test]
fn empty_subject_with_common_name_is_a_service() {
    let mut service = with("sub", json!(""));
    service["common_name"] = json!("ci.access");
    let identity = identity(&service).unwrap();
    assert_eq!(identity, Identity::Service("ci.access".into()));
    assert_eq!(
        identity.actor(),
        Actor::new("access:svc:ci.access", Grants::default())
    );
    service["common_name"] = json!("");
    assert_eq!(self::identity(&service), Err(Denied::BadCredential));
}

#[test]
fn proxy_needs_a_host_and_an_audience() {
    assert_eq!(
        proxy().certificates(),
        "https://team.example.com/cdn-cgi/access/certs"
    );
    for (team, audience) in [
        ("", "app"),
        ("team", "app"),
        ("https://team.example.com", "app"),
        ("team.example.com/x", "app"),
        ("team..com", "app"),
        ("user@team.example.com", "app"),
        ("team.example.com:443", "app"),
        ("team.example.com", ""),
        ("team.example.com", "a b"),
    ] {
        assert_eq!(Proxy::new(team, audience), None, "{team} {audience}");
    }
}

#[test]
fn unusable_keys_of_a_set_are_skipped() {
    let good =
        json!({"kid": "k1", "kty": "RSA", "alg": "RS256", "use": "sig", "n": "AAEC", "e": "AQAB"});
    let without = |name: &str, value: Value| {
        let mut key = good.clone();
        key[name] = value;
        key
    };
    let set = json!({"keys": [
        without("kty", json!("EC")),
        without("use", json!("enc")),
        without("alg", json!("RS512")),
        without("n", json!("!")),
        without("e", json!("AA")),
        without("kid", json!(1)),
        json!(5),
        good,
    ], "public_certs": []});
    let keys = public_keys(&set.to_string()).unwrap();
    assert_eq!(
        keys,
        [PublicKey {
            id: "k1".into(),
            modulus: vec![1, 2],
            exponent: vec![1, 0, 1]
        }]
    );
    for text in ["", "[]", "{}", "{\"keys\":{}}", "<html>"] {
        assert_eq!(public_keys(text), None, "{text}");
    }
}
