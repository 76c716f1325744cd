// Checks 0 to 5 of supplement section 1.1, in that order: route, method, bearer, length, fence.

import { Refused } from "./answer";

export interface Env {
  MEMORY_TOKEN?: string;
  RUN_STORE: DurableObjectNamespace;
  MEMORY_SCOPE: DurableObjectNamespace;
}

export interface Route {
  binding: "RUN_STORE" | "MEMORY_SCOPE";
  key: "storeKey" | "scopeKey";
  /** Largest body in bytes; equal is accepted (section 1.4). */
  fence: number;
}

const RECORD_FENCE = 2 * 1024 * 1024;
const OTHER_FENCE = 512 * 1024;

const run = (fence = OTHER_FENCE): Route => ({ binding: "RUN_STORE", key: "storeKey", fence });
const memory = (): Route => ({ binding: "MEMORY_SCOPE", key: "scopeKey", fence: OTHER_FENCE });

const ROUTES = new Map<string, Route>([
  ["/retrieve", memory()],
  ["/write", memory()],
  ["/runs/put", run(RECORD_FENCE)],
  ["/runs/get", run()],
  ["/runs/list", run()],
  ["/runs/events", run()],
  ["/runs/claim", run()],
  ["/runs/live", run()],
  ["/runs/heartbeat", run()],
  ["/runs/append", run(RECORD_FENCE)],
]);

/** The route of a request that is let in; throws the refusal of one that is not. */
export function admit(request: Request, path: string, secret: string | undefined): Route {
  const route = ROUTES.get(path);
  if (!route) throw new Refused(404, "not found");
  if (request.method !== "POST") throw new Refused(405, "method not allowed");
  if (!isAuthorized(request.headers.get("authorization"), secret)) throw new Refused(401, "unauthorized");
  const length = request.headers.get("content-length")?.trim() ?? "";
  if (!/^[0-9]+$/.test(length)) throw new Refused(411, "a numeric Content-Length is needed");
  if (Number(length) > route.fence) throw new Refused(413, `the body may have at most ${route.fence} bytes`);
  return route;
}

const encoder = new TextEncoder();

function isAuthorized(header: string | null, secret: string | undefined): boolean {
  if (!secret || !header?.startsWith("Bearer ")) return false;
  const presented = encoder.encode(header.slice("Bearer ".length));
  const expected = encoder.encode(secret);
  return presented.byteLength === expected.byteLength && crypto.subtle.timingSafeEqual(presented, expected);
}
