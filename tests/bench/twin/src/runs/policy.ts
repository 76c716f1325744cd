// Which runs a store keeps, and who may change that (supplement sections 7.1 and 7.3).

import { badField } from "../answer";
import { isFiniteNumber, isObject, isWhole, type JsonObject } from "../json";

export interface Policy {
  retentionDays: number;
  maxRuns: number;
  maxBytes: number;
}

export interface Proposal {
  policy: Policy;
  updatedAt: number;
}

interface Bounds {
  default: number;
  least: number;
  most: number;
}

const DAYS: Bounds = { default: 30, least: 1, most: 365 };
const RUNS: Bounds = { default: 5000, least: 1, most: 20_000 };
const BYTES: Bounds = { default: 2 * 2 ** 30, least: 16 * 2 ** 20, most: 8 * 2 ** 30 };

/** The proposal a body carries, if any. A stamp without a policy says nothing. */
export function readProposal(body: JsonObject): Proposal | undefined {
  const { policy, policyUpdatedAt } = body;
  if (policy === undefined) return undefined;
  if (!isObject(policy)) throw badField("policy", "must be an object");
  const field = (name: string, bounds: Bounds) => {
    const value = policy[name];
    if (value === undefined) return bounds.default;
    if (!isWhole(value) || value < 1) throw badField(`policy.${name}`, "must be an integer of at least 1");
    return Math.min(Math.max(value, bounds.least), bounds.most);
  };
  const proposed = {
    retentionDays: field("retentionDays", DAYS),
    maxRuns: field("maxRuns", RUNS),
    maxBytes: field("maxBytes", BYTES),
  };
  if (!isFiniteNumber(policyUpdatedAt) || policyUpdatedAt < 0) {
    throw badField("policyUpdatedAt", "must be a number of at least 0 beside a policy");
  }
  return { policy: proposed, updatedAt: policyUpdatedAt };
}

/** Takes a policy over if it was decided after the one in force; a stamp ahead of the clock counts as now. */
export function propose(sql: SqlStorage, { policy, updatedAt }: Proposal, now: number): void {
  sql.exec(
    `UPDATE retention SET retention_days = ?1, max_runs = ?2, max_bytes = ?3, policy_updated_at = ?4
     WHERE policy_updated_at < ?4`,
    policy.retentionDays,
    policy.maxRuns,
    policy.maxBytes,
    Math.min(updatedAt, now),
  );
}
