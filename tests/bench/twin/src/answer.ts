// Answers: always JSON (supplement section 1.3).

/** The caller's fault: a status and a short text, which for 400 names the field. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }

  get body(): string {
    return JSON.stringify({ error: this.message });
  }
}

/** 400: a field breaks a rule; the rule is phrased to follow the field's name. */
export function badField(field: string, rule: string): Refused {
  return new Refused(400, `${field} ${rule}`);
}

/** 409: the request is sound and the state is against it. The body is the answer's own. */
export class Conflict extends Refused {
  constructor(private readonly conflict: object) {
    super(409, "conflict");
  }

  override get body(): string {
    return JSON.stringify(this.conflict);
  }
}

const HEADERS = { "content-type": "application/json" };

export function json(status: number, body: string): Response {
  return new Response(body, { status, headers: HEADERS });
}

/** The answer to whatever was thrown; a fault of ours is logged and shows nothing of the inside. */
export function failure(error: unknown): Response {
  if (error instanceof Refused) return json(error.status, error.body);
  console.error("fault:", error);
  return json(500, '{"error":"internal"}');
}
