import type { Mutant } from './mutants.ts';

const models = 'operator/src/controllers/energymodel';
const course: Mutant['test'] = { kind: 'vitest', path: `${models}/rollout/course.test.ts` };
const lock: Mutant['test'] = { kind: 'vitest', path: 'operator/src/revisions/lock.test.ts' };
const arm: Mutant['test'] = { kind: 'vitest', path: 'operator/src/revisions/arm.test.ts' };
const heldOut: Mutant['test'] = { kind: 'vitest', path: 'operator/src/rollout/gates/heldOut.test.ts' };
const brief: Mutant['test'] = { kind: 'vitest', path: 'protocol/src/pool/arms.test.ts' };

/** Of revisions of verifiers that are rolled out. */
export const modelRollouts: readonly Mutant[] = [
  {
    guarantee: 'each revision of a model acts by its own calibration',
    file: `${models}/status.ts`,
    find: '  const info = infos?.get(arm.revision);\n',
    replace: "  const info = infos?.get(model.status?.rollout?.stable ?? '');\n",
    test: course,
  },
  {
    guarantee: 'a model that abstains where a calibration is demanded is not tried',
    file: `${models}/rollout/rollouts.ts`,
    find: '        abstaining(model, infos?.get(desired.revision), now) ??\n',
    replace: '',
    test: course,
  },
  {
    guarantee: 'a model of which nobody knows whether it abstains is not promoted',
    file: `${models}/rollout/rollouts.ts`,
    find: 'return uncalibrated(snapshot, before, next, now) ?? next;',
    replace: 'return next;',
    test: course,
  },
  {
    guarantee: 'the address of a model without a revision reaches the pods that serve',
    file: `${models}/decide.ts`,
    find: 'servingService(asked.model, serving.revision)',
    replace: 'verifierService(asked.model)',
    test: course,
  },
  {
    guarantee: 'a model that ends to have rollouts is served until its pods follow',
    file: `${models}/rollout/plan.ts`,
    find: 'const follows = serving === undefined ||',
    replace: 'const follows = serving !== undefined ||',
    test: course,
  },
  {
    guarantee: 'a task is counted for the verifier that judged it',
    file: 'operator/src/revisions/trials.ts',
    find: "{ ...sample, revision: sample.verifier ?? '' }",
    replace: 'sample',
    test: course,
  },
  {
    guarantee: 'tasks of the rollout of a model are not forgotten when a pool looks at its own',
    file: 'operator/src/revisions/trials.ts',
    find: '[...pools.lister.values(), ...energyModels.lister.values()]',
    replace: '[...pools.lister.values()]',
    test: course,
  },
  {
    guarantee: 'who begins a rollout looks at the API server, not at caches of the past',
    file: 'operator/src/revisions/lock.ts',
    find: 'decide(await now())',
    replace: 'decide(lockedBy)',
    test: lock,
  },
  {
    guarantee: 'rollouts begin one after the other',
    file: 'operator/src/revisions/lock.ts',
    find: '    await before;\n',
    replace: '',
    test: lock,
  },
  {
    guarantee: 'any pool that is tried keeps its model from beginning',
    file: 'operator/src/revisions/lock.ts',
    find: 'naming.find((pool)',
    replace: 'naming.slice(0, 1).find((pool)',
    test: lock,
  },
  {
    guarantee: 'one verifier judges a task for all its life',
    file: 'operator/src/revisions/arm.ts',
    find: 'laterRevision(before.verifierRevision, judge)',
    replace: 'judge?.stable',
    test: arm,
  },
  {
    guarantee: 'no task is tried for two rollouts',
    file: 'operator/src/revisions/arm.ts',
    find: '  if (both) return',
    replace: "  if (both && uid === '') return",
    test: arm,
  },
  {
    guarantee: 'a figure of a verifier that is no number never passes',
    file: 'operator/src/rollout/gates/heldOut.ts',
    find: '  if (all.some((one) => !Number.isFinite(one.slack))) return undefined;\n',
    replace: '',
    test: heldOut,
  },
  {
    guarantee: 'the worst head of a verifier decides',
    file: 'operator/src/rollout/gates/heldOut.ts',
    find: 'a.slack - b.slack',
    replace: 'b.slack - a.slack',
    test: heldOut,
  },
  {
    guarantee: 'a calibration with other features never passes',
    file: 'operator/src/rollout/gates/heldOut.ts',
    find: "  if ('fault' in canary) return { verdict: 'Fail',",
    replace: "  if ('fault' in canary) return { verdict: 'Pass',",
    test: heldOut,
  },
  {
    guarantee: 'a worker asks the verifier of the revision that its task is assigned to',
    file: 'protocol/src/pool/arms.ts',
    find: 'return { ...brief, verifier: arm.verifier };',
    replace: 'return brief;',
    test: brief,
  },
  {
    guarantee: 'a task that is counted is not judged by another verifier',
    file: 'protocol/src/pool/arms.ts',
    find: 'return rollout === undefined ? brief :',
    replace: 'return rollout !== null ? brief :',
    test: brief,
  },
];
