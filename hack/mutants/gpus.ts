import type { Mutant } from './mutants.ts';

const controller = 'operator/src/controllers/placement';
const seat = 'operator/src/serving/seat.ts';
const decide: Mutant['test'] = { kind: 'vitest', path: `${controller}/decide.test.ts` };
const course: Mutant['test'] = { kind: 'vitest', path: `${controller}/course.test.ts` };
const demand: Mutant['test'] = { kind: 'vitest', path: `${controller}/demand.test.ts` };
const seats: Mutant['test'] = { kind: 'vitest', path: 'operator/src/serving/seat.test.ts' };

/** Of plans for pools and models. */
export const gpus: readonly Mutant[] = [
  {
    guarantee: 'memory that one pool has is not given to another',
    file: `${controller}/problem.ts`,
    find: 'return holders.flatMap((holder) =>',
    replace: 'return holders.slice(0, 0).flatMap((holder) =>',
    test: decide,
  },
  {
    guarantee: 'what does not fit as a whole starts nothing and moves nothing',
    file: `${controller}/serve.ts`,
    find: '  if (!lost) {',
    replace: '  if (!lost && held.length > 0) {',
    test: decide,
  },
  {
    guarantee: 'a slot whose claim is of another namespace is not joined',
    file: `${controller}/problem.ts`,
    find: 'return holder.owner.namespace !== owner.namespace &&',
    replace: 'return holder.owner.namespace === owner.namespace &&',
    test: decide,
  },
  {
    guarantee: 'a dry run takes nothing',
    file: `${controller}/decide.ts`,
    find: 'if (!owner.dryRun) holders.set(',
    replace: 'holders.set(',
    test: course,
  },
  {
    guarantee: 'engines of one GPU start one after another',
    file: `${controller}/admit.ts`,
    find: 'const taken = new Set([...lingering, ...tenants.flatMap((tenant) => busySlots(tenant, progress))]);',
    replace: 'const taken = new Set<string>();',
    test: course,
  },
  {
    guarantee: 'names of slots hold when the book of names is lost',
    file: `${controller}/inventory.ts`,
    find: 'for (const binding of recorded) {',
    replace: 'for (const binding of recorded.slice(0, 0)) {',
    test: course,
  },
  {
    guarantee: 'a better mode that comes up restarts nothing',
    file: `${controller}/plan.ts`,
    find: "if (before === undefined || before === choice.mode || owner.mode !== 'Auto') return",
    replace: "if (before === undefined || before !== choice.mode || owner.mode !== 'Auto') return",
    test: course,
  },
  {
    guarantee: 'an engine gets more memory than was reckoned, not less',
    file: `${controller}/demand.ts`,
    find: '(1 + headroom)',
    replace: '(1 - headroom)',
    test: demand,
  },
  {
    guarantee: 'there are never two pods of an engine on its GPU',
    file: seat,
    find: 'maxSurge: 0',
    replace: 'maxSurge: 1',
    test: seats,
  },
  {
    guarantee: 'an engine has no pods before its turn to start',
    file: seat,
    find: 'replicas: admitted ? replicas : 0',
    replace: 'replicas',
    test: seats,
  },
  {
    guarantee: 'nobody starts in the memory of who moved away before his pods are gone',
    file: 'operator/src/controllers/placement/admit.ts',
    find: 'new Set([...lingering, ...tenants.flatMap(',
    replace: 'new Set([...tenants.flatMap(',
    test: { kind: 'vitest', path: 'operator/src/controllers/placement/lingering.test.ts' },
  },
  {
    guarantee: 'an engine that is to take turns has the whole GPU until its pods do',
    file: 'operator/src/controllers/placement/observe.ts',
    find: "if ((annotations?.[turnsAnnotation] === 'true') !== (awakeBytes !== undefined)) return 'Absent';",
    replace: '',
    test: { kind: 'vitest', path: 'operator/src/controllers/placement/lingering.test.ts' },
  },
];
