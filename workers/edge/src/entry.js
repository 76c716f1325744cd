// The edge Worker's entry: everything goes to the one object that owns the bot's container (container.js).
import * as wasm from "./index.js";
import { containerClass } from "./container.js";
import { inRust, rescue, tell } from "./runtime.js";

const [binding, name] = inRust(() => wasm.object()).split("\n");

const bot = (env) => env[binding].getByName(name);

export default {
  async fetch(request, env) {
    try {
      return await bot(env).fetch(request);
    } catch (error) {
      tell(error);
      // The object was replaced under the request, by a deploy or a fault of the platform's.
      return inRust(() => wasm.connection_lost(String(error?.message ?? error)));
    }
  },

  // Keeps the container awake, and starts one that ended.
  async scheduled(_event, env) {
    try {
      // By a name that an edge before a developer's bot answers to.
      const response = await bot(env).fetch("http://localhost/healthz");
      await response.body?.cancel();
      if (!response.ok) console.warn(`the bot answered the tick with ${response.status}`);
    } catch (error) {
      rescue(error);
    }
  },
};

export const Bot = containerClass("Bot");
