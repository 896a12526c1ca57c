/**
 * Golden sets: what the Job of a rollout's gate gets, and what it reports at its end.
 * May import the layers right of `golden` in docs/architecture.md.
 */
import { Type, type Static } from 'typebox';
import { Value } from 'typebox/value';
import { jsonOf } from '../text/index.ts';
import { ExpertEndpoint, VerifierEndpoint } from '../pool/brief.ts';

/** Bytes that the kubelet keeps of a termination message. */
export const mostReportBytes = 4096;

const count = Type.Integer({ minimum: 0, maximum: 10_000_000 });
const share = Type.Number({ minimum: 0, maximum: 1 });

const GoldenHead = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 63 }),
  auc: share,
  ece: share,
  brier: Type.Optional(share),
  samples: count,
});
/** One head of a verifier, measured on the set. */
export type GoldenHead = Static<typeof GoldenHead>;

/** The first container's termination message, as JSON. Members beside these are ignored. */
export const GoldenReport = Type.Object({
  passed: Type.Integer({ minimum: 0, maximum: 10_000_000, description: 'cases whose answer is as expected' }),
  total: Type.Integer({ minimum: 1, maximum: 10_000_000, description: 'cases that were tried: all of the set' }),
  heads: Type.Optional(Type.Array(GoldenHead, { maxItems: 16, description: 'of a verifier' })),
});
export type GoldenReport = Static<typeof GoldenReport>;

/** Reads a termination message: the report, or in words why it is none. Pure. */
export function goldenReportOf(message: string | undefined): GoldenReport | { readonly fault: string } {
  const text = message?.trim() ?? '';
  if (text === '') return { fault: 'it said nothing' };
  if (Buffer.byteLength(text) >= mostReportBytes)
    return { fault: `it said ${mostReportBytes} bytes or more, of which the rest is cut off` };
  const value = jsonOf(text);
  if (!Value.Check(GoldenReport, value)) {
    const [first] = [...Value.Errors(GoldenReport, value)];
    const where = first?.instancePath ?? '';
    return { fault: where === '' ? 'it is no JSON object with both counts' : `${where} ${first?.message ?? ''}` };
  }
  if (value.passed > value.total) return { fault: `${value.passed} passed of ${value.total}` };
  return Value.Clean(GoldenReport, value) as GoldenReport;
}

/** Environment of the first container of a golden set's Job, set by the operator. */
export const goldenEnvironment = {
  /** A {@link GoldenArm} as JSON. */
  arm: 'AGENTFLEET_ARM',
  /** `stable` or `canary`. */
  role: 'AGENTFLEET_ARM_ROLE',
  /** Whole number below 2³², the same for both revisions and at every run of the same set. */
  seed: 'AGENTFLEET_SEED',
} as const;

/** The revision that is asked, by addresses that no other revision answers at. */
export const GoldenArm = Type.Object({
  kind: Type.Enum(['ExpertPool', 'EnergyModel']),
  name: Type.String({ minLength: 1, maxLength: 253 }),
  namespace: Type.String({ minLength: 1, maxLength: 253 }),
  revision: Type.String({ pattern: '^[0-9a-f]{10}$' }),
  rollout: Type.String({ minLength: 1, maxLength: 32, description: 'the rollout that made the Job' }),
  experts: Type.Array(ExpertEndpoint, { description: 'of an ExpertPool' }),
  verifier: Type.Union([VerifierEndpoint, Type.Null()], { description: 'the EnergyModel, or that of the pool; null: there is none' }),
});
export type GoldenArm = Static<typeof GoldenArm>;
