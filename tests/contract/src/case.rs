//! Tables of cases: a route, and for each case its name, earlier requests, the request, the expected answer, and
//! requests that show its effect.

use std::collections::HashSet;

use ars_wire::state::{Key, Route};
use serde_json::{Value, json};

use crate::{layout, sheet::MAY_NOT_BE};

/// Characters of the name in a case's key, which may be a run id. With the digest there are fewer than 64.
const KEY_WORDS: usize = 40;

/// The cases of one route.
pub struct Table {
    pub(crate) route: Route,
    pub(crate) cases: Vec<Case>,
    keys: HashSet<String>,
}

/// One case. Each has a separate store, or a separate run where the run id selects the store.
pub struct Case {
    pub(crate) name: String,
    pub(crate) key: String,
    pub(crate) given: Vec<Call>,
    pub(crate) call: Call,
    pub(crate) expected: Expected,
    pub(crate) then: Vec<Call>,
    /// Whether records are rendered with all of their fields.
    pub(crate) whole: bool,
}

/// A request to a route, with the bearer.
#[derive(Clone)]
pub(crate) struct Call {
    pub route: Route,
    pub body: Body,
}

#[derive(Clone)]
pub(crate) enum Body {
    /// JSON. The key of the store is added unless present.
    Json(Value),
    /// Verbatim text, with `$KEY` replaced by the case's key.
    Text(String),
}

pub(crate) enum Expected {
    /// 200.
    Ok,
    /// 400 about this field.
    Refused(String),
    /// 409 for this reason.
    Conflict(&'static str),
    /// 409 with the stored version.
    Stale(u64),
    /// 413.
    TooLarge,
}

/// A case without its request.
pub struct Draft<'a> {
    table: &'a mut Table,
    name: String,
    given: Vec<Call>,
}

impl Table {
    /// Returns a table without cases.
    pub fn of(path: &str) -> Self {
        Self { route: route(path), cases: Vec::new(), keys: HashSet::new() }
    }

    /// Returns the route.
    pub fn route(&self) -> Route {
        self.route
    }

    /// Returns the number of cases.
    pub fn len(&self) -> usize {
        self.cases.len()
    }

    /// Returns whether the table is empty.
    pub fn is_empty(&self) -> bool {
        self.cases.is_empty()
    }

    /// Starts a case. Names are unique within a table.
    pub fn case(&mut self, name: impl Into<String>) -> Draft<'_> {
        Draft { table: self, name: name.into(), given: Vec::new() }
    }

    /// Adds one case per invalid value of a field. `body` builds the request with such a value.
    pub fn refuses(&mut self, field: &str, values: &[Value], body: impl Fn(Value) -> Value) {
        for value in values {
            self.case(format!("{field}{MAY_NOT_BE}{}", layout::short(value)))
                .refused(field, body(value.clone()));
        }
    }
}

impl<'a> Draft<'a> {
    /// Adds an earlier request, which must succeed.
    pub fn given(mut self, path: &str, body: Value) -> Self {
        self.given.push(Call { route: route(path), body: Body::Json(body) });
        self
    }

    /// Adds several earlier requests to the same route.
    pub fn given_each(self, path: &str, bodies: impl IntoIterator<Item = Value>) -> Self {
        bodies.into_iter().fold(self, |draft, body| draft.given(path, body))
    }

    /// Expects success.
    pub fn ok(self, body: Value) -> &'a mut Case {
        self.expect(Body::Json(body), Expected::Ok)
    }

    /// Expects success of this text.
    pub fn ok_text(self, body: impl Into<String>) -> &'a mut Case {
        self.expect(Body::Text(body.into()), Expected::Ok)
    }

    /// Expects a refusal that begins with the field's name.
    pub fn refused(self, field: &str, body: Value) -> &'a mut Case {
        self.expect(Body::Json(body), Expected::Refused(field.to_owned()))
    }

    /// Expects a refusal of this text.
    pub fn refused_text(self, field: &str, body: impl Into<String>) -> &'a mut Case {
        self.expect(Body::Text(body.into()), Expected::Refused(field.to_owned()))
    }

    /// Expects a conflict with the stored state.
    pub fn conflict(self, reason: &'static str, body: Value) -> &'a mut Case {
        self.expect(Body::Json(body), Expected::Conflict(reason))
    }

    /// Expects a conflict with this newer version.
    pub fn stale(self, version: u64, body: Value) -> &'a mut Case {
        self.expect(Body::Json(body), Expected::Stale(version))
    }

    /// Expects 413 for a part of the body.
    pub fn too_large(self, body: Value) -> &'a mut Case {
        self.expect(Body::Json(body), Expected::TooLarge)
    }

    fn expect(self, body: Body, expected: Expected) -> &'a mut Case {
        let Self { table, name, given } = self;
        let key = key_of(&name);
        assert!(table.keys.insert(key.clone()), "two cases are named {name}");
        let call = Call { route: table.route, body };
        table.cases.push(Case { name, key, given, call, expected, then: Vec::new(), whole: false });
        table.cases.last_mut().expect("the case just added")
    }
}

impl Case {
    /// Renders records with all of their fields, including default ones.
    pub fn whole(&mut self) -> &mut Self {
        self.whole = true;
        self
    }

    /// Adds a later request that shows the effect.
    pub fn then(&mut self, path: &str, body: Value) -> &mut Self {
        self.then.push(Call { route: route(path), body: Body::Json(body) });
        self
    }
}

impl Call {
    /// Returns the body for a store of this name.
    pub fn text(&self, key: &str) -> String {
        match &self.body {
            Body::Text(text) => text.replace("$KEY", key),
            Body::Json(body) => {
                let mut body = body.clone();
                let (field, key) = match self.route.key() {
                    Key::Named(field) | Key::Run(field) => (field, key.to_owned()),
                    Key::Slug(field) => (field, key.to_ascii_lowercase()),
                    Key::Single => return body.to_string(),
                };
                if let Value::Object(fields) = &mut body {
                    fields.entry(field).or_insert_with(|| json!(key));
                }
                body.to_string()
            }
        }
    }
}

fn route(path: &str) -> Route {
    Route::of(path).unwrap_or_else(|| panic!("no route {path}"))
}

/// Returns a key for a store and an id for a run: words of the name, and its digest.
fn key_of(name: &str) -> String {
    let words: Vec<_> =
        name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let words: String = words.join("-").chars().take(KEY_WORDS).collect();
    format!("{words}-{}", layout::digest(name))
}
