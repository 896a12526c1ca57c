import { Type, type Static } from 'typebox';
import { ExpertEndpoint, VerifierEndpoint } from '../pool/brief.ts';

/** Environment of the first container of a golden set's Job, set by the operator. */
export const goldenEnvironment = {
  /** A {@link GoldenArm} as JSON. */
  arm: 'AGENTFLEET_ARM',
  /** `stable` or `canary`. */
  role: 'AGENTFLEET_ARM_ROLE',
  /** Whole number below 2³², the same for both revisions and at every run of the same set. */
  seed: 'AGENTFLEET_SEED',
} as const;

/** Who is asked: one revision, by addresses that no other revision answers at. */
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
