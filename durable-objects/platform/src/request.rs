//! A request's address and headers.

use wasm_bindgen::JsCast;
use worker::web_sys::Headers;

use crate::{interned::interned, raw};

/// Returns a header. `name` is a valid name that the program chose.
pub fn header_of(headers: &Headers, name: &str) -> Option<String> {
    headers
        .unchecked_ref::<raw::HeaderMap>()
        .get(&interned(name))
}

/// Returns an absolute URL's path. Only the query has `?` and only the fragment `#`.
pub fn path_of(url: &str) -> &str {
    let host = url.find("://").map_or(0, |at| at + 3);
    let path = url[host..].find('/').map_or("/", |at| &url[host + at..]);
    path.find(['?', '#']).map_or(path, |end| &path[..end])
}

/// Returns a query parameter's decoded value.
pub fn query_of(url: &str, name: &str) -> Option<String> {
    raw::Url::new(url).ok()?.search_params().get(name)
}

#[cfg(test)]
mod tests {
    use super::path_of;

    #[test]
    fn path_excludes_host_and_query() {
        for (url, path) in [
            ("http://127.0.0.1:8080/runs/put", "/runs/put"),
            ("https://state.example/healthz?probe=1", "/healthz"),
            ("https://state.example/", "/"),
            ("https://state.example", "/"),
            ("https://object/a%3Fb#c", "/a%3Fb"),
        ] {
            assert_eq!(path_of(url), path, "{url}");
        }
    }
}
