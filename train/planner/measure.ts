import type { ControlStep } from '@agentfleet/protocol/inference';
import { encodeStep, isHarm, tools } from '../../inference-image/src/models/planner/encode.ts';
import {
  heads,
  memoryDecay,
  pool,
  remember,
  sigmoid,
  sizes,
  tick,
  work,
  type Weights,
} from '../../inference-image/src/models/planner/network.ts';
import { auc, type Scored } from '@agentfleet/protocol/stats';
import { standstill, type Trace } from './traces.ts';

export interface Said {
  readonly risk: Scored[];
  /** With the step that is about to be taken in sight. */
  readonly riskOfPlanned: Scored[];
  readonly deliberate: Scored[];
}

/** Collects the outputs of the weights at each moment of the traces, beside what came. */
export function listen(weights: Weights, traces: readonly Trace[]): Said {
  const said: Said = { risk: [], riskOfPlanned: [], deliberate: [] };
  for (const trace of traces) follow(weights, trace, said);
  return said;
}

function follow(weights: Weights, trace: Trace, said: Said): void {
  const memory = new Float32Array(sizes.worker);
  const none = new Float32Array(sizes.worker);
  const worked = trace.steps.map((step) => work(weights, encodeStep(step)));
  let plan: Float32Array = new Float32Array(sizes.plan);
  for (const [at, step] of trace.steps.entries()) {
    if (at > 0 && at % sizes.interval === 0) plan = tick(weights, plan, pool(worked.slice(at - sizes.interval, at))).state;
    const view = { plan, memory, last: worked[at - 1] ?? none, next: none };
    const right = isHarm(step.result);
    const { logits } = heads(weights, view);
    said.risk.push({ score: sigmoid(logits[tools.length] as number), right });
    const planned = heads(weights, { ...view, next: work(weights, encodeStep(trace.planned[at] as ControlStep)) });
    said.riskOfPlanned.push({ score: sigmoid(planned.logits[tools.length] as number), right });
    const still = standstill(trace, at);
    if (still !== null) said.deliberate.push({ score: sigmoid(logits[tools.length + 1] as number), right: still });
    remember(memory, worked[at] as Float32Array);
  }
}

type Single = (steps: readonly ControlStep[]) => number;
const last = (of: (step: ControlStep) => number | undefined): Single => {
  return (steps) => {
    const step = steps.at(-1);
    return step === undefined ? -1 : (of(step) ?? -1);
  };
};

/** Single features that could stand for the planner; each is known at the same moment. */
const singles: Readonly<Record<string, Single>> = {
  'last step did harm': last(({ result }) => (isHarm(result) ? 1 : 0)),
  'share of harm so far': (steps) => (steps.filter(({ result }) => isHarm(result)).length + 0.5) / (steps.length + 1),
  'recent harm': (steps) => steps.reduce((sum, { result }) => memoryDecay * sum + (1 - memoryDecay) * (isHarm(result) ? 1 : 0), 0.1),
  'steps so far': (steps) => steps.length,
  'entropy of the proposals': last(({ entropyNats }) => entropyNats),
  margin: last(({ marginNats }) => marginNats),
  energy: last(({ energy }) => energy),
  pSuccess: last(({ pSuccess }) => pSuccess),
  'share of the proposal': last(({ proposalShare }) => proposalShare),
  suspicion: last(({ suspicion }) => suspicion),
  'failing tests': last(({ testsFailing }) => testsFailing),
  'share of failing tests': last(({ testsFailing, testsTotal }) => testsFailing / Math.max(1, testsTotal)),
  depth: last(({ depth }) => depth),
  seconds: last(({ seconds }) => seconds),
  'budget used': last(({ budgetUsed }) => budgetUsed),
};

/** Returns the single feature that predicts the risk best on the held-out part, in either direction: a favour to the baseline. */
export function bestSingle(traces: readonly Trace[]): { readonly name: string; readonly auc: number } {
  const all = Object.entries(singles).map(([name, of]) => {
    const scored = traces.flatMap(({ steps }) =>
      steps.map(({ result }, at): Scored => ({ score: of(steps.slice(0, at)), right: isHarm(result) })),
    );
    const value = auc(scored);
    return { name, auc: Math.max(value, 1 - value) };
  });
  return all.reduce((best, one) => (one.auc > best.auc ? one : best));
}

/** The threshold with the greatest sum of sensitivity and specificity (W. Youden, 1950). */
export function thresholdOf(all: readonly Scored[]): number {
  const ordered = all.toSorted((a, b) => b.score - a.score);
  const positives = all.filter(({ right }) => right).length;
  const negatives = all.length - positives;
  let [best, threshold, hits, alarms] = [0, 0.5, 0, 0];
  for (const [at, { score, right }] of ordered.entries()) {
    if (right) hits += 1;
    else alarms += 1;
    const index = hits / positives - alarms / negatives;
    const following = ordered[at + 1]?.score ?? 0;
    if (index <= best || following === score) continue;
    best = index;
    threshold = (score + following) / 2;
  }
  return threshold;
}
