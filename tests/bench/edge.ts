// The edge Worker's TypeScript twin: a proxied request's path (Worker, Durable Object, bot) with
// the header rules from `shared/proxy`. `cargo xtask bench edge` measures it, and it is never
// deployed. It has only the measured parts, not the container's start, restarts or the cron.

import { DurableObject } from "cloudflare:workers";

const THIS_MACHINE = /^(localhost|127\.0\.0\.1|\[::1\])$/;
const HOP_BY_HOP =
  /^(connection|keep-alive|proxy-authenticate|proxy-authorization|proxy-connection|te|trailer|transfer-encoding|upgrade)$/;
/** Fields of a request that the bot never receives: a restart's subject, and the trace context of others. */
const DROPPED =
  /^(x-ars-restart-subject|trace(parent|state|context)|baggage|b3|uber-trace-id|x-amzn-trace-id|x-cloud-trace-context|x-ot-span-context|(x-b3-|x-datadog-|ot-tracer-|uberctx-).*)$/;
const NEVER_LISTED = /^(host|content-length)$/;

/** Normalizes a name: some servers treat an underscore as a hyphen. */
const spelt = (name: string) => name.trim().toLowerCase().replaceAll("_", "-");

/** Returns whether a field ends with the connection. */
function perConnection(headers: Headers): (plain: string) => boolean {
  const listed = new Set((headers.get("connection") ?? "").split(",").map(spelt));
  return (plain) => HOP_BY_HOP.test(plain) || (listed.has(plain) && !NEVER_LISTED.test(plain));
}

/** Returns the headers for the bot, with a new trace context. */
function forwarded(headers: Headers): Headers {
  const ends = perConnection(headers);
  const kept = new Headers();
  for (const [name, value] of headers) {
    const plain = spelt(name);
    if (!DROPPED.test(plain) && !ends(plain)) kept.append(name, value);
  }
  const hex = Array.from(crypto.getRandomValues(new Uint8Array(24)), (byte) => byte.toString(16).padStart(2, "0")).join("");
  kept.set("traceparent", `00-${hex.slice(0, 32)}-${hex.slice(32)}-01`);
  return kept;
}

/** Returns the answer without the fields of the connection to the bot. */
function returned(response: Response): Response {
  const ends = perConnection(response.headers);
  const stripped = [...response.headers.keys()].filter((name) => ends(spelt(name)));
  if (stripped.length === 0) return response;
  const kept = new Response(response.body, response);
  for (const name of stripped) kept.headers.delete(name);
  return kept;
}

export class Bot extends DurableObject {
  async fetch(request: Request): Promise<Response> {
    const asked = new URL(request.url);
    if (!THIS_MACHINE.test(asked.hostname)) return Response.json({ error: "forbidden" }, { status: 403 });
    try {
      const { method, body, signal } = request;
      const address = new URL(asked.pathname + asked.search, this.env.DEV_BOT_URL);
      const headers = forwarded(request.headers);
      return returned(await fetch(address, { method, headers, body, redirect: "manual", signal }));
    } catch {
      return Response.json({ error: "unavailable" }, { status: 503, headers: { "retry-after": "2" } });
    }
  }
}

export default {
  fetch: (request: Request, env: any): Promise<Response> => env.BOT.get(env.BOT.idFromName("singleton")).fetch(request),
};
