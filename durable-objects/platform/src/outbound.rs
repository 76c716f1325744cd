//! A Worker's own requests to another service, and signing with the Worker's key.

use js_sys::{Array, Object, Reflect, Uint8Array, futures::JsFuture};
use wasm_bindgen::{JsCast, JsValue};
use worker::web_sys::{Request, RequestInit, RequestRedirect, Response};

use crate::{raw, raw::describe, read_within};

/// A request with a JSON document.
pub struct Outbound<'a> {
    /// Address to post to.
    pub url: &'a str,
    /// Headers beside the content type.
    pub headers: &'a [(&'a str, &'a str)],
    /// The JSON document to post.
    pub document: &'a str,
    /// Maximum response body in bytes.
    pub max_bytes: usize,
    /// Timeout for head and body, each.
    pub timeout_ms: f64,
}

/// Posts a document, and returns the response's status and body. Redirects are not followed.
///
/// # Errors
/// The failure's text: no response in time, or a body over the limit.
pub async fn post_json(outbound: Outbound<'_>) -> Result<(u16, Vec<u8>), String> {
    let sent = async {
        let init = RequestInit::new();
        init.set_method("POST");
        init.set_redirect(RequestRedirect::Manual);
        init.set_signal(Some(&raw::abort_after(outbound.timeout_ms)));
        init.set_body(&JsValue::from_str(outbound.document));
        let request = Request::new_with_str_and_init(outbound.url, &init)?;
        request.headers().set("content-type", "application/json")?;
        for (name, value) in outbound.headers {
            request.headers().set(name, value)?;
        }
        JsFuture::from(raw::fetch_global(&request)?).await
    };
    let response: Response = sent
        .await
        .map_err(|thrown| describe(&thrown))?
        .unchecked_into();
    let body = read_within(response.body(), outbound.max_bytes, outbound.timeout_ms).await;
    Ok((
        response.status(),
        body.ok_or("the answer is too long or too slow")?,
    ))
}

/// Signs bytes with an RSA key in PKCS#8 by RS256.
///
/// # Errors
/// The platform error's text. It reveals nothing about the key.
pub async fn sign_rs256(pkcs8: &[u8], bytes: &[u8]) -> Result<Vec<u8>, String> {
    let signed = async {
        let algorithm = Object::new();
        Reflect::set(&algorithm, &"name".into(), &"RSASSA-PKCS1-v1_5".into())?;
        Reflect::set(&algorithm, &"hash".into(), &"SHA-256".into())?;
        let usages = Array::of1(&"sign".into());
        let imported = raw::import_key(
            "pkcs8",
            &Uint8Array::from(pkcs8),
            &algorithm,
            false,
            &usages,
        )?;
        let key = JsFuture::from(imported).await?;
        JsFuture::from(raw::sign(&algorithm, &key, &Uint8Array::from(bytes))?).await
    };
    signed
        .await
        .map(|buffer| Uint8Array::new(&buffer).to_vec())
        .map_err(|thrown| describe(&thrown))
}

/// Parses an ISO 8601 time to milliseconds since the Unix epoch.
pub fn parse_time(text: &str) -> Option<i64> {
    let time = js_sys::Date::parse(text);
    time.is_finite().then_some(time as i64)
}
