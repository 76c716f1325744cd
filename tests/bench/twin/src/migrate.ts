// Applies the migrations that the Rust Worker applies, from the same files and into the same history table.

export interface Migration {
  name: string;
  sql: string;
}

export function migrate(storage: DurableObjectStorage, steps: Migration[]): void {
  const { sql } = storage;
  sql.exec("CREATE TABLE IF NOT EXISTS _migrations (name TEXT PRIMARY KEY) STRICT");
  const applied = new Set(
    sql.exec<{ name: string }>("SELECT name FROM _migrations").toArray().map((row) => row.name),
  );
  for (const step of steps) {
    if (applied.has(step.name)) continue;
    storage.transactionSync(() => {
      sql.exec(step.sql);
      sql.exec("INSERT INTO _migrations (name) VALUES (?)", step.name);
    });
  }
}
