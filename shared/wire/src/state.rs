//! The state Worker's routes: every path, the limit of its body and the field that names its store.
//!
//! docs/reference/state-worker.md#routes lists bodies and answers. All are POST with a bearer, JSON in and out. The
//! Worker, its objects and the bot's clients share these enums, so each route is defined once. Not here: bodies
//! (`memory`, `runs`, `ledger` and their neighbours) and their validation.

/// Largest bodies in bytes, inclusive.
pub mod body_limit {
    /// Routes that carry a record, events or a transcript.
    pub const RECORD: usize = 2 * 1024 * 1024;
    /// Every other route.
    pub const OTHER: usize = 512 * 1024;
}

/// The field of a body that names its store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// A store key.
    Named(&'static str),
    /// A run id.
    Run(&'static str),
    /// A lowercase slug.
    Slug(&'static str),
    /// No field: there is one store.
    Single,
}

/// The requests of one kind of store.
pub trait Verb: Copy + Eq + 'static {
    /// Every verb.
    const ALL: &'static [Self];
    /// The field that names the store.
    const KEY: Key;

    /// Returns the path.
    fn path(self) -> &'static str;

    /// Returns the limit of the body in bytes.
    fn max_body_bytes(self) -> usize;

    /// Returns the verb of a path.
    fn of(path: &str) -> Option<Self> {
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
    /// Requests of one memory scope.
    MemoryVerb by Key::Named("scopeKey"),
    /// Records that match a query, best first; counts as use.
    Retrieve "/retrieve" OTHER,
    /// Writes candidates.
    Write "/write" OTHER,
    /// Records, newest first; does not count as use.
    List "/list" OTHER,
    /// Hides one record permanently.
    Forget "/forget" OTHER,
}

verbs! {
    /// Requests of one friction ledger.
    FrictionVerb by Key::Named("ledgerKey"),
    /// Stores a diagnosis.
    Record "/friction/record" OTHER,
    /// The newest diagnoses, oldest first.
    Recent "/friction/recent" OTHER,
}

verbs! {
    /// Requests of the schedule store.
    ScheduleVerb by Key::Single,
    /// Stores a firing.
    Record "/schedules/record" OTHER,
    /// The newest firing of each schedule.
    Latest "/schedules/latest" OTHER,
}

verbs! {
    /// Requests of one run store: finished runs and the ledger of live ones.
    RunVerb by Key::Named("storeKey"),
    /// Writes a finished record.
    Put "/runs/put" RECORD,
    /// Reads a record.
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
    /// Reads the run of an idempotency key.
    FirstUse "/runs/first-use" OTHER,
    /// Lists every live run.
    Live "/runs/live" OTHER,
    /// Stores a step record.
    Step "/runs/step" OTHER,
    /// Extends the lease; returns a requested stop.
    Heartbeat "/runs/heartbeat" OTHER,
    /// Appends events.
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
    /// Reclaims orphaned runs of other generations.
    Reclaim "/runs/reclaim" OTHER,
    /// Reads the events of a live run.
    LiveEvents "/runs/live-events" OTHER,
    /// Queues a follow-up for a live run.
    Inbox "/runs/inbox" OTHER,
    /// Appends events to many live runs, extends their leases, and returns stops and follow-ups.
    Flush "/runs/flush" RECORD,
}

verbs! {
    /// Requests of one run's transcript.
    TranscriptVerb by Key::Run("runId"),
    /// Sets the generation that may write.
    Owner "/runs/transcript/owner" OTHER,
    /// Writes parts and attachments.
    Write "/runs/transcript/write" RECORD,
    /// Reads everything.
    Read "/runs/transcript/read" OTHER,
    /// Removes everything.
    Clear "/runs/transcript/clear" OTHER,
}

verbs! {
    /// Requests of one configuration document.
    ConfigVerb by Key::Slug("key"),
    /// Reads the document and its version.
    Get "/config/get" OTHER,
    /// Replaces the version that the writer has read.
    Put "/config/put" OTHER,
}

/// One route of the state Worker: a verb of one kind of store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Route {
    /// Of a memory scope.
    Memory(MemoryVerb),
    /// Of a friction ledger.
    Friction(FrictionVerb),
    /// Of the schedule store.
    Schedules(ScheduleVerb),
    /// Of a run store.
    Runs(RunVerb),
    /// Of a transcript.
    Transcript(TranscriptVerb),
    /// Of a configuration document.
    Config(ConfigVerb),
}

impl Route {
    /// Returns every route.
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

    /// Returns the route of a path, or `None`.
    pub fn of(path: &str) -> Option<Self> {
        let transcript = || TranscriptVerb::of(path).map(Self::Transcript);
        let runs = || RunVerb::of(path).map(Self::Runs).or_else(transcript);
        if path.starts_with("/runs/") {
            return runs();
        }
        let config = || ConfigVerb::of(path).map(Self::Config);
        let schedules = || ScheduleVerb::of(path).map(Self::Schedules).or_else(config);
        let friction = || {
            FrictionVerb::of(path)
                .map(Self::Friction)
                .or_else(schedules)
        };
        MemoryVerb::of(path).map(Self::Memory).or_else(friction)
    }

    /// Returns the path.
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

    /// Returns the limit of the body in bytes.
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
            assert_eq!(Route::of(route.path()), Some(route));
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
            assert_eq!(Route::of(path), None, "{path}");
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
