// protocol, inference: request and answer of the planner (`POST /v1/control`). May import environment alone.
import { Type, type Static } from 'typebox';
import { answered, orNull, RequestId, share } from './errors.ts';
import { closed } from '../object.ts';

export const controlBounds = { maxSteps: 512, maxExperts: 16 } as const;

/** Results of a step; `None` before it ran. As in the notes of the worker, and `Command` for one without a judgement. */
export const stepResults = [
  'None',
  'Command',
  'Unusable',
  'Denied',
  'Worse',
  'Equal',
  'Better',
  'Reached',
  'NotVerified',
  'Crashed',
] as const;
export type StepResult = (typeof stepResults)[number];

const finite = (minimum: number, maximum: number, description: string) =>
  Type.Optional(Type.Number({ minimum, maximum, description: `${description}; absent: not known` }));

/** One step of the work, as the planner sees it. Only what the worker knows at that moment. */
export const ControlStep = closed({
  tool: Type.Enum(['ExecCode', 'Shell', 'Files', 'Editor']),
  result: Type.Enum([...stepResults]),
  /** Index in the pool's experts of who proposed it; −1: none. */
  expert: Type.Integer({ minimum: -1, maximum: controlBounds.maxExperts - 1 }),
  entropyNats: finite(0, 100, 'entropy of the proposals'),
  marginNats: finite(0, 1000, 'energy gap of the two best proposals'),
  energy: finite(-1e6, 1e6, 'energy of the act'),
  pSuccess: finite(0, 1, 'probability by the verifier that it is good'),
  proposalShare: finite(0, 1, 'share in the mass of the proposals'),
  suspicion: finite(0, 1, 'how suspicious the place is'),
  edits: Type.Integer({ minimum: 0, maximum: 64 }),
  testsFailing: Type.Integer({ minimum: 0, maximum: 1e6 }),
  testsTotal: Type.Integer({ minimum: 0, maximum: 1e6 }),
  testsFixed: Type.Integer({ minimum: 0, maximum: 1e6 }),
  depth: Type.Integer({ minimum: 0, maximum: 64, description: 'accepted edits below this tree' }),
  seconds: Type.Number({ minimum: 0, maximum: 1e6, description: 'wall time of the step' }),
  budgetUsed: Type.Number({ minimum: 0, maximum: 1, description: 'share of the budget that is used' }),
});
export type ControlStep = Static<typeof ControlStep>;

/**
 * Body of `POST /v1/control`. The server keeps nothing: the steps so far are the state (the newest 512 of them), so that any
 * replica and any worker gets the same answer.
 */
export const ControlRequest = closed({
  requestId: RequestId,
  experts: Type.Array(Type.String({ minLength: 1, maxLength: 63 }), { minItems: 1, maxItems: controlBounds.maxExperts }),
  steps: Type.Array(ControlStep, { maxItems: controlBounds.maxSteps, description: 'oldest first; empty before the first one' }),
});
export type ControlRequest = Static<typeof ControlRequest>;

/** Answer of `POST /v1/control`: the control vector. */
export const ControlResponse = Type.Object({
  ...answered,
  /** Ticks of the slow planner; one per 8 steps. */
  tick: Type.Integer({ minimum: 0 }),
  /** softmax over the experts of the request, by name. */
  experts: Type.Immutable(
    Type.Array(Type.Object({ name: Type.String({ maxLength: 63 }), p: share }), { maxItems: controlBounds.maxExperts }),
  ),
  /** P(the next step is refused, breaks a test, crashes or is not verified). */
  risk: share,
  /** Whether the work stands still, so that more thought is worth its price. */
  deliberate: Type.Boolean(),
  /** Reason that this must not be acted upon; null: act. */
  shadow: orNull(Type.String({ maxLength: 1024 })),
});
export type ControlResponse = Static<typeof ControlResponse>;
