import type { Mutant } from './mutants.ts';

const rollout = 'operator/src/rollout';
const whole: Mutant['test'] = { kind: 'vitest', path: `${rollout}/rollout.test.ts` };
const gates: Mutant['test'] = { kind: 'vitest', path: `${rollout}/gates/gates.test.ts` };
const statistics: Mutant['test'] = { kind: 'vitest', path: `${rollout}/statistics/statistics.test.ts` };

const revisions: Mutant['test'] = { kind: 'vitest', path: 'operator/src/revisions/revisions.test.ts' };

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
    guarantee: 'no task is given to a canary before its golden set passed',
    file: `${rollout}/machine/advance.ts`,
    find: '  if (held !== undefined) return held;\n',
    replace: "  if (held?.phase === 'RollingBack') return held;\n",
    test: whole,
  },
  {
    guarantee: 'a golden set that changed is judged anew before the weight grows',
    file: `${rollout}/machine/advance.ts`,
    find: 'if (anew !== undefined) return',
    replace: 'if (anew !== undefined && last) return',
    test: whole,
  },
  {
    guarantee: 'a golden set of which half was run does not pass',
    file: `${rollout}/gates/goldenSet.ts`,
    find: 'if (samples !== stable.total)',
    replace: 'if (samples > stable.total)',
    test: gates,
  },
  {
    guarantee: 'a rollback takes every task from the canary',
    file: `${rollout}/machine/advance.ts`,
    find: "{ phase: 'RollingBack', weight: 0, failures, reason, message, gates }",
    replace: "{ phase: 'RollingBack', failures, reason, message, gates }",
    test: whole,
  },
  {
    guarantee: 'a sequential test is looked at once per look',
    file: `${rollout}/gates/evaluate.ts`,
    find: '  if (look >= 0 && previous?.look === look) return previous;\n',
    replace: '',
    test: gates,
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
  {
    guarantee: 'a task counts once in the book of a rollout',
    file: 'operator/src/revisions/ledger.ts',
    find: 'if (counted.has(mark)) continue;',
    replace: '',
    test: revisions,
  },
  {
    guarantee: 'a task that the cluster or its user ended counts for no revision',
    file: 'operator/src/revisions/sample.ts',
    find: 'notTheArms.has(succeeded.reason)',
    replace: 'false',
    test: revisions,
  },
  {
    guarantee: 'a task sees one revision for all its life',
    file: 'operator/src/revisions/arm.ts',
    find: 'return serves ? before : status.stable;',
    replace: 'return status.stable;',
    test: revisions,
  },
  {
    guarantee: 'a task that changed its revision is counted for nobody',
    file: 'operator/src/revisions/arm.ts',
    find: 'rollout: same ? before.rollout : undefined',
    replace: 'rollout: before.rollout',
    test: revisions,
  },
  {
    guarantee: 'no rollout moves while its clock is behind',
    file: 'operator/src/revisions/progress.ts',
    find: 'if (skew > skewSeconds)',
    replace: 'if (skew > 1e9)',
    test: revisions,
  },
  {
    guarantee: 'a query with another answer than one number is missing data',
    file: 'operator/src/revisions/prometheus.ts',
    find: 'if (!Number.isFinite(value)) throw',
    replace: 'if (value === undefined) throw',
    test: { kind: 'vitest', path: 'operator/src/revisions/prometheus.test.ts' },
  },
  {
    guarantee: 'a worker does not work on a task with another revision than it is assigned to',
    file: 'protocol/src/pool/arms.ts',
    find: 'return arm === undefined ? unknown(revision) :',
    replace: 'return arm === undefined ? judged :',
    test: { kind: 'vitest', path: 'protocol/src/pool/arms.test.ts' },
  },
  {
    guarantee: 'the pods of a revision stay until no task works with it',
    file: 'operator/src/controllers/expertpool/rollout/plan.ts',
    find: 'inUse.revision(arm.revision) || (drains && present(snapshot, arm))',
    replace: 'drains && present(snapshot, arm)',
    test: { kind: 'vitest', path: 'operator/src/controllers/expertpool/rollout/plan.test.ts' },
  },
];
