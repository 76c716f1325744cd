// Who may see which runs (supplement section 6): read from JSON, and compiled to a condition over `runs` whose lists
// travel in one bound JSON parameter.

import { badField } from "../answer";
import { isObject, type Json, type JsonObject } from "../json";

const MAX_DEPTH = 8;
const MAX_ENTRIES = 1000;
const MAX_IDS = 100;
const VISIBILITIES = ["public", "private", "dm", "machine", "unknown"];
const FIELD = "visibleTo";

export type Filter =
  | { kind: "all" | "none" }
  | { kind: "listed"; column: string; values: string[] }
  | { kind: "or" | "and"; of: Filter[] };

export function parseFilter(value: Json): Filter {
  const count = { ids: 0 };
  const filter = parse(value, 0, count);
  if (count.ids > MAX_IDS) throw badField(FIELD, "must name at most 100 ids");
  return filter;
}

function parse(value: Json, depth: number, count: { ids: number }): Filter {
  if (depth > MAX_DEPTH) throw badField(FIELD, "must nest at most 8 deep");
  if (!isObject(value)) throw badField(FIELD, "must be an object with a kind");
  switch (value.kind) {
    case "all":
    case "none":
      return { kind: value.kind };
    case "channels-in":
      return { kind: "listed", column: "channel_id", values: texts(value, "channelIds", count) };
    case "user-is":
      return { kind: "listed", column: "user_id", values: [user(value, count)] };
    case "repos-in":
      return { kind: "listed", column: "repo", values: texts(value, "repos", count) };
    case "visibility-in":
      return { kind: "listed", column: "visibility", values: visibilities(value, count) };
    case "or":
    case "and":
      return { kind: value.kind, of: entries(value, "of").map((inner) => parse(inner, depth + 1, count)) };
    default:
      throw badField(`${FIELD}.kind`, "must be a kind of predicate");
  }
}

function entries(node: JsonObject, key: string): Json[] {
  const list = node[key];
  if (!Array.isArray(list) || list.length > MAX_ENTRIES) {
    throw badField(`${FIELD}.${key}`, "must be an array of at most 1000 entries");
  }
  return list;
}

function texts(node: JsonObject, key: string, count: { ids: number }): string[] {
  const list = entries(node, key);
  count.ids += list.length;
  if (!list.every((entry): entry is string => typeof entry === "string" && entry !== "")) {
    throw badField(`${FIELD}.${key}`, "must hold non-empty strings");
  }
  return list;
}

function user(node: JsonObject, count: { ids: number }): string {
  count.ids += 1;
  if (typeof node.userId !== "string" || node.userId === "") {
    throw badField(`${FIELD}.userId`, "must be a non-empty string");
  }
  return node.userId;
}

function visibilities(node: JsonObject, count: { ids: number }): string[] {
  const list = entries(node, "visibilities");
  count.ids += list.length;
  const known = (word: Json): word is string => typeof word === "string" && VISIBILITIES.includes(word);
  if (list.length > VISIBILITIES.length || !list.every(known)) {
    throw badField(`${FIELD}.visibilities`, "must hold at most 5 known words");
  }
  return list;
}

/** True or false when a predicate allows everything or nothing; else its SQL, an expression of 0 or 1. */
export function compile(filter: Filter, placeholder: string): boolean | { sql: string; lists: string[][] } {
  const lists: string[][] = [];
  const node = (filter: Filter): boolean | string => {
    switch (filter.kind) {
      case "all":
        return true;
      case "none":
        return false;
      case "listed":
        if (filter.values.length === 0) return false;
        return `${filter.column} IN (SELECT value FROM json_each(${placeholder}, '$[${lists.push(filter.values) - 1}]'))`;
      case "or":
        return joined(filter.of, "max", true);
      case "and":
        return filter.of.length === 0 ? false : joined(filter.of, "min", false);
    }
  };
  const joined = (of: Filter[], name: string, decisive: boolean): boolean | string => {
    const parts: string[] = [];
    for (const filter of of) {
      const part = node(filter);
      if (part === decisive) return decisive;
      if (typeof part === "string") parts.push(part);
    }
    if (parts.length === 0) return !decisive;
    return parts.length === 1 ? parts[0]! : `${name}(${parts.join(", ")})`;
  };
  const sql = node(filter);
  return typeof sql === "boolean" ? sql : { sql, lists };
}
