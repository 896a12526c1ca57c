import type { Mutant } from './mutants.ts';

const controller = 'operator/src/controllers/placement';
const test: Mutant['test'] = { kind: 'vitest', path: `${controller}/losses.test.ts` };
const acknowledged: Mutant['test'] = { kind: 'vitest', path: `${controller}/acknowledged.test.ts` };

/** Of GPUs that are lost, that shrink, or that a human has acknowledged as tainted. */
export const losses: readonly Mutant[] = [
  {
    guarantee: 'a GPU that shrank is not given to more than it holds',
    file: `${controller}/shrunk.ts`,
    find: 'if (assignment.bytes > left) out.add(assignment);',
    replace: 'if (assignment.bytes < 0) out.add(assignment);',
    test,
  },
  {
    guarantee: 'a taint that is set anew is not one that was acknowledged',
    file: `${controller}/acknowledged.ts`,
    find: 'since === taint.timeAdded',
    replace: 'since !== taint.timeAdded || true',
    test: acknowledged,
  },
  {
    guarantee: 'a claim says which taints a human has acknowledged',
    file: `${controller}/claimNames.ts`,
    find: ' ? (slot.tolerated ?? []) : [];',
    replace: ' ? [] : [];',
    test: acknowledged,
  },
];
