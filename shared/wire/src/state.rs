//! The state Worker's routes: every path, the body limit and the field that names the store.
//!
//! docs/reference/state-worker.md#routes lists bodies and answers. All are POST with a bearer, JSON
//! in and out. The Worker, the objects and the bot's clients share these enums, so each route is
//! defined once. Not here: bodies (`memory`, `runs`, `ledger` and their neighbours) and their
//! validation.

/// Largest bodies in bytes, inclusive.
pub mod body_limit {
    /// Routes that carry a record, events or a transcript.
    pub const RECORD: usize = 2 * 1024 * 1024;
    /// For every other route.
    pub const OTHER: usize = 512 * 1024;
}

/// The body field that names the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// The field holds a store key.
    Named(&'static str),
    /// The field holds a run id.
    Run(&'static str),
    /// The field holds a lowercase slug.
    Slug(&'static str),
    /// No field: there is a single store.
    Single,
}

/// The requests that a store kind accepts.
pub trait Verb: Copy + Eq + 'static {
    /// Every verb, in order.
    const ALL: &'static [Self];
    /// The field that names the store.
    const KEY: Key;

    /// Returns the route's path.
    fn path(self) -> &'static str;

    /// Returns the body limit in bytes.
    fn max_body_bytes(self) -> usize;

    /// Returns the verb at a path.
    fn from_path(path: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|verb| verb.path() == path)
    }
}

macro_rules! verbs {
    ($(#[$doc:meta])* $name:ident by $key:expr, $($(#[$verb_doc:meta])* $verb:ident $path:literal $limit:ident,)+) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$verb_doc])* $verb,)+
        }

        impl Verb for $name {
            const ALL: &'static [Self] = &[$(Self::$verb,)+];
            const KEY: Key = $key;

            fn path(self) -> &'static str {
                match self { $(Self::$verb => $path,)+ }
            }

            fn max_body_bytes(self) -> usize {
                match self { $(Self::$verb => body_limit::$limit,)+ }
            }
        }
    };
}

verbs! {
    /// Requests to a memory scope.
    MemoryVerb by Key::Named("scopeKey"),
    /// Records that match a query, best first; counts as use.
    Retrieve "/retrieve" OTHER,
    /// Writes candidates as records.
    Write "/write" OTHER,
    /// Records, newest first; does not count as use.
    List "/list" OTHER,
    /// Hides a record permanently.
    Forget "/forget" OTHER,
}

verbs! {
    /// Requests to a friction ledger.
    FrictionVerb by Key::Named("ledgerKey"),
    /// Stores a run's diagnosis.
    Record "/friction/record" OTHER,
    /// The newest diagnoses, oldest first.
    Recent "/friction/recent" OTHER,
}

verbs! {
    /// Requests to the schedule store.
    ScheduleVerb by Key::Single,
    /// Stores a schedule's firing.
    Record "/schedules/record" OTHER,
    /// Each schedule's newest firing.
    Latest "/schedules/latest" OTHER,
}

verbs! {
    /// Requests to a run store: finished runs and the ledger for live runs.
    RunVerb by Key::Named("storeKey"),
    /// Writes a finished record.
    Put "/runs/put" RECORD,
    /// Reads a record with events.
    Get "/runs/get" OTHER,
    /// Reads a record without its events.
    Summary "/runs/summary" OTHER,
    /// Lists records without their events.
    List "/runs/list" OTHER,
    /// Reads a page of events.
    Events "/runs/events" OTHER,
    /// Removes a record and its events.
    Delete "/runs/delete" OTHER,
    /// Claims a run on its thread.
    Claim "/runs/claim" OTHER,
    /// Reads an idempotency key's run.
    FirstUse "/runs/first-use" OTHER,
    /// Lists every live run.
    Live "/runs/live" OTHER,
    /// Stores a step record.
    Step "/runs/step" OTHER,
    /// Extends the lease; returns a requested stop.
    Heartbeat "/runs/heartbeat" OTHER,
    /// Appends a run's events.
    Append "/runs/append" RECORD,
    /// Replaces the dispatcher's state.
    State "/runs/state" OTHER,
    /// Asks a run to stop.
    Stop "/runs/stop" OTHER,
    /// Offers an owner's runs to the next generation.
    Handoff "/runs/handoff" OTHER,
    /// Acquires the reply permit.
    Finishing "/runs/finishing" OTHER,
    /// Writes the record and ends the live run.
    Finish "/runs/finish" RECORD,
    /// Reclaims other generations' orphaned runs.
    Reclaim "/runs/reclaim" OTHER,
    /// Reads a live run's events.
    LiveEvents "/runs/live-events" OTHER,
    /// Queues a follow-up for a live run.
    Inbox "/runs/inbox" OTHER,
    /// Appends events to many live runs, extends their leases, and returns stops and follow-ups.
    Flush "/runs/flush" RECORD,
}

