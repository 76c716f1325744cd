// A Durable Object that owns one container: what must be awaited of it, and the requests that pass through. What to do
// is decided in Rust, as actions that are carried out here (shared/edge/src/lifecycle.rs); bodies never enter Rust.
//
// Streams go from the client to the bot and back as they are, and a client that hangs up ends the request to the bot.
import * as wasm from "./index.js";
import { bodyWithin, hearOut, inRust, lives, rescue, tell } from "./runtime.js";

// Where the object's storage keeps the lifecycle.
const KEPT = "lifecycle";
// How long the bot may take to answer the edge itself.
const ANSWER_MS = 5000;
const RESTART_BODY_MS = 10_000;
const HEARD_BYTES = 64 * 1024;
const HEARD_MS = 1000;
// Between two looks at a container whose watch failed: one that ended has then closed its port.
const LOST_MS = 1000;
// Looks in a row that broke off, after which nobody is taken to be there.
const LOST_LOOKS = 5;
const TRACE_BYTES = 24;
const SIGTERM = 15;
// What `want` says besides the seconds of a refusal.
const PASS = -1;
const HOLD = 0;

// A Durable Object class over the Rust class of this name.
export function containerClass(name) {
  const port = inRust(() => wasm.port());
  return class {
    #context;
    #env;
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
      context.blockConcurrencyWhile(async () => {
        this.#kept = await context.storage.get(KEPT);
      });
    }

    async fetch(request) {
      try {
        // A container is where one was deployed, and there the bot of a developer's machine is never spoken to.
        const { container } = this.#context;
        if (Boolean(container) === Boolean(this.#env.DEV_BOT_URL)) return inRust(() => wasm.misconfigured());
        const way = this.#way(request);
        if (way === undefined) return await this.#restart(request);
        if (typeof way !== "string") return way;
        return (container && (await this.#admit())) ?? (await this.#pass(request, way));
      } catch (error) {
        return rescue(error);
      }
    }

    async alarm() {
      this.#report("rang");
    }

    // The Rust half, made anew when its instance was.
    #awake() {
      if (this.#life !== lives()) {
        const { running } = this.#context.container;
        this.#inner = inRust(() => new wasm[name](this.#kept, this.#env.BOT_IMAGE, running, Date.now()));
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
        const there = await this.#isThere();
        if (there === false) return;
        broken = there ? 0 : broken + 1;
      }
    }

    // Whether the bot is there, however little it says or however late: nothing when there is no telling.
    async #isThere() {
      try {
        await this.#ask("/healthz", {});
        return true;
      } catch (error) {
        if (error?.name === "TimeoutError") return true;
        if (inRust(() => wasm.is_nobody_there(String(error?.message ?? error)))) return false;
        console.warn(`a look at the container broke off: ${error?.message ?? error}`);
      }
    }

    #look({ start, after }) {
      const look = async () => {
        await new Promise((resolve) => setTimeout(resolve, after));
        // Not up yet is what this is there to find out, not a fault.
        const early = (error) => console.debug(`not up yet: ${error?.message ?? error}`);
        const seen = await this.#ask("/healthz", {}).catch(early);
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
      if (container.running || !(await this.#isThere())) return;
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

    // Where a request goes, by its address and its headers' names.
    #way({ headers, url }) {
      const names = [...headers.keys()].join("\n");
      const connection = headers.get("connection") ?? undefined;
      const random = crypto.getRandomValues(new Uint8Array(TRACE_BYTES));
      const isNative = !this.#context.container;
      return inRust(() => wasm.way(url, isNative, names, connection, random));
    }

    async #pass(request, way) {
      const [traceparent, ...stripped] = way.split("\n");
      try {
        // As a request, not as its parts: of those, a GET may not have a body, which on the wire it may. The caller's
        // signal comes with it, and as in every request from outside it leaves redirects alone.
        const passing = new Request(this.#address(request.url), request);
        for (const name of stripped) passing.headers.delete(name);
        passing.headers.set("traceparent", traceparent);
        return this.#returned(await this.#send(passing));
      } catch (error) {
        console.warn(`a request broke off: ${error?.message ?? error}`);
        return inRust(() => wasm.broke_off(String(error?.message ?? error)));
      }
    }

    // What belongs to the connection to the bot ends with it.
    #returned(response) {
      const connection = response.headers.get("connection") ?? undefined;
      const names = [...new Set(response.headers.keys())].join("\n");
      const stripped = inRust(() => wasm.pass_back(names, connection));
      if (!stripped) return response;
      const returned = new Response(response.body, response);
      for (const name of stripped.split("\n")) returned.headers.delete(name);
      return returned;
    }

    // The bot, wherever it is: in the container, or, on a developer's machine, where `#address` says.
    #send(request) {
      const { container } = this.#context;
      return container ? container.getTcpPort(port).fetch(request) : fetch(request);
    }

    // The same path and query elsewhere. A container's port speaks plain HTTP alone. A developer's bot is told another
    // name than the caller used, which is why `#way` looked at that one.
    #address(url) {
      const { host, pathname, search } = new URL(url);
      const base = this.#context.container ? `http://${host}` : new URL(this.#env.DEV_BOT_URL).origin;
      return base + pathname + search;
    }

    // What the bot answers the edge itself, unless it is too long or too slow.
    async #ask(path, init) {
      const url = this.#address(`http://bot${path}`);
      const signal = AbortSignal.timeout(ANSWER_MS);
      const response = await this.#send(new Request(url, { redirect: "manual", signal, ...init }));
      const body = await bodyWithin(response, wasm.answer_limit(), ANSWER_MS);
      if (body) return { status: response.status, body };
      // Nothing, or more than anybody wants.
      response.body?.cancel().catch(tell);
    }

    async #restart(request) {
      const answer = await this.#restarted(request);
      // What is refused is still heard out: a sender that is cut off would miss the answer.
      if (!request.body?.locked) await hearOut(request, HEARD_BYTES, HEARD_MS);
      return answer;
    }

    async #restarted(request) {
      const { container } = this.#context;
      const authorization = request.headers.get("authorization") ?? undefined;
      const tokens = this.#env.SERVICE_INGRESS_TOKENS;
      const caller = inRust(() => wasm.restart_caller(request.method, authorization, tokens));
      if (typeof caller !== "string") return caller;
      const body = await bodyWithin(request, wasm.restart_body_limit(), RESTART_BODY_MS);
      const force = inRust(() => wasm.restart_force(body));
      if (typeof force !== "boolean") return force;
      if (container && !inRust(() => this.#awake().is_running())) return inRust(() => wasm.not_running());
      const [route, name, subject] = inRust(() => wasm.restart_question(caller)).split("\n");
      const leave = await this.#ask(route, { method: "POST", headers: { [name]: subject } }).catch(tell);
      const refused = inRust(() => wasm.restart_refusal(caller, leave?.status, leave?.body));
      // One that ended under the question gave no answer, and is nobody's to stop.
      const gone = container && !leave && !inRust(() => this.#awake().is_running());
      if (gone) return inRust(() => wasm.not_running());
      if (refused) return refused;
      const health = await this.#ask("/healthz", {}).catch(tell);
      if (!container) return inRust(() => wasm.restart_elsewhere(force, health?.status, health?.body));
      const inner = this.#awake();
      const answer = inRust(() => inner.restart(force, health?.status, health?.body, Date.now()));
      this.#perform();
      return answer;
    }
  };
}

// The variables and secrets among a Worker's bindings, in JSON.
function texts(env) {
  return JSON.stringify(Object.fromEntries(Object.entries(env).filter(([, value]) => typeof value === "string")));
}
