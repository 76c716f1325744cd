//! The state Worker's routes: every path, with its body's fence and the field that names its store (document 2
//! sections 4.2 and 4.3, state-worker supplement sections 1.4, 1.5, 2 to 10 and 14; docs/decisions/0007 for the flush).
//!
//! All are POST with a bearer, JSON in and out. The Worker, its objects, and the bot's clients share these enums, so
//! a route exists once. Not here: bodies (`memory`, `runs`, `ledger` and their neighbours) and their validation.

/// Largest bodies in bytes; equal is accepted (state-worker supplement section 1.4).
pub mod fence {
    /// Of a route that carries a record, events or a transcript.
    pub const RECORD: usize = 2 * 1024 * 1024;
    /// Of every other route.
    pub const OTHER: usize = 512 * 1024;
}

/// How a body names the store it is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// This field, in the grammar of keys (section 1.5).
    Named(&'static str),
    /// This field, a run id.
    Run(&'static str),
    /// This field, a lowercase slug (section 14).
    Slug(&'static str),
    /// Not at all: there is one store.
    Single,
}

/// What one kind of store can be asked for.
pub trait Verb: Copy + Eq + 'static {
    /// Every verb.
    const ALL: &'static [Self];
    /// How a body names its store.
    const KEY: Key;

    /// Its path.
    fn path(self) -> &'static str;

    /// Largest body in bytes.
    fn fence(self) -> usize;

    /// The verb of a path.
    fn of(path: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|verb| verb.path() == path)
    }
}

macro_rules! verbs {
    ($(#[$doc:meta])* $name:ident by $key:expr, $($(#[$verb_doc:meta])* $verb:ident $path:literal $fence:ident,)+) => {
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

            fn fence(self) -> usize {
                match self { $(Self::$verb => fence::$fence,)+ }
            }
        }
    };
}

verbs! {
    /// Of one memory scope (section 2).
    MemoryVerb by Key::Named("scopeKey"),
    /// Records that match a query, best first; counts as use.
    Retrieve "/retrieve" OTHER,
    /// Takes in candidates.
    Write "/write" OTHER,
    /// Records, newest first; does not count as use.
    List "/list" OTHER,
    /// Hides one record for good.
    Forget "/forget" OTHER,
}

verbs! {
    /// Of one friction ledger (section 3).
    FrictionVerb by Key::Named("ledgerKey"),
    /// Keeps a diagnosis.
    Record "/friction/record" OTHER,
    /// The newest diagnoses, oldest first.
    Recent "/friction/recent" OTHER,
}

verbs! {
    /// Of the one schedule store (section 4).
    ScheduleVerb by Key::Single,
    /// Keeps a firing.
    Record "/schedules/record" OTHER,
    /// The newest firing of each schedule.
    Latest "/schedules/latest" OTHER,
}

verbs! {
    /// Of one run store: finished runs (section 5) and the ledger of live ones (section 9).
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
    /// Makes a run live on its thread.
    Claim "/runs/claim" OTHER,
    /// Every live run.
    Live "/runs/live" OTHER,
    /// Keeps a step record.
    Step "/runs/step" OTHER,
    /// Extends the lease; tells of a stop.
    Heartbeat "/runs/heartbeat" OTHER,
    /// Appends events.
    Append "/runs/append" RECORD,
    /// Replaces the dispatcher's state.
    State "/runs/state" OTHER,
    /// Asks a run to stop.
    Stop "/runs/stop" OTHER,
    /// Offers an owner's runs to the next generation.
    Handoff "/runs/handoff" OTHER,
    /// Takes the right to reply.
    Finishing "/runs/finishing" OTHER,
    /// Writes the record and ends the live run.
    Finish "/runs/finish" RECORD,
    /// Takes over what other generations left.
    Reclaim "/runs/reclaim" OTHER,
    /// Events of a live run.
    LiveEvents "/runs/live-events" OTHER,
    /// Leaves a follow-up for a live run.
    Inbox "/runs/inbox" OTHER,
    /// Appends events to many live runs, extends their leases, and brings back stops and follow-ups.
    Flush "/runs/flush" RECORD,
}

verbs! {
    /// Of one run's transcript (section 10).
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
    /// Of one configuration document (section 14).
    ConfigVerb by Key::Slug("key"),
    /// Reads the document and its version.
    Get "/config/get" OTHER,
    /// Replaces the version the writer has seen.
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
    /// Every route.
    pub fn all() -> impl Iterator<Item = Self> {
        let memory = MemoryVerb::ALL.iter().copied().map(Self::Memory);
        let friction = FrictionVerb::ALL.iter().copied().map(Self::Friction);
        let schedules = ScheduleVerb::ALL.iter().copied().map(Self::Schedules);
        let runs = RunVerb::ALL.iter().copied().map(Self::Runs);
        let transcript = TranscriptVerb::ALL.iter().copied().map(Self::Transcript);
        let config = ConfigVerb::ALL.iter().copied().map(Self::Config);
        memory.chain(friction).chain(schedules).chain(runs).chain(transcript).chain(config)
    }

    /// The route of a path; every other path is not there.
    pub fn of(path: &str) -> Option<Self> {
        let transcript = || TranscriptVerb::of(path).map(Self::Transcript);
        let runs = || RunVerb::of(path).map(Self::Runs).or_else(transcript);
        if path.starts_with("/runs/") {
            return runs();
        }
        let config = || ConfigVerb::of(path).map(Self::Config);
        let schedules = || ScheduleVerb::of(path).map(Self::Schedules).or_else(config);
        let friction = || FrictionVerb::of(path).map(Self::Friction).or_else(schedules);
        MemoryVerb::of(path).map(Self::Memory).or_else(friction)
    }

    /// Its path.
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

    /// Largest body in bytes.
    pub fn fence(self) -> usize {
        match self {
            Self::Memory(verb) => verb.fence(),
            Self::Friction(verb) => verb.fence(),
            Self::Schedules(verb) => verb.fence(),
            Self::Runs(verb) => verb.fence(),
            Self::Transcript(verb) => verb.fence(),
            Self::Config(verb) => verb.fence(),
        }
    }

    /// How a body names its store.
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
        for path in ["", "/", "/runs", "/runs/", "/runs/put/", "/Runs/put", "/healthz", "/runs/inbox/read"] {
            assert_eq!(Route::of(path), None, "{path}");
        }
    }

    #[test]
    fn only_what_carries_records_events_or_transcripts_may_be_large() {
        let large: Vec<_> =
            Route::all().filter(|route| route.fence() == 2_097_152).map(Route::path).collect();
        assert_eq!(
            large,
            ["/runs/put", "/runs/append", "/runs/finish", "/runs/flush", "/runs/transcript/write"]
        );
        assert!(Route::all().all(|route| large.contains(&route.path()) || route.fence() == 524_288));
    }
}
