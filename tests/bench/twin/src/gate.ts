// The checks before a request reaches an object, in order: route, method, bearer, length.

import { Rejected } from "./answer";

export interface Env {
  MEMORY_TOKEN?: string;
  RUN_STORE: DurableObjectNamespace;
  MEMORY_SCOPE: DurableObjectNamespace;
}

export interface Route {
  binding: "RUN_STORE" | "MEMORY_SCOPE";
  key: "storeKey" | "scopeKey";
  /** Largest accepted body, in bytes. */
  maxBodyBytes: number;
}

const RECORD_BYTES = 2 * 1024 * 1024;
const OTHER_BYTES = 512 * 1024;

const run = (maxBodyBytes = OTHER_BYTES): Route => ({ binding: "RUN_STORE", key: "storeKey", maxBodyBytes });
const memory = (): Route => ({ binding: "MEMORY_SCOPE", key: "scopeKey", maxBodyBytes: OTHER_BYTES });

const ROUTES = new Map<string, Route>([
  ["/retrieve", memory()],
  ["/write", memory()],
  ["/runs/put", run(RECORD_BYTES)],
  ["/runs/get", run()],
  ["/runs/list", run()],
  ["/runs/events", run()],
  ["/runs/claim", run()],
  ["/runs/heartbeat", run()],
  ["/runs/append", run(RECORD_BYTES)],
]);

/** Returns the route of an accepted request; throws the rejection of any other. */
export function admit(request: Request, path: string, secret: string | undefined): Route {
  const route = ROUTES.get(path);
  if (!route) throw new Rejected(404, "not found");
  if (request.method !== "POST") throw new Rejected(405, "method not allowed");
  if (!isAuthorized(request.headers.get("authorization"), secret)) throw new Rejected(401, "unauthorized");
  const length = request.headers.get("content-length")?.trim() ?? "";
  if (!/^[0-9]+$/.test(length)) throw new Rejected(411, "a numeric Content-Length is needed");
  if (Number(length) > route.maxBodyBytes) {
    throw new Rejected(413, `the body may have at most ${route.maxBodyBytes} bytes`);
  }
  return route;
}

const encoder = new TextEncoder();

function isAuthorized(header: string | null, secret: string | undefined): boolean {
  if (!secret || !header?.startsWith("Bearer ")) return false;
  const presented = encoder.encode(header.slice("Bearer ".length));
  const expected = encoder.encode(secret);
  return presented.byteLength === expected.byteLength && crypto.subtle.timingSafeEqual(presented, expected);
}
