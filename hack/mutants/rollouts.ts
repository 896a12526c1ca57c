import type { Mutant } from './mutants.ts';

const rollout = 'operator/src/rollout';
const whole: Mutant['test'] = { kind: 'vitest', path: `${rollout}/rollout.test.ts` };
const statistics: Mutant['test'] = { kind: 'vitest', path: `${rollout}/statistics/statistics.test.ts` };

/** Of revisions that are rolled out. */
export const rollouts: readonly Mutant[] = [
  {
    guarantee: 'missing data never promotes',
    file: `${rollout}/machine/advance.ts`,
    find: "last ? verdict !== 'Pass' : verdict === 'InsufficientData'",
    replace: "last ? verdict === 'Fail' : verdict === 'InsufficientData'",
    test: whole,
  },
  {
    guarantee: 'a promotion needs the samples of the whole rollout',
    file: `${rollout}/machine/advance.ts`,
    find: 'if (last && samples < policy.minSamples)',
    replace: 'if (last && stepSamples < minSamples)',
    test: whole,
  },
  {
    guarantee: 'a revision that failed again and again is frozen',
    file: `${rollout}/machine/advance.ts`,
    find: '{ ...state.failures, [canary]: (state.failures[canary] ?? 0) + 1 }',
    replace: '{ ...state.failures, [canary]: 1 }',
    test: whole,
  },
  {
    guarantee: 'a generator and its verifier are not rolled out together',
    file: `${rollout}/machine/advance.ts`,
    find: 'if (evidence.lockedBy !== undefined)',
    replace: 'if (evidence.lockedBy !== undefined && state.canary !== undefined)',
    test: whole,
  },
  {
    guarantee: 'the pointer is not flipped to engines that went away',
    file: `${rollout}/machine/advance.ts`,
    find: "  if (evidence.canaryEngines !== 'Ready') return back(",
    replace: "  if (evidence.canaryEngines === 'Failed') return back(",
    test: whole,
  },
  {
    guarantee: 'a rollback takes every task from the canary',
    file: `${rollout}/machine/advance.ts`,
    find: "{ phase: 'RollingBack', weight: 0, failures, reason, message }",
    replace: "{ phase: 'RollingBack', failures, reason, message }",
    test: whole,
  },
  {
    guarantee: 'a sequential test is looked at once per look',
    file: `${rollout}/gates/evaluate.ts`,
    find: '  if (look >= 0 && previous?.look === look) return previous;\n',
    replace: '',
    test: whole,
  },
  {
    guarantee: 'one task sees one checkpoint, and a greater weight only adds tasks',
    file: `${rollout}/routing.ts`,
    find: 'return placeOf(taskUid, rollout) < (weight / 100) * parts;',
    replace: 'return placeOf(taskUid, `${rollout}${weight}`) < (weight / 100) * parts;',
    test: whole,
  },
  {
    guarantee: 'a canary that is worse by the margin is promoted in one of a hundred rollouts at most',
    file: `${rollout}/statistics/judge.ts`,
    find: 'if (limit > -margin)',
    replace: 'if (limit > -2 * margin)',
    test: statistics,
  },
  {
    guarantee: 'errors are spent over all looks together, not at each',
    file: `${rollout}/statistics/design.ts`,
    find: 'normalQuantile(1 - error / 2) / Math.sqrt(fraction)',
    replace: 'normalQuantile(1 - error / 2)',
    test: statistics,
  },
];
