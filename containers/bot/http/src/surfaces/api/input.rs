//! A request's input: a GET's query string, a POST's JSON object.

use ars_commands::RawInput;
use ars_wire::ErrorCode;
use axum::{
    body::Body,
    http::{Method, header, request::Parts},
};
use serde_json::{Map, Value};

use super::error::ApiError;
use crate::server::{MAX_BODY_BYTES, read_body};

/// Media type for a body.
const JSON: &str = "application/json";

/// Checks that a POST declares a JSON body.
pub(super) fn check_type(head: &Parts) -> Result<(), ApiError> {
    let is_json = || {
        let mut declared = head.headers.get_all(header::CONTENT_TYPE).iter();
        let (first, second) = (declared.next(), declared.next());
        let text = first
            .filter(|_| second.is_none())
            .and_then(|value| value.to_str().ok());
        text.is_some_and(|text| {
            text.split(';')
                .next()
                .unwrap_or_default()
                .trim()
                .eq_ignore_ascii_case(JSON)
        })
    };
    if head.method != Method::POST || is_json() {
        return Ok(());
    }
    Err(ApiError::new(
        ErrorCode::UnsupportedMediaType,
        format!("the content type must be {JSON}"),
    ))
}

/// Reads the input from query or body.
pub(super) async fn read(head: &Parts, body: Body) -> Result<RawInput, ApiError> {
    if head.method == Method::GET {
        let query = head.uri.query().unwrap_or_default();
        return Ok(RawInput::Pairs(
            form_urlencoded::parse(query.as_bytes())
                .into_owned()
                .collect(),
        ));
    }
    let bytes = read_body(body, MAX_BODY_BYTES).await?;
    if bytes.is_empty() {
        return Ok(RawInput::Object(Map::new()));
    }
    match serde_json::from_slice(&bytes) {
        Ok(Value::Object(members)) => Ok(RawInput::Object(members)),
        Ok(_) | Err(_) => Err(ApiError::new(
            ErrorCode::InvalidInput,
            "the body must be a JSON object",
        )),
    }
}

#[cfg(test)]
mod tests {
    use axum::http::Request;
    use proptest::prelude::*;

    use super::*;

    fn head(method: Method, types: &[&str]) -> Parts {
        let mut request = Request::builder().method(method);
        for value in types {
            request = request.header(header::CONTENT_TYPE, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    #[test]
    fn post_declares_json() {
        for types in [
            &["application/json"][..],
            &["Application/JSON ; charset=utf-8"],
        ] {
            assert_eq!(check_type(&head(Method::POST, types)), Ok(()), "{types:?}");
        }
        for types in [
            &[][..],
            &["text/plain"],
            &["application/jsonp"],
            &["application/x-www-form-urlencoded"],
            &["text/plain; application/json"],
            &["application/json", "text/plain"],
            &[""],
        ] {
            assert!(check_type(&head(Method::POST, types)).is_err(), "{types:?}");
            assert_eq!(check_type(&head(Method::GET, types)), Ok(()), "{types:?}");
        }
    }

    #[tokio::test]
    async fn body_is_one_object() {
        let post = head(Method::POST, &[JSON]);
        for (body, expected) in [
            ("", Some("{}")),
            ("{}", Some("{}")),
            (" {\"a\": [1]} ", Some("{\"a\":[1]}")),
            ("[]", None),
            ("null", None),
            ("1", None),
            ("\"{}\"", None),
            (" ", None),
            ("{", None),
            ("{}{}", None),
            ("\u{feff}{}", None),
        ] {
            let read = read(&post, Body::from(body)).await;
            let shown = match read {
                Ok(RawInput::Object(members)) => Some(Value::Object(members).to_string()),
                Ok(_) | Err(_) => None,
            };
            assert_eq!(shown.as_deref(), expected, "{body}");
        }
    }
    proptest! {
        /// Any accepted query string is a pair list, and encoding it again gives the same pairs.
        #[test]
        fn any_query_string_is_read(bytes in prop::collection::vec(0x21_u8..0x7f, 0..80)) {
            let query = String::from_utf8(bytes).unwrap();
            let pairs_of = |query: &str| {
                let uri = format!("/api/x?{query}").parse::<axum::http::Uri>().ok()?;
                let head = Request::builder().uri(uri).body(()).unwrap().into_parts().0;
                match futures::executor::block_on(super::read(&head, Body::empty())) {
                    Ok(RawInput::Pairs(pairs)) => Some(pairs),
                    Ok(_) | Err(_) => None,
                }
            };
            // A fragment ends the query, and some characters are invalid.
            if let Some(pairs) = pairs_of(&query) {
                let encoded = form_urlencoded::Serializer::new(String::new()).extend_pairs(&pairs).finish();
                prop_assert_eq!(pairs_of(&encoded), Some(pairs));
            }
        }
    }
}
