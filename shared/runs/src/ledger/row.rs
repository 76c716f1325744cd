//! A live run's wire form.
//!
//! The fields: `runId, threadKey, ownerGen, leaseUntil, startedAt, phase, stop, meta, card, system,
//! tools, state`.

/// Returns the SQL for a row's JSON, over `live_runs AS live JOIN live_specs AS spec`.
pub(super) fn row_sql() -> String {
    format!(
        "json_object('runId', live.run_id, 'threadKey', live.thread_key, 'ownerGen', live.owner_gen, \
         'leaseUntil', {}, 'startedAt', {}, 'phase', live.phase, 'stop', live.stop, 'meta', json(spec.meta), \
         'card', json(spec.card), 'system', spec.system, 'tools', json(spec.tools), 'state', json(live.state))",
        time_sql("live.lease_until"),
        time_sql("live.started_at"),
    )
}

/// Both tables for a live run.
pub(super) const TABLES: &str =
    "live_runs AS live JOIN live_specs AS spec ON spec.run_id = live.run_id";

/// Returns the SQL for a time without the `.0` that SQLite appends to a double.
fn time_sql(column: &str) -> String {
    format!("iif({column} = CAST({column} AS INTEGER), CAST({column} AS INTEGER), {column})")
}
