// Every live run, earliest start first: `{ runs }` (supplement section 9.3).

const time = (column: string) => `iif(${column} = CAST(${column} AS INTEGER), CAST(${column} AS INTEGER), ${column})`;

const ROWS = `SELECT json_object('runId', live.run_id, 'threadKey', live.thread_key, 'ownerGen', live.owner_gen,
  'leaseUntil', ${time("live.lease_until")}, 'startedAt', ${time("live.started_at")}, 'phase', live.phase,
  'stop', live.stop, 'meta', json(spec.meta), 'card', json(spec.card), 'system', spec.system,
  'tools', json(spec.tools), 'state', json(live.state)) AS row
  FROM live_runs AS live JOIN live_specs AS spec ON spec.run_id = live.run_id
  ORDER BY live.started_at, live.run_id`;

export function live(sql: SqlStorage): string {
  const rows = sql.exec<{ row: string }>(ROWS).toArray();
  return `{"runs":[${rows.map(({ row }) => row).join(",")}]}`;
}
