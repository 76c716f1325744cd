//! The route to a run's repository, to which the proxy adds the service's login.
//!
//! A tunnel carries TLS unread, so nothing can be added to it. Git in a sandbox therefore replaces
//! this repository's address by a proxy address, which no name server knows. There the proxy
//! accepts git protocol requests for fetches, and for pushes if they are allowed. It builds each
//! address itself, from the configured origin. It follows no redirect, and a response contains only
//! bytes in git's own media types.

use std::{future::ready, io, sync::Arc};

use ars_bot_ports::code_host::GitAccess;
use ars_sandboxd::READABLE_NAMES;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use http_body_util::{BodyExt as _, StreamBody};
use hyper::{
    Method, Request, Response, StatusCode, Uri,
    body::{Bytes, Frame, Incoming},
    header::{self, HeaderMap, HeaderName, HeaderValue},
};
use reqwest::{
    Client, Url,
    dns::{Addrs, Name, Resolve, Resolving},
};
use tokio::sync::OnceCell;

use super::{
    answer::{Answer, BodyError, Problem, text_answer},
    decide::{Destination, Protocol, Refused},
    dial::check_proxied,
    limits::{CONNECT_TIMEOUT, IDLE_TIMEOUT},
    meter::Budget,
    policy::Scope,
    push,
    run::RunEgress,
};
use crate::{
    logins::Logins,
    web::{Lookup, checked_addresses, client, proxied},
};

/// The route's host. Names below `invalid` never resolve.
const HOST: &str = "code-host.invalid";
/// Repository address suffix that hosts treat as absent.
const SUFFIX: &str = ".git";
/// Prefix of git's media types.
const MEDIA_TYPES: &str = "application/x-git-";
/// Git request headers that are forwarded.
const FORWARDED: [HeaderName; 7] = [
    header::ACCEPT,
    header::ACCEPT_ENCODING,
    header::CONTENT_ENCODING,
    header::CONTENT_LENGTH,
    header::CONTENT_TYPE,
    header::USER_AGENT,
    HeaderName::from_static("git-protocol"),
];
/// Response headers that are returned.
const RETURNED: [HeaderName; 3] = [
    header::CACHE_CONTROL,
    header::CONTENT_ENCODING,
    header::CONTENT_TYPE,
];
const NO_ROUTE: &str = "this address is for git and the run's own repository";
const NO_LOGIN: &str = "the service has no account for pushes to this repository";

/// A run's repository at the code host.
pub(super) struct Route {
    /// The origin as configured, without a login and a trailing slash.
    origin: String,
    url: Url,
    /// Repository and agent name, for reports.
    repository: String,
    agent: String,
    logins: Logins,
    may_push: bool,
    client: OnceCell<Client>,
}

/// What a request asks for.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    /// A git operation on the repository, by the part after the repository's own address.
    Git(GitAccess, &'static str),
    /// Another repository, with a name that begins like this one.
    Other,
    Unknown,
}

impl Route {
    /// Returns a run's route. `None` if the origin is not over HTTP, or has no login.
    pub(super) fn for_run(scope: Scope<'_>, may_push: bool, logins: &Logins) -> Option<Self> {
        let origin = scope.origin?;
        let url = Url::parse(origin).ok()?;
        let is_plain = url.query().is_none() && url.fragment().is_none() && url.path().len() > 1;
        if !is_plain || !matches!(url.scheme(), "http" | "https") || !logins.covers(origin) {
            return None;
        }
        Some(Self {
            origin: origin.trim_end_matches('/').to_owned(),
            url,
            repository: scope.repository.unwrap_or(origin).to_owned(),
            agent: scope.agent.unwrap_or_default().to_owned(),
            logins: logins.clone(),
            may_push,
            client: OnceCell::new(),
        })
    }

    /// Returns whether a request is for a route.
    pub(super) fn is_for(uri: &Uri) -> bool {
        uri.host()
            .is_some_and(|host| host.eq_ignore_ascii_case(HOST))
    }

