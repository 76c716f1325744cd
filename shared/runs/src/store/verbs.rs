//! Opens the store, answers the verbs and sweeps it.

use ars_sql::{Migration, MigrationError, Sql, SqlError, migrate};
use ars_store::{Store, StoreFailure};
use ars_types::UnixMillis;
use ars_wire::state::RunVerb;

use super::{
    RunStore, get,
    item::{brief_sql, item_sql, listed_sql},
    sweep,
};

/// Interval between [`RunStore::sweep`] calls, starting with the first put.
pub const SWEEP_EVERY_MS: i64 = 6 * 60 * 60 * 1000;

/// The store's migrations, `migrations/run-store/`.
pub const MIGRATIONS: &[Migration] = &[
    Migration {
        name: "0001_runs",
        sql: include_str!("../../../../migrations/run-store/0001_runs.sql"),
    },
    Migration {
        name: "0002_ledger",
        sql: include_str!("../../../../migrations/run-store/0002_ledger.sql"),
    },
    Migration {
        name: "0003_totals",
        sql: include_str!("../../../../migrations/run-store/0003_totals.sql"),
    },
    Migration {
        name: "0004_plain",
        sql: include_str!("../../../../migrations/run-store/0004_plain.sql"),
    },
    Migration {
        name: "0005_idempotency",
        sql: include_str!("../../../../migrations/run-store/0005_idempotency.sql"),
    },
    Migration {
        name: "0006_brief",
        sql: include_str!("../../../../migrations/run-store/0006_brief.sql"),
    },
    Migration {
        name: "0007_stop_actor",
        sql: include_str!("../../../../migrations/run-store/0007_stop_actor.sql"),
    },
];

impl<S: Sql> Store<S> for RunStore<S> {
    type Verb = RunVerb;

    const SWEEP_EVERY_MS: Option<i64> = Some(SWEEP_EVERY_MS);
    const SWEEP_AT_MOST: i64 = sweep::AT_MOST;

    fn open(sql: S) -> Result<Self, MigrationError> {
        migrate(&sql, MIGRATIONS)?;
        let item = item_sql();
        let listed = listed_sql(&item);
        Ok(Self {
            sql,
            get: get::get_sql(&item),
            brief: brief_sql(&listed),
            listed,
            item,
        })
    }

    fn answer(&self, verb: RunVerb, body: &str, now: UnixMillis) -> Result<S::Text, StoreFailure> {
        let answer = match verb {
            RunVerb::Put => self.put(body, now),
            RunVerb::Get => return self.get(body, now),
            RunVerb::Summary => self.summary(body, now),
            RunVerb::List => return self.list(body, now),
            RunVerb::Events => return self.events(body, now),
            RunVerb::Delete => self.delete(body),
            RunVerb::Claim => self.claim(body, now),
            RunVerb::FirstUse => self.first_use(body, now),
            RunVerb::Live => return self.live(body),
            RunVerb::Step => self.step(body),
            RunVerb::Heartbeat => self.heartbeat(body, now),
            RunVerb::Append => self.append(body),
            RunVerb::State => self.state(body),
            RunVerb::Stop => self.stop(body, now),
            RunVerb::Handoff => self.handoff(body),
            RunVerb::Finishing => self.finishing(body),
            RunVerb::Finish => self.finish(body, now),
            RunVerb::Reclaim => return self.reclaim(body, now),
            RunVerb::LiveEvents => return self.live_events(body, now),
            RunVerb::Inbox => self.inbox(body),
            RunVerb::Flush => return self.flush(body, now),
        };
        answer.map(S::Text::from)
    }

    fn arms_sweep(&self, verb: RunVerb) -> bool {
        matches!(verb, RunVerb::Put | RunVerb::Finish)
    }

    fn sweep(&self, now: UnixMillis) -> Result<i64, SqlError> {
        self.sweep_hidden(now)
    }
}
