// The TypeScript twin of the state Worker: the routes that `cargo xtask bench state` measures, with the same contract
// (docs of the state Worker, supplement sections 1, 2, 5, 6, 7 and 9) and the same SQL on the same migrations, written
// the way such a Worker is written in TypeScript. It is measured and never deployed. Routes that are not measured are
// not here.

import { admit, type Env } from "./gate";
import { failure, json } from "./answer";
import { parseBody } from "./json";
import { storeKey } from "./key";

export { MemoryScope } from "./memory/store";
export { RunStore } from "./runs/store";

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    try {
      const path = new URL(request.url).pathname;
      if (request.method === "GET" && path === "/healthz") {
        return json(200, JSON.stringify({ ok: true, features: ["memory", "friction", "schedules", "runs"] }));
      }
      const route = admit(request, path, env.MEMORY_TOKEN);
      const text = await request.text();
      const name = storeKey(parseBody(text, "body must be a JSON object"), route.key);
      return await env[route.binding].getByName(name).fetch(request.url, { method: "POST", body: text });
    } catch (error) {
      return failure(error);
    }
  },
};
