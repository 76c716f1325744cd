// Answers, which are always JSON.

/** A rejected request: its status and the body of the answer. */
export class Rejected extends Error {
  readonly body: string;

  constructor(
    readonly status: number,
    error: string | object,
  ) {
    super("rejected");
    this.body = JSON.stringify(typeof error === "string" ? { error } : error);
  }
}

/** Rejects a field that breaks a rule with 400. */
export function badField(field: string, rule: string): Rejected {
  return new Rejected(400, `${field} ${rule}`);
}

const HEADERS = { "content-type": "application/json" };

export function json(status: number, body: string): Response {
  return new Response(body, { status, headers: HEADERS });
}

/** Answers an exception; an unexpected one is logged and not described to the caller. */
export function failure(error: unknown): Response {
  if (error instanceof Rejected) return json(error.status, error.body);
  console.error("fault:", error);
  return json(500, '{"error":"internal"}');
}
