// Which store a body is for (supplement section 1.5).

import { badField } from "./answer";
import type { JsonObject } from "./json";

const KEY = /^[^\s\p{C}]+$/u;
const MAX_CHARS = 200;

export function storeKey(body: JsonObject, field: string): string {
  const key = body[field];
  if (typeof key !== "string" || !KEY.test(key) || [...key].length > MAX_CHARS) {
    throw badField(field, "must be 1 to 200 characters without white space or control characters");
  }
  return key;
}
