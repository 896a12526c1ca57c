import type { ControlRequest, ControlResponse, ControlStep } from '@agentfleet/protocol/inference';
import { encodeExperts, encodeStep, tools } from './encode.ts';
import { readPlannerFile, type HeldOut, type PlannerHeader } from './file.ts';
import { addProduct, heads, sigmoid, sizes, softmax, view, type Weights } from './network.ts';

export interface Planner {
  /** `sha256:` of the file. */
  readonly digest: string;
  /** Description of the weights and their measured quality, for people. */
  readonly about: Readonly<Record<string, string | number | boolean | null>>;
  /** Reason for which its answers must not be used; null: use them. */
  readonly shadow: string | null;
  /** Pure: depends on the request only. A last step with result `None` is the one that is about to be taken. */
  control(request: Pick<ControlRequest, 'steps' | 'experts'>): Omit<ControlResponse, 'requestId' | 'modelDigest' | 'shadow'>;
}

/**
 * The hierarchical planner: a fast worker at each step, a GRU that ticks every eight steps.
 *
 * @throws Error when the file does not fit this code
 * @example
 * loadPlanner(bytes).control({ steps: [], experts: ['synth'] }).risk
 */
export function loadPlanner(bytes: Buffer): Planner {
  const { header, weights, digest } = readPlannerFile(bytes);
  return { digest, about: aboutOf(header), shadow: shadowOf(header.heldOut), control: (request) => control(header, weights, request) };
}

function control(
  { deliberateAbove }: PlannerHeader,
  weights: Weights,
  { steps, experts }: Pick<ControlRequest, 'steps' | 'experts'>,
): ReturnType<Planner['control']> {
  const [done, next] = apart(steps);
  const seen = view(weights, done.map(encodeStep), next === null ? null : encodeStep(next));
  const { logits } = heads(weights, seen);
  const shares = softmax(encodeExperts(done, experts.length).map((inputs) => expertLogit(weights, inputs)));
  return {
    tick: Math.floor(done.length / sizes.interval),
    experts: experts.map((name, at) => ({ name, p: shares[at] ?? 0 })),
    risk: sigmoid(logits[tools.length] as number),
    deliberate: sigmoid(logits[tools.length + 1] as number) > deliberateAbove,
  };
}

/** The steps that were taken, and the one that is about to be. */
export function apart(steps: readonly ControlStep[]): readonly [readonly ControlStep[], ControlStep | null] {
  const last = steps.at(-1);
  return last?.result === 'None' ? [steps.slice(0, -1), last] : [steps, null];
}

function expertLogit(weights: Weights, inputs: Float32Array): number {
  const logit = new Float32Array(1);
  addProduct(logit, weights.experts, inputs);
  return logit[0] as number;
}

/** The planner acts only where it knows more than chance and a constant do. */
export function shadowOf(heldOut: HeldOut | null): string | null {
  if (heldOut === null) return 'its weights were never measured on held-out steps';
  const { riskAuc, randomWeightsAuc, constantAuc } = heldOut;
  if (riskAuc > randomWeightsAuc && riskAuc > constantAuc) return null;
  const figures = `AUC ${riskAuc.toFixed(3)}, random weights ${randomWeightsAuc.toFixed(3)}, a constant ${constantAuc.toFixed(3)}`;
  return `its risk is no better on held-out steps than what knows nothing: ${figures}`;
}

function aboutOf({ script, seed, data, heldOut, deliberateAbove }: PlannerHeader): Planner['about'] {
  const about = { artifact: 'planner-gru512', plan: sizes.plan, interval: sizes.interval, worker: sizes.worker, deliberateAbove };
  return { ...about, script, seed, data, ...heldOut };
}