verbs! {
    /// Requests to a single run's transcript.
    TranscriptVerb by Key::Run("runId"),
    /// Sets the generation that may write.
    Owner "/runs/transcript/owner" OTHER,
    /// Writes parts and attachments.
    Write "/runs/transcript/write" RECORD,
    /// Reads the whole transcript.
    Read "/runs/transcript/read" OTHER,
    /// Removes the whole transcript.
    Clear "/runs/transcript/clear" OTHER,
}

verbs! {
    /// Requests to a configuration document.
    ConfigVerb by Key::Slug("key"),
    /// Reads the document and its version.
    Get "/config/get" OTHER,
    /// Replaces the version that the writer has read.
    Put "/config/put" OTHER,
}

/// A state Worker route: a verb on a store kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Route {
    /// A route to a memory scope.
    Memory(MemoryVerb),
    /// A route to a friction ledger.
    Friction(FrictionVerb),
    /// A route to the schedule store.
    Schedules(ScheduleVerb),
    /// A route to a run store.
    Runs(RunVerb),
    /// A route to a transcript.
    Transcript(TranscriptVerb),
    /// A route to a configuration document.
    Config(ConfigVerb),
}

impl Route {
    /// Returns every route, store by store.
    pub fn all() -> impl Iterator<Item = Self> {
        let memory = MemoryVerb::ALL.iter().copied().map(Self::Memory);
        let friction = FrictionVerb::ALL.iter().copied().map(Self::Friction);
        let schedules = ScheduleVerb::ALL.iter().copied().map(Self::Schedules);
        let runs = RunVerb::ALL.iter().copied().map(Self::Runs);
        let transcript = TranscriptVerb::ALL.iter().copied().map(Self::Transcript);
        let config = ConfigVerb::ALL.iter().copied().map(Self::Config);
        memory
            .chain(friction)
            .chain(schedules)
            .chain(runs)
            .chain(transcript)
            .chain(config)
    }

    /// Returns the route at a path, or `None`.
    pub fn from_path(path: &str) -> Option<Self> {
        let transcript = || TranscriptVerb::from_path(path).map(Self::Transcript);
        let runs = || RunVerb::from_path(path).map(Self::Runs).or_else(transcript);
        if path.starts_with("/runs/") {
            return runs();
        }
        let config = || ConfigVerb::from_path(path).map(Self::Config);
        let schedules = || {
            ScheduleVerb::from_path(path)
                .map(Self::Schedules)
                .or_else(config)
        };
        let friction = || {
            FrictionVerb::from_path(path)
                .map(Self::Friction)
                .or_else(schedules)
        };
        MemoryVerb::from_path(path)
            .map(Self::Memory)
            .or_else(friction)
    }

    /// Returns the route's path.
    pub fn path(self) -> &'static str {
        match self {
            Self::Memory(verb) => verb.path(),
            Self::Friction(verb) => verb.path(),
            Self::Schedules(verb) => verb.path(),
            Self::Runs(verb) => verb.path(),
            Self::Transcript(verb) => verb.path(),
            Self::Config(verb) => verb.path(),
        }
    }

    /// Returns the body limit in bytes.
    pub fn max_body_bytes(self) -> usize {
        match self {
            Self::Memory(verb) => verb.max_body_bytes(),
            Self::Friction(verb) => verb.max_body_bytes(),
            Self::Schedules(verb) => verb.max_body_bytes(),
            Self::Runs(verb) => verb.max_body_bytes(),
            Self::Transcript(verb) => verb.max_body_bytes(),
            Self::Config(verb) => verb.max_body_bytes(),
        }
    }

    /// Returns the field that names the store.
    pub const fn key(self) -> Key {
        match self {
            Self::Memory(_) => MemoryVerb::KEY,
            Self::Friction(_) => FrictionVerb::KEY,
            Self::Schedules(_) => ScheduleVerb::KEY,
            Self::Runs(_) => RunVerb::KEY,
            Self::Transcript(_) => TranscriptVerb::KEY,
            Self::Config(_) => ConfigVerb::KEY,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_routes_name_each_other() {
        for route in Route::all() {
            assert_eq!(Route::from_path(route.path()), Some(route));
        }
        for path in [
            "",
            "/",
            "/runs",
            "/runs/",
            "/runs/put/",
            "/Runs/put",
            "/healthz",
            "/runs/inbox/read",
        ] {
            assert_eq!(Route::from_path(path), None, "{path}");
        }
    }

    #[test]
    fn only_bulk_routes_have_the_large_limit() {
        let large: Vec<_> = Route::all()
            .filter(|route| route.max_body_bytes() == 2_097_152)
            .map(Route::path)
            .collect();
        assert_eq!(
            large,
            [
                "/runs/put",
                "/runs/append",
                "/runs/finish",
                "/runs/flush",
                "/runs/transcript/write"
            ]
        );
        assert!(
            Route::all()
                .all(|route| large.contains(&route.path()) || route.max_body_bytes() == 524_288)
        );
    }
}