    /// Returns the variables that make git in a sandbox use the route.
    ///
    /// They replace those in `READABLE_NAMES`, so they repeat that setting.
    pub(super) fn variables(&self) -> [(&'static str, String); 5] {
        let [_, key, value] = READABLE_NAMES;
        [
            ("GIT_CONFIG_COUNT", "2".to_owned()),
            (key.0, key.1.to_owned()),
            (value.0, value.1.to_owned()),
            (
                "GIT_CONFIG_KEY_1",
                format!("url.http://{HOST}{}.insteadOf", self.path()),
            ),
            (
                "GIT_CONFIG_VALUE_1",
                without_suffix(&self.origin).to_owned(),
            ),
        ]
    }

    /// Returns the repository's path.
    fn path(&self) -> &str {
        without_suffix(self.url.path().trim_end_matches('/'))
    }

    fn host(&self) -> &str {
        self.url.host_str().unwrap_or_default()
    }

    fn step(&self, method: &Method, uri: &Uri) -> Step {
        let Some(rest) = uri.path().strip_prefix(self.path()) else {
            return Step::Unknown;
        };
        let rest = rest.strip_prefix(SUFFIX).unwrap_or(rest);
        match (method, rest, uri.query()) {
            (&Method::GET, "/info/refs", Some("service=git-upload-pack")) => {
                Step::Git(GitAccess::Read, "/info/refs?service=git-upload-pack")
            }
            (&Method::POST, "/git-upload-pack", None) => {
                Step::Git(GitAccess::Read, "/git-upload-pack")
            }
            (&Method::GET, "/info/refs", Some("service=git-receive-pack")) => {
                Step::Git(GitAccess::Write, "/info/refs?service=git-receive-pack")
            }
            (&Method::POST, "/git-receive-pack", None) => {
                Step::Git(GitAccess::Write, "/git-receive-pack")
            }
            _ if !rest.is_empty() && !rest.starts_with('/') => Step::Other,
            _ => Step::Unknown,
        }
    }

    /// Answers a git request.
    pub(super) async fn answer(
        &self,
        run: &RunEgress,
        request: Request<Incoming>,
    ) -> Result<Answer, Problem> {
        let (access, suffix) = match self.step(request.method(), request.uri()) {
            Step::Git(GitAccess::Write, _) if !self.may_push => {
                let (repository, agent) = (self.repository.clone(), self.agent.clone());
                return Err(Problem::Refused(Refused::Push { repository, agent }));
            }
            Step::Git(access, suffix) => (access, suffix),
            Step::Other => return self.elsewhere(request.uri()),
            Step::Unknown => return Ok(text_answer(StatusCode::FORBIDDEN, NO_ROUTE)),
        };
        let unreachable = |text: String| Problem::Unreachable(self.host().to_owned(), text);
        let client = self.client(run).await?;
        let login = self
            .logins
            .login(&self.origin, access)
            .await
            .map_err(unreachable)?;
        if login.is_none() && access == GitAccess::Write {
            return Ok(text_answer(StatusCode::FORBIDDEN, NO_LOGIN));
        }
        let (head, body) = request.into_parts();
        let mut headers = selected(&head.headers, &FORWARDED);
        if let Some(login) = &login {
            let value = login
                .authorization()
                .ok_or_else(|| unreachable("its login is malformed".into()))?;
            headers.insert(header::AUTHORIZATION, value);
        }
        let mut forwarded = client
            .request(head.method.clone(), format!("{}{suffix}", self.origin))
            .headers(headers);
        if head.method == Method::POST {
            let budget = Arc::clone(&run.budget);
            let body = body.into_data_stream().map_err(io::Error::other);
            let mut body = body.and_then(move |bytes| ready(counted(&budget, bytes)));
            let read = match access {
                GitAccess::Read => Bytes::new(),
                // Git compresses only fetch requests.
                GitAccess::Write if head.headers.contains_key(header::CONTENT_ENCODING) => {
                    return Err(Problem::Malformed("a compressed push is refused"));
                }
                GitAccess::Write => push::commands(&mut body).await?,
            };
            let body = stream::once(ready(Ok(read))).chain(body);
            forwarded = forwarded.body(reqwest::Body::wrap_stream(body));
        }
        // The error text has an address, which has no login.
        let answer = forwarded
            .send()
            .await
            .map_err(|error| unreachable(error.to_string()))?;
        if let Some(login) = login.filter(|_| answer.status() == StatusCode::UNAUTHORIZED) {
            self.logins.reject(&self.origin, access, &login);
        }
        Ok(returned(run, answer))
    }

    /// Returns the client, if the run's rules allow the destination.
    async fn client(&self, run: &RunEgress) -> Result<&Client, Problem> {
        const SHAPE: Problem = Problem::Malformed("the origin names no host");
        let protocol = if self.url.scheme() == "https" {
            Protocol::Tunnel
        } else {
            Protocol::Plain
        };
        let port = self.url.port_or_known_default().ok_or(SHAPE)?;
        let destination = run
            .decide(protocol, self.host(), port)
            .ok_or(SHAPE)?
            .map_err(Problem::Refused)?;
        let is_proxied = run.upstream.address_of(&self.url).is_some();
        if is_proxied {
            let checked = check_proxied(&*run.lookup, &destination).await;
            checked.map_err(|error| error.into_problem(&destination))?;
        }
        let built = self
            .client
            .get_or_try_init(|| ready(made(run, &destination, is_proxied)))
            .await;
        built.map_err(|_| Problem::Unreachable(self.host().to_owned(), "no client of HTTP".into()))
    }

    /// Sends git to another repository on the same host, which it reaches through a tunnel.
    fn elsewhere(&self, uri: &Uri) -> Result<Answer, Problem> {
        const SHAPE: Problem = Problem::Malformed("the path is malformed");
        let path = uri.path_and_query().ok_or(SHAPE)?.as_str();
        let site = self.url.origin().ascii_serialization();
        let location = HeaderValue::from_str(&format!("{site}{path}")).map_err(|_| SHAPE)?;
        let mut answer = text_answer(StatusCode::TEMPORARY_REDIRECT, "this is another repository");
        answer.headers_mut().insert(header::LOCATION, location);
        Ok(answer)
    }
}

fn without_suffix(text: &str) -> &str {
    text.strip_suffix(SUFFIX).unwrap_or(text)
}

fn selected(headers: &HeaderMap, names: &[HeaderName]) -> HeaderMap {
    let one = |name: &HeaderName| Some((name.clone(), headers.get(name)?.clone()));
    names.iter().filter_map(one).collect()
}

/// Counts bytes against the run's limit.
fn counted<B: AsRef<[u8]>>(budget: &Budget, bytes: B) -> io::Result<B> {
    budget.spend(bytes.as_ref().len()).map(|()| bytes)
}

/// Returns the response to git. The host's text could repeat the request, so our own text replaces
/// it.
fn returned(run: &RunEgress, answer: reqwest::Response) -> Answer {
    let is_of_git = |value: &HeaderValue| value.as_bytes().starts_with(MEDIA_TYPES.as_bytes());
    let media_type = answer.headers().get(header::CONTENT_TYPE);
    if answer.status() != StatusCode::OK || !media_type.is_some_and(is_of_git) {
        return failure(answer.status());
    }
    let (status, headers) = (answer.status(), selected(answer.headers(), &RETURNED));
    let budget = Arc::clone(&run.budget);
    let frame = move |bytes| {
        ready(
            counted(&budget, bytes)
                .map(Frame::data)
                .map_err(BodyError::from),
        )
    };
    let stream = answer
        .bytes_stream()
        .map_err(BodyError::from)
        .and_then(frame);
    let mut answer = Response::new(StreamBody::new(stream).boxed_unsync());
    *answer.status_mut() = status;
    *answer.headers_mut() = headers;
    answer
}

/// Returns the response to git for any other host response.
fn failure(status: StatusCode) -> Answer {
    let (status, text) = match status {
        // With a 401 git would ask for a login.
        StatusCode::UNAUTHORIZED => (
            StatusCode::BAD_GATEWAY,
            "the code host rejected the service's login",
        ),
        StatusCode::FORBIDDEN => (
            status,
            "the code host refused this to the service's account",
        ),
        StatusCode::NOT_FOUND => (
            status,
            "the service's account sees no such repository on the code host",
        ),
        StatusCode::TOO_MANY_REQUESTS => (status, "the code host limits the service's requests"),
        _ if status.is_redirection() => (
            StatusCode::BAD_GATEWAY,
            "the code host redirects, and a login is never sent to another address: mend the configured origin",
        ),
        _ => (
            StatusCode::BAD_GATEWAY,
            "the code host answered with an error",
        ),
    };
    text_answer(status, text)
}

/// Returns a client that connects to the service's proxy, or to allowed addresses only.
fn made(
    run: &RunEgress,
    destination: &Destination,
    is_proxied: bool,
) -> Result<Client, reqwest::Error> {
    let builder = if is_proxied {
        proxied(&run.upstream)
    } else {
        let resolver = Guarded {
            lookup: Arc::clone(&run.lookup),
            destination: destination.clone(),
        };
        client().dns_resolver(Arc::new(resolver))
    };
    builder
        .connect_timeout(CONNECT_TIMEOUT)
        .read_timeout(IDLE_TIMEOUT)
        .build()
}

/// Resolves a name to the addresses that the destination may have.
struct Guarded {
    lookup: Arc<dyn Lookup>,
    destination: Destination,
}

impl Resolve for Guarded {
    fn resolve(&self, name: Name) -> Resolving {
        let (lookup, destination) = (Arc::clone(&self.lookup), self.destination.clone());
        Box::pin(async move {
            let admits = |address| destination.admits(address);
            let found = checked_addresses(&*lookup, name.as_str(), admits).await?;
            // Port 0 stands for the URL's.
            let found: Addrs = Box::new(found.into_iter().map(|address| (address, 0).into()));
            Ok(found)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(origin: &str) -> Option<Route> {
        let with_login =
            origin.replacen("://", "://bot:pw@", usize::from(!origin.contains("public")));
        let logins = Logins::new([with_login.as_str()], None);
        Route::for_run(
            Scope {
                origin: Some(origin),
                ..Scope::default()
            },
            false,
            &logins,
        )
    }

    #[test]
    fn only_http_origins_with_a_login_have_a_route() {
        for origin in ["https://h/a/b", "http://h:3000/a/b.git", "https://h/a/b/"] {
            assert!(route(origin).is_some(), "{origin}");
        }
        for origin in [
            "ssh://git@h/a/b",
            "git@h:a/b",
            "/srv/x",
            "https://h/",
            "https://h/a?x",
            "https://public/a",
        ] {
            assert!(route(origin).is_none(), "{origin}");
        }
    }

    #[test]
    fn git_is_pointed_at_one_repository() {
        for origin in ["https://h:8443/a/b.git", "https://h:8443/a/b/"] {
            let [.., key, value] = route(origin).unwrap().variables();
            assert_eq!(key.1, "url.http://code-host.invalid/a/b.insteadOf");
            assert_eq!(value.1, "https://h:8443/a/b");
        }
    }

    #[test]
    fn only_requests_of_git_for_the_repository_are_steps() {
        use GitAccess::{Read, Write};
        let route = route("https://h/a/b.git").unwrap();
        let (reads, writes) = (
            "/info/refs?service=git-upload-pack",
            "/info/refs?service=git-receive-pack",
        );
        for (method, target, expected) in [
            (
                "GET",
                "/a/b/info/refs?service=git-upload-pack",
                Step::Git(Read, reads),
            ),
            (
                "GET",
                "/a/b.git/info/refs?service=git-upload-pack",
                Step::Git(Read, reads),
            ),
            (
                "POST",
                "/a/b.git/git-upload-pack",
                Step::Git(Read, "/git-upload-pack"),
            ),
            (
                "GET",
                "/a/b/info/refs?service=git-receive-pack",
                Step::Git(Write, writes),
            ),
            (
                "POST",
                "/a/b/git-receive-pack",
                Step::Git(Write, "/git-receive-pack"),
            ),
            (
                "GET",
                "/a/b-other/info/refs?service=git-upload-pack",
                Step::Other,
            ),
            ("GET", "/a/b/info/refs", Step::Unknown),
            (
                "GET",
                "/a/b/info/refs?service=git-upload-pack&x=1",
                Step::Unknown,
            ),
            (
                "GET",
                "/a/b/../c/info/refs?service=git-upload-pack",
                Step::Unknown,
            ),
            ("GET", "/a/b/git-upload-pack", Step::Unknown),
            ("POST", "/a/b/git-upload-pack?x", Step::Unknown),
            ("GET", "/a/b/", Step::Unknown),
            ("GET", "/a/b/HEAD", Step::Unknown),
            ("GET", "/a", Step::Unknown),
            ("POST", "/a/b.git/info/lfs/objects/batch", Step::Unknown),
            ("GET", "/api/user", Step::Unknown),
        ] {
            let uri: Uri = format!("http://code-host.invalid{target}").parse().unwrap();
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            assert_eq!(route.step(&method, &uri), expected, "{method} {target}");
        }
    }
}
