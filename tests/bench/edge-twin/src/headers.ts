// What becomes of the headers of a proxied request and of its answer: the same rules as `shared/proxy`.

const HOP_BY_HOP = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);
const TRACE = new Set([
  "traceparent",
  "tracestate",
  "tracecontext",
  "baggage",
  "b3",
  "uber-trace-id",
  "x-amzn-trace-id",
  "x-cloud-trace-context",
  "x-ot-span-context",
]);
const TRACE_PREFIXES = ["x-b3-", "x-datadog-", "ot-tracer-", "uberctx-"];
const NEVER_LISTED = new Set(["host", "content-length"]);
const SUBJECT = "x-ars-restart-subject";

/** Returns the headers for the bot, with a new trace context. */
export function forwarded(headers: Headers): Headers {
  const listed = listedIn(headers);
  const kept = new Headers();
  for (const [name, value] of headers) {
    const plain = spelt(name);
    if (plain === SUBJECT || TRACE.has(plain) || isOfConnection(plain, listed)) continue;
    if (TRACE_PREFIXES.some((prefix) => plain.startsWith(prefix))) continue;
    kept.append(name, value);
  }
  kept.set("traceparent", traceparent());
  return kept;
}

/** Returns the answer without the fields of the connection to the bot. */
export function returned(response: Response): Response {
  const listed = listedIn(response.headers);
  const stripped = [...response.headers.keys()].filter((name) => isOfConnection(spelt(name), listed));
  if (stripped.length === 0) return response;
  const kept = new Response(response.body, response);
  for (const name of stripped) kept.headers.delete(name);
  return kept;
}

function isOfConnection(plain: string, listed: Set<string>): boolean {
  return HOP_BY_HOP.has(plain) || (listed.has(plain) && !NEVER_LISTED.has(plain));
}

function listedIn(headers: Headers): Set<string> {
  return new Set((headers.get("connection") ?? "").split(",").map(spelt));
}

/** Normalizes a name: some servers treat an underscore as a hyphen. */
function spelt(name: string): string {
  return name.trim().toLowerCase().replaceAll("_", "-");
}

function traceparent(): string {
  const random = crypto.getRandomValues(new Uint8Array(24));
  // An id of zeroes is invalid.
  random[15]! |= 1;
  random[23]! |= 1;
  return `00-${hex(random.subarray(0, 16))}-${hex(random.subarray(16))}-01`;
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
