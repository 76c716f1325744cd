// The TypeScript twin of the edge Worker: the path of a proxied request (Worker, Durable Object, bot) with the same
// treatment of headers. `cargo xtask bench edge` measures it, and it is never deployed. It has only the measured parts,
// not the container's start, restarts or the cron.

import { DurableObject } from "cloudflare:workers";

import { forwarded, returned } from "./headers";

interface Env {
  BOT: DurableObjectNamespace<Bot>;
  DEV_BOT_URL: string;
}

const OBJECT = "singleton";
const RETRY_AFTER_SECONDS = "2";
/** The hosts of requests to an edge before a native bot. */
const THIS_MACHINE = new Set(["localhost", "127.0.0.1", "[::1]"]);

export class Bot extends DurableObject<Env> {
  async fetch(request: Request): Promise<Response> {
    const asked = new URL(request.url);
    if (!THIS_MACHINE.has(asked.hostname)) return Response.json({ error: "forbidden" }, { status: 403 });
    const address = new URL(asked.pathname + asked.search, this.env.DEV_BOT_URL);
    try {
      const answered = await fetch(address, {
        method: request.method,
        headers: forwarded(request.headers),
        body: request.body,
        redirect: "manual",
        signal: request.signal,
      });
      return returned(answered);
    } catch {
      return Response.json(
        { error: "unavailable" },
        { status: 503, headers: { "retry-after": RETRY_AFTER_SECONDS } },
      );
    }
  }
}

export default {
  fetch(request: Request, env: Env): Promise<Response> {
    return env.BOT.get(env.BOT.idFromName(OBJECT)).fetch(request);
  },
};
