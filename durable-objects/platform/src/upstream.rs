//! The server behind a proxying object: a container port, or an address for development.

use js_sys::{Array, futures::JsFuture};
use wasm_bindgen::{JsCast, JsValue};
use worker::web_sys::{Headers, Request, RequestInit, RequestRedirect, Response};

use crate::{raw, read_within};

/// The server that requests are passed to.
#[derive(Clone)]
pub enum Upstream {
    /// A port on the object's container.
    Port(ContainerPort),
    /// Origin for a server outside the platform.
    Origin(String),
}

/// A port on a container.
#[derive(Clone)]
pub struct ContainerPort {
    pub(crate) container: raw::Container,
    pub(crate) port: u16,
}

/// The object's own request to the server.
#[derive(Default)]
pub struct Probe<'a> {
    /// Path and query string.
    pub path: &'a str,
    /// Sends `POST` instead of `GET`.
    pub is_post: bool,
    /// Header names and values.
    pub headers: &'a [(&'a str, &'a str)],
    /// Maximum response body in bytes.
    pub max_bytes: usize,
    /// Timeout for head and body, each.
    pub timeout_ms: f64,
}

/// A response's status and body.
pub type Probed = (u16, Vec<u8>);

impl Upstream {
    /// Returns the server at an address. The first request reports an address that is none.
    pub fn at(url: &str) -> Self {
        Self::Origin(raw::Url::new(url).map_or_else(|_| url.to_owned(), |url| url.origin()))
    }

    /// Returns the server's response to a request, which `change` may edit first. `url` is the
    /// request's address, which costs a copy each time it is read.
    ///
    /// The request is passed on as a whole, because a GET built from parts may not have a body.
    /// Abort signal and redirect mode come with it.
    ///
    /// # Errors
    /// The connection failed, before or after the server received the request.
    pub async fn pass(
        &self,
        request: &Request,
        url: &str,
        change: impl FnOnce(&Request),
    ) -> Result<Response, JsValue> {
        let init = request.unchecked_ref::<RequestInit>();
        let passed = Request::new_with_str_and_init(&self.address(url), init)?;
        change(&passed);
        self.send(&passed).await
    }

    /// Asks the server for the object itself. Returns `None` for a body over the limits.
    ///
    /// # Errors
    /// The connection failed, or no response came in time: [`is_timeout`] tells them apart.
    pub async fn ask(&self, probe: Probe<'_>) -> Result<Option<Probed>, JsValue> {
        let init = RequestInit::new();
        init.set_redirect(RequestRedirect::Manual);
        init.set_signal(Some(&raw::abort_after(probe.timeout_ms)));
        if probe.is_post {
            init.set_method("POST");
        }
        let url = self.address(&format!("http://bot{}", probe.path));
        let request = Request::new_with_str_and_init(&url, &init)?;
        for (name, value) in probe.headers {
            request.headers().set(name, value)?;
        }
        let response = self.send(&request).await?;
        match read_within(response.body(), probe.max_bytes, probe.timeout_ms).await {
            Some(body) => Ok(Some((response.status(), body))),
            None => {
                cancel_body(&response);
                Ok(None)
            }
        }
    }

    async fn send(&self, request: &Request) -> Result<Response, JsValue> {
        let sent = match self {
            Self::Port(ContainerPort { container, port }) => {
                container.tcp_port(*port)?.fetch(request)?
            }
            Self::Origin(_) => raw::fetch_global(request)?,
        };
        Ok(JsFuture::from(sent).await?.unchecked_into())
    }

    /// Returns the same path and query at the server.
    /// A container's port speaks plain HTTP only, and receives the name that the caller used.
    fn address(&self, url: &str) -> String {
        let (host, path) = split(url);
        match self {
            Self::Port(_) => format!("http://{host}{path}"),
            Self::Origin(origin) => format!("{origin}{path}"),
        }
    }
}

/// Returns whether [`Upstream::ask`] failed because no answer came in time.
pub fn is_timeout(thrown: &JsValue) -> bool {
    js_sys::Reflect::get(thrown, &"name".into()).is_ok_and(|name| name == "TimeoutError")
}

/// Returns the header names, each on a line.
pub fn header_names(headers: &Headers) -> String {
    // A single call for all headers.
    Array::from(&headers.keys()).join("\n").into()
}

/// Returns the same response with headers that can be changed.
pub fn rebuilt(response: &Response) -> Response {
    raw::response(&response.body().into(), response)
}

/// Cancels the body of an unused response.
pub fn cancel_body(response: &Response) {
    if let Some(body) = response.body().filter(|body| !body.locked()) {
        // A body that ended first needs no cancellation.
        drop(JsFuture::from(body.cancel()));
    }
}

/// Splits an address into host and rest, without a fragment.
fn split(url: &str) -> (&str, &str) {
    let host = url.find("://").map_or(0, |at| at + 3);
    let rest = &url[host..];
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    (host, path.split('#').next().unwrap_or(path))
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn path_and_query_stay_unchanged() {
        for (url, parts) in [
            (
                "https://bot.example/a//b?x=1/2#y",
                ("bot.example", "/a//b?x=1/2"),
            ),
            ("http://[::1]:80/", ("[::1]:80", "/")),
        ] {
            assert_eq!(split(url), parts, "{url}");
        }
    }
}
