import { stepResults, type ControlStep, type StepResult } from '@agentfleet/protocol/inference';

/** Order of the tools in the model. */
export const tools = ['ExecCode', 'Shell', 'Files', 'Editor'] as const;

const harmful: ReadonlySet<StepResult> = new Set(['Denied', 'Worse', 'Crashed', 'NotVerified']);
/** Results of a step that advance the work. */
const good: ReadonlySet<StepResult> = new Set(['Better', 'Reached']);

export const isHarm = (result: StepResult): boolean => harmful.has(result);
export const isProgress = (result: StepResult): boolean => good.has(result);

type Known = (step: ControlStep) => number | undefined;
const signedLog = (value: number): number => Math.sign(value) * Math.log1p(Math.abs(value));
const through = (value: number | undefined, scale: (value: number) => number): number | undefined =>
  value === undefined ? undefined : scale(value);

/** Optional values; each takes two inputs: the value (0 when unknown) and whether it is known. */
const maybe: readonly Known[] = [
  (step) => (step.entropyNats === undefined ? undefined : step.entropyNats / 4),
  (step) => through(step.marginNats, (value) => Math.log1p(value)),
  (step) => through(step.energy, (value) => signedLog(value) / 2),
  (step) => step.pSuccess,
  (step) => through(step.proposalShare, (value) => Math.log(value + 1e-4) / 4),
  (step) => step.suspicion,
];

const always: readonly ((step: ControlStep) => number)[] = [
  (step) => Math.min(step.edits, 4) / 2,
  (step) => Math.log1p(step.testsFailing) / 3,
  (step) => Math.log1p(step.testsTotal) / 3,
  (step) => (step.testsTotal === 0 ? 0 : Math.min(1, step.testsFailing / step.testsTotal)),
  (step) => Math.log1p(step.testsFixed) / 2,
  (step) => Math.min(step.depth, 8) / 4,
  (step) => Math.log1p(step.seconds) / 4,
  (step) => step.budgetUsed,
];

/** Length of the vector of one step. */
export const inputs = tools.length + stepResults.length + 1 + maybe.length * 2 + always.length;

/** Encodes one step as numbers of about one: the act, its result, whether an expert proposed it, measures with their presence. */
export function encodeStep(step: ControlStep): Float32Array {
  const vector = new Float32Array(inputs);
  vector[tools.indexOf(step.tool)] = 1;
  vector[tools.length + stepResults.indexOf(step.result)] = 1;
  let at = tools.length + stepResults.length;
  vector[at] = step.expert >= 0 ? 1 : 0;
  at += 1;
  for (const of of maybe) {
    const value = of(step);
    if (value !== undefined) vector.set([Math.max(-3, Math.min(3, value)), 1], at);
    at += 2;
  }
  for (const of of always) {
    vector[at] = of(step);
    at += 1;
  }
  return vector;
}

/** Inputs about one expert. */
export const expertInputs = 3;

/**
 * Encodes an expert's recent results, as differences from an unknown expert: all zero for one without results. The
 * newest steps count most, with a half-life of eight steps.
 */
export function encodeExperts(steps: readonly ControlStep[], count: number): Float32Array[] {
  const tallies = Array.from({ length: count }, () => ({ good: 0, harm: 0, tries: 0 }));
  const decay = 0.5 ** (1 / 8);
  for (const { expert, result } of steps) {
    for (const tally of tallies) {
      tally.good *= decay;
      tally.harm *= decay;
      tally.tries *= decay;
    }
    const tally = tallies[expert];
    if (tally === undefined) continue;
    tally.tries += 1;
    if (isProgress(result)) tally.good += 1;
    if (isHarm(result)) tally.harm += 1;
  }
  return tallies.map(({ good, harm, tries }) => Float32Array.of(good / (tries + 2), harm / (tries + 2), Math.log1p(tries)));
}
