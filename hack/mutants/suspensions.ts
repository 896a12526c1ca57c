import type { Mutant } from './mutants.ts';

const tasks = 'operator/src/controllers/agenttask';
const test = { kind: 'vitest', path: `${tasks}/suspension.test.ts` } as const;

/** Planted bugs of suspension and of volumes. */
export const suspensions: readonly Mutant[] = [
  {
    guarantee: 'a suspended task gives its sandbox back only when all is stored',
    file: `${tasks}/suspension.ts`,
    find: "  if (atRest) return 'Ending';\n",
    replace: "  if (snapshot.task.spec.suspend) return 'Ending';\n",
    test,
  },
  {
    guarantee: 'a report of an earlier epoch gives no sandbox back',
    file: `${tasks}/facts.ts`,
    find: 'currentRun(status)?.quiescedAt',
    replace: 'status.run?.quiescedAt',
    test,
  },
  {
    guarantee: 'a suspended task holds no pod',
    file: `${tasks}/decide.ts`,
    find: ' && keepSandbox && !givesBack(course);',
    replace: ' && keepSandbox;',
    test,
  },
  {
    guarantee: 'a sandbox that was given back ends no attempt',
    file: `${tasks}/verdict.ts`,
    find: '  if (atRest) return undefined;\n',
    replace: '',
    test,
  },
];
