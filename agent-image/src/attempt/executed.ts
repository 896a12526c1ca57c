import type { Features } from '@agentfleet/protocol/inference';
import { wholeRun } from '../checks/index.ts';
import type { Proof } from './evidence.ts';
import type { TrialResult } from './notes.ts';

/**
 * What the runs of a trial measured, summed over its checks; nothing where none ran. `text` is what its text tells of a program that
 * runs: it counts where all files were read and nothing went down.
 */
export function executedFeatures(proofs: readonly Proof[], result: TrialResult, text: Features = {}): Features {
  if (proofs.length === 0) return {};
  const measured = runFeatures(proofs, result);
  return measured.compileErrors === 0 && measured.crashed === 0 ? { ...measured, ...text } : measured;
}

function runFeatures(proofs: readonly Proof[], result: TrialResult): Features {
  const sum = (of: (proof: Proof) => number): number => proofs.reduce((total, proof) => total + of(proof), 0);
  return {
    testsTotal: sum(testsTotal),
    testsFailed: sum(testsFailed),
    testsFixed: sum(({ verdict }) => verdict.newlyPassing.length),
    testsBroken: sum(({ verdict }) => verdict.regressed.length + verdict.missing.length),
    testsSkipped: sum(({ verdict }) => verdict.newlySkipped.length),
    timedOut: sum(({ run }) => Number(run.end.timedOut)),
    crashed: sum(({ run }) => Number(run.end.interrupted !== undefined)) + Number(result === 'Crashed'),
    compileErrors: sum(({ run }) => run.results.tests.filter(({ kind, outcome }) => kind === 'Container' && outcome === 'Errored').length),
    seconds: sum(({ run }) => run.millis) / 1000,
  };
}

/** Tests that ran; a check that names none counts as one. */
export function testsTotal({ run: { results } }: Pick<Proof, 'run'>): number {
  return Math.max(1, results.tests.filter(({ kind, id, outcome }) => kind !== 'Group' && id !== wholeRun && outcome !== 'Skipped').length);
}

export function testsFailed({ run: { results, end } }: Pick<Proof, 'run'>): number {
  const failed = results.tests.filter(
    ({ kind, id, outcome }) => kind !== 'Group' && id !== wholeRun && (outcome === 'Failed' || outcome === 'Errored'),
  ).length;
  return failed === 0 && end.exitCode !== 0 ? 1 : failed;
}
