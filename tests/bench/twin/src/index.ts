// The TypeScript twin of the state Worker: the routes that `cargo xtask bench state` measures, on the same migrations and
// with the same SQL, written as such a Worker is usually written in TypeScript. It is measured and never deployed.

import { badField, failure, json } from "./answer";
import { admit, type Env } from "./gate";
import { parseBody } from "./json";

export { MemoryScope } from "./memory";
export { RunStore } from "./runs";

const KEY = /^[^\s\p{C}]{1,200}$/u;

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    try {
      const path = new URL(request.url).pathname;
      if (request.method === "GET" && path === "/healthz") {
        return json(200, JSON.stringify({ ok: true, features: ["memory", "friction", "schedules", "runs"] }));
      }
      const route = admit(request, path, env.MEMORY_TOKEN);
      const text = await request.text();
      const name = parseBody(text)[route.key];
      if (typeof name !== "string" || !KEY.test(name)) throw badField(route.key, "must be a store's name");
      const reply = await env[route.binding].getByName(name).answer(path, text);
      return typeof reply === "string" ? json(200, reply) : json(...reply);
    } catch (error) {
      return json(...failure(error));
    }
  },
};
