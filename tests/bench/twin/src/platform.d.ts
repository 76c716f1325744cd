// The part of the platform's types that the twin uses, so that no package has to be installed for them.

type SqlValue = string | number | null;

interface SqlStorage {
  exec<Row = Record<string, SqlValue>>(query: string, ...bindings: SqlValue[]): { toArray(): Row[]; one(): Row };
}

interface DurableObjectStorage {
  readonly sql: SqlStorage;
  transactionSync<T>(body: () => T): T;
}

interface DurableObjectState {
  readonly storage: DurableObjectStorage;
}

interface DurableObjectStub {
  answer(path: string, text: string): Promise<string | [status: number, body: string]>;
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
