// The part of the edge platform that the twin uses. Types only, so that no package has to be installed for them.

type SqlValue = string | number | null;

interface SqlCursor<Row> {
  toArray(): Row[];
  one(): Row;
}

interface SqlStorage {
  exec<Row = Record<string, SqlValue>>(query: string, ...bindings: SqlValue[]): SqlCursor<Row>;
}

interface DurableObjectStorage {
  readonly sql: SqlStorage;
  transactionSync<T>(body: () => T): T;
  getAlarm(): Promise<number | null>;
  setAlarm(at: number): Promise<void>;
}

interface DurableObjectState {
  readonly storage: DurableObjectStorage;
}

interface DurableObjectStub {
  fetch(url: string, init: RequestInit): Promise<Response>;
}

interface DurableObjectNamespace {
  getByName(name: string): DurableObjectStub;
}

interface SubtleCrypto {
  timingSafeEqual(a: Uint8Array, b: Uint8Array): boolean;
}

declare module "cloudflare:workers" {
  export abstract class DurableObject<Env> {
    protected readonly ctx: DurableObjectState;
    protected readonly env: Env;
    constructor(ctx: DurableObjectState, env: Env);
  }
}

declare module "*.sql" {
  const text: string;
  export default text;
}
