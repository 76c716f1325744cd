// A Durable Object that owns one container: what must be awaited of its life, and of a request until it passes. What to do
// is decided in Rust, as actions that are carried out here (shared/container/src/lifecycle.rs).
//
// Not here: what passes to the bot and back (bot.js), and the questions of a restart (restart.js).
import * as wasm from "./index.js";
import { BotAddress, hearCaller } from "./bot.js";
import { restart } from "./restart.js";
import { inRust, lives, rescue, tell } from "./runtime.js";

// Where the object's storage keeps the lifecycle.
const KEPT = "lifecycle";
// Between two looks at a container whose watch failed: one that ended has then closed its port.
const LOST_MS = 1000;
// Looks in a row that broke off, after which nobody is taken to be there.
const LOST_LOOKS = 5;
const SIGTERM = 15;
// What `want` says besides the seconds of a refusal.
const PASS = -1;
const HOLD = 0;

// A Durable Object class over the Rust class of this name.
export function containerClass(name) {
  return class {
    #context;
    #env;
    #bot;
    #inner;
    #life;
    #kept;
    // Requests that wait for a change.
    #holding = [];
    #deeds = {
      start: (action) => this.#start(action),
      watch: (action) => this.#watch(action),
      look: (action) => this.#look(action),
      signal: () => this.#signal(),
      destroy: () => this.#destroy(),
      ring: ({ at }) => this.#context.storage.setAlarm(at),
    };

    constructor(context, env) {
      this.#context = context;
      this.#env = env;
      this.#bot = new BotAddress(context.container, env.DEV_BOT_URL);
      context.blockConcurrencyWhile(async () => {
        this.#kept = await context.storage.get(KEPT);
      });
    }

    async fetch(request) {
      const own = await this.#own(request).catch(rescue);
      if (typeof own === "string") return this.#bot.pass(request, own).catch(rescue);
      await hearCaller(request);
      return own;
    }

    // What the edge answers by itself, or the way on which the request passes.
    async #own(request) {
      // A container is where one was deployed, and there the bot of a developer's machine is never spoken to.
      const { container } = this.#context;
      if (Boolean(container) === Boolean(this.#env.DEV_BOT_URL)) return inRust(() => wasm.misconfigured());
      const way = this.#bot.way(request);
      if (way === undefined) return restart(request, this.#env.SERVICE_INGRESS_TOKENS, this.#bot, this.#stops());
      if (typeof way !== "string") return way;
      return (container && (await this.#admit())) ?? way;
    }

    // What a restart needs of the container; nothing where there is none.
    #stops() {
      if (!this.#context.container) return;
      return {
        isRunning: () => inRust(() => this.#awake().is_running()),
        restart: (force, health) => {
          const inner = this.#awake();
          const answer = inRust(() => inner.restart(force, health?.status, health?.body, Date.now()));
          this.#perform();
          return answer;
        },
      };
    }

    async alarm() {
      this.#report("rang");
    }

    // The Rust half, made anew when its instance was.
    #awake() {
      if (this.#life !== lives()) {
        const { BOT_IMAGE: image, SERVICE_INGRESS_TOKENS: tokens } = this.#env;
        const { running } = this.#context.container;
        this.#inner = inRust(() => new wasm[name](this.#kept, image, tokens, running, Date.now()));
        this.#life = lives();
        this.#perform();
      }
      return this.#inner;
    }

    // Tells Rust what happened, does what follows from it, and has those who wait ask again.
    #report(what, ...facts) {
      try {
        const inner = this.#awake();
        inRust(() => inner[what](...facts, Date.now()));
        this.#perform();
      } catch (error) {
        tell(error);
      }
      for (const go of this.#holding.splice(0)) go();
    }

    #perform() {
      const actions = inRust(() => this.#inner.actions());
      const kept = inRust(() => this.#inner.kept());
      if (kept !== this.#kept) {
        this.#kept = kept;
        // Not awaited: the platform holds back every answer until it is on disk.
        this.#context.storage.put(KEPT, kept);
      }
      for (const action of JSON.parse(actions)) this.#deeds[action.do](action);
    }

    #start({ start }) {
      const { container } = this.#context;
      try {
        const env = JSON.parse(inRust(() => wasm.environment(texts(this.#env))));
        // The raw call: the options of the `worker` crate lose what was set.
        container.start({ enableInternet: true, env });
      } catch (error) {
        tell(error);
        // What runs already cannot be started, and has not ended either.
        const { running } = container;
        queueMicrotask(() => (running ? this.#report("unwatched", start) : this.#report("ended", start, undefined)));
      }
    }

    #watch({ start }) {
      const watched = async () => this.#context.container.monitor();
      const ended = (code, why) => {
        console.warn(`the container ended: ${why}`);
        this.#report("ended", start, code);
      };
      const failed = async (error) => {
        const why = String(error?.message ?? error);
        const code = error?.exitCode ?? inRust(() => wasm.exit_code(why));
        if (code !== undefined) return ended(code, why);
        console.warn(`the watch of the container failed: ${why}`);
        await this.#outlived();
        if (this.#context.container.running) this.#report("unwatched", start);
        else ended(undefined, why);
      };
      this.#context.waitUntil(watched().then(() => ended(0, "by itself"), failed));
    }

    // With its watch the runtime may give up a container that goes on. It is then watched from here, until nobody is
    // there, or it is the runtime's again. A start in this state would kill it.
    async #outlived() {
      for (let broken = 0; broken < LOST_LOOKS; ) {
        await new Promise((resolve) => setTimeout(resolve, LOST_MS));
        if (this.#context.container.running) return;
        const there = await this.#bot.isThere();
        if (there === false) return;
        broken = there ? 0 : broken + 1;
      }
    }

    #look({ start, after }) {
      const look = async () => {
        await new Promise((resolve) => setTimeout(resolve, after));
        // Not up yet is what this is there to find out, not a fault.
        const early = (error) => console.debug(`not up yet: ${error?.message ?? error}`);
        const seen = await this.#bot.ask("/healthz", {}).catch(early);
        this.#report("looked", start, seen?.status === 200);
      };
      this.#context.waitUntil(look());
    }

    #signal() {
      try {
        this.#context.container.signal(SIGTERM);
      } catch (error) {
        tell(error);
        this.#context.waitUntil(this.#renewed());
      }
    }

    #destroy() {
      const { container } = this.#context;
      const destroyed = async () => (container.running ? container.destroy() : this.#renewed());
      this.#context.waitUntil(destroyed().catch(tell));
    }

    // What the runtime takes for ended can be told nothing. Mostly it did end, which its watch reports; one that did not
    // is found by the object's next life, which does then what this one could not.
    async #renewed() {
      await new Promise((resolve) => setTimeout(resolve, LOST_MS));
      const { container, storage } = this.#context;
      if (container.running || !(await this.#bot.isThere())) return;
      await storage.sync();
      this.#context.abort("the container was lost sight of");
    }

    // Waits until the bot can take a request; the answer in its place when it cannot.
    async #admit() {
      for (;;) {
        const inner = this.#awake();
        const verdict = inRust(() => inner.want(Date.now()));
        if (verdict === PASS) return;
        this.#perform();
        if (verdict !== HOLD) return inRust(() => wasm.unavailable(verdict));
        await new Promise((resolve) => this.#holding.push(resolve));
      }
    }
  };
}

// The variables and secrets among a Worker's bindings, in JSON.
function texts(env) {
  return JSON.stringify(Object.fromEntries(Object.entries(env).filter(([, value]) => typeof value === "string")));
}
