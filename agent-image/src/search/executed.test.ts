import { describe, expect, it } from 'vitest';
import type { Proof } from '../attempt/checkRun.ts';
import { executedFeatures } from './rounds.ts';

/** A check that ran; its one test ended as reported. */
function proof(outcome: 'Passed' | 'Errored'): Proof {
  const tests = [{ id: 'm.py', kind: 'Container', outcome }];
  const run = { results: { tests }, end: { timedOut: false, exitCode: outcome === 'Passed' ? 0 : 1 }, millis: 5 };
  const verdict = { newlyPassing: [], regressed: [], missing: [], newlySkipped: [] };
  return { run, verdict } as unknown as Proof;
}

const text = { complexityDelta: 2, lintDelta: -1 };

describe('measurements of a run', () => {
  it('are reported beside the features of the text of an executed program', () => {
    expect(executedFeatures([proof('Passed')], 'Equal', text)).toMatchObject({ ...text, compileErrors: 0, crashed: 0 });
  });

  it.each([
    ['nothing ran', [], 'Equal'],
    ['a file cannot be read', [proof('Errored')], 'Equal'],
    ['the sandbox went down', [proof('Passed')], 'Crashed'],
  ] as const)('stands alone where %s', (_, proofs, result) => {
    const features = executedFeatures(proofs, result, text);
    expect(features.complexityDelta).toBeUndefined();
    expect(features.lintDelta).toBeUndefined();
  });
});
