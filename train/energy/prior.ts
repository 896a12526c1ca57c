import type { EnergyHeadFile } from '../../inference-image/src/models/energy/file.ts';

/** What is believed of a head without data: signs and sizes are a judgement, not a measurement. */
const executed: Readonly<Record<string, number>> = {
  compileErrors: 1,
  'compileErrors>0': 1,
  testsFailed: 0.5,
  'testsFailed>0': 1,
  testsFixed: -0.5,
  'testsFixed>0': -1,
  testsBroken: 1,
  'testsBroken>0': 1.5,
  'testsSkipped>0': 1,
  'timedOut>0': 1.5,
  'crashed>0': 3,
  lintDelta: 0.2,
};

/** Commands: what the rails and the policy say weighs most. */
export function shellPrior(head: number): EnergyHeadFile {
  const prior = { constant: -2, policyUnsafe: 4, railRank: 1 };
  return { ...untrained(head), prior, about: 'prior model, not trained: no labelled commands; it gives no probability' };
}

/** Edits outside of code: what does not fit the goal, and great deletions. */
export function editorPrior(head: number): EnergyHeadFile {
  const prior = { constant: -1, policyUnsafe: 3, railRank: 0.75, specCosine: -1, charsRemoved: 0.2, files: 0.2 };
  return { ...untrained(head), prior, about: 'prior model, not trained: no labelled edits of other files; it gives no probability' };
}

/** A head without content model and calibration. */
export function untrained(head: number): EnergyHeadFile {
  const calibration = { before: null, after: null };
  return { content: null, prior: {}, executed, ran: 0, lambdas: { lambda: 1, head }, calibration, about: 'not trained' };
}
