//! Routes as data: each surface lists its own, and `router` connects them.
//!
//! A surface may also answer other spellings below its paths. No such spelling may reach the health
//! probe, because a client would read the 200 as an answer.

use std::sync::Arc;

use axum::{
    Router,
    extract::Request,
    handler::Handler,
    response::Response,
    routing::{MethodRouter, any, get, post},
};
use percent_encoding::percent_decode_str;
use tower::ServiceExt as _;

use crate::state::HttpState;

/// Methods for a route that checks the method itself.
const METHODS: &[&str] = &[
    "GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE",
];

/// A path with the handler for a single method or all.
pub(crate) struct Route {
    methods: &'static [&'static str],
    path: &'static str,
    handler: MethodRouter<HttpState>,
}

impl Route {
    /// Returns a route that reads.
    pub(crate) fn read<H: Handler<T, HttpState>, T: 'static>(
        path: &'static str,
        handler: H,
    ) -> Self {
        Self {
            methods: &["GET", "HEAD"],
            path,
            handler: get(handler),
        }
    }

    /// Returns a route that writes.
    pub(crate) fn write<H: Handler<T, HttpState>, T: 'static>(
        path: &'static str,
        handler: H,
    ) -> Self {
        Self {
            methods: &["POST"],
            path,
            handler: post(handler),
        }
    }

    /// Returns a route whose handler checks the method itself.
    pub(crate) fn all<H: Handler<T, HttpState>, T: 'static>(
        path: &'static str,
        handler: H,
    ) -> Self {
        Self {
            methods: METHODS,
            path,
            handler: any(handler),
        }
    }
}

/// Wraps routes in middleware.
type Wrap = fn(Router<HttpState>, &HttpState) -> Router<HttpState>;

/// Tells whether a surface answers a path without a route.
type Owns = fn(&Spelling) -> bool;

/// Routes that a surface adds to the router.
pub struct Routes {
    table: Vec<Route>,
    others: Vec<Other>,
    wrap: Option<Wrap>,
}

impl Routes {
    /// Returns the routes of a surface that connects outwards.
    pub fn none() -> Self {
        Self::new(Vec::new())
    }

    /// Returns routes without middleware.
    pub(crate) fn new(table: Vec<Route>) -> Self {
        Self {
            table,
            others: Vec::new(),
            wrap: None,
        }
    }

    /// Wraps the routes in middleware.
    pub(crate) fn wrapped(mut self, wrap: Wrap) -> Self {
        self.wrap = Some(wrap);
        self
    }

    /// Answers paths without a route that `owns` claims.
    pub(crate) fn with_others<H: Handler<T, HttpState>, T: 'static>(
        mut self,
        owns: Owns,
        handler: H,
    ) -> Self {
        let handler = any(handler);
        self.others.push(Other { owns, handler });
        self
    }

    /// Adds a value that the handlers extract as an extension.
    pub(crate) fn with_extension<T: Clone + Send + Sync + 'static>(mut self, value: &T) -> Self {
        let with = |mut route: Route| {
            route.handler = route.handler.layer(axum::Extension(value.clone()));
            route
        };
        self.table = self.table.into_iter().map(with).collect();
        self
    }

    /// Returns each route's methods and path.
    pub(crate) fn listed(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.table.iter().flat_map(|route| {
            let path = route.path;
            route.methods.iter().map(move |method| (*method, path))
        })
    }

    /// Returns a router with the routes, and the answers to other paths.
    pub(crate) fn into_parts(self, state: &HttpState) -> (Router<HttpState>, Vec<BoundOther>) {
        let router = self.table.into_iter().fold(Router::new(), |router, route| {
            router.route(route.path, route.handler)
        });
        let router = match self.wrap {
            Some(wrap) => wrap(router, state),
            None => router,
        };
        let others = self.others.into_iter().map(|other| BoundOther {
            owns: other.owns,
            handler: other.handler.with_state(state.clone()),
        });
        (router, others.collect())
    }
}

/// The answer to paths without a route that a surface claims.
pub(crate) struct Other<S = HttpState> {
    owns: Owns,
    handler: MethodRouter<S>,
}

/// The same with the state, as a request needs it.
type BoundOther = Other<()>;

/// Answers to paths without a route. The first that claims a path answers it.
#[derive(Clone)]
pub(crate) struct Others(Arc<[BoundOther]>);

impl Others {
    /// Returns the answers in their order.
    pub(crate) fn new(others: Vec<BoundOther>) -> Self {
        Self(others.into())
    }

    /// Answers a request whose path is claimed. Hands back any other request.
    pub(crate) async fn answer(&self, request: Request) -> Result<Response, Request> {
        let path = Spelling::parse(request.uri().path());
        let Some(other) = self.0.iter().find(|other| (other.owns)(&path)) else {
            return Err(request);
        };
        let Ok(response) = other.handler.clone().oneshot(request).await;
        Ok(response)
    }
}

/// A path in canonical spelling.
///
/// Percent-encoding is decoded once. Repeated slashes and the first segment's letter case are
/// ignored.
pub(crate) struct Spelling(Vec<String>);

impl Spelling {
    /// Returns the spelling of a request's path.
    pub(crate) fn parse(path: &str) -> Self {
        let decoded = percent_decode_str(path).decode_utf8_lossy();
        let mut segments: Vec<String> = decoded
            .split('/')
            .filter(|segment| !segment.is_empty())
            .map(str::to_owned)
            .collect();
        if let Some(first) = segments.first_mut() {
            first.make_ascii_lowercase();
        }
        Self(segments)
    }

    /// Returns the segments.
    pub(crate) fn segments(&self) -> Vec<&str> {
        self.0.iter().map(String::as_str).collect()
    }

    /// Returns the first segment; empty if there is none.
    pub(crate) fn first(&self) -> &str {
        self.0.first().map_or("", String::as_str)
    }
}

/// Asserts which paths, separated by spaces, are claimed.
#[cfg(test)]
pub(crate) fn assert_owned(owns: Owns, owned: &str, others: &str) {
    for (paths, expected) in [(owned, true), (others, false)] {
        for path in paths.split(' ') {
            assert_eq!(owns(&Spelling::parse(path)), expected, "{path}");
        }
    }
}
