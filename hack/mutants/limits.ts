import type { Mutant } from './mutants.ts';

const tasks = 'operator/src/controllers/agenttask';
const limits = { kind: 'vitest', path: 'operator/src/limits/limits.test.ts' } as const;
const names = { kind: 'vitest', path: 'operator/src/pools/names.test.ts' } as const;

/** Planted bugs of what happens to the largest objects and the longest names, and in the longest runs. */
export const atLimits: readonly Mutant[] = [
  {
    guarantee: 'words of others are cut between characters',
    file: `${tasks}/conditions.ts`,
    find: '.toWellFormed()',
    replace: '',
    test: limits,
  },
  {
    guarantee: 'a pod that the API server refuses is tried again twice a minute',
    file: `${tasks}/placing.ts`,
    find: 'const refusedRetryMs = 30_000;',
    replace: 'const refusedRetryMs = 3_000;',
    test: limits,
  },
  {
    guarantee: 'conditions of a task stay within their bound, however long what they name',
    file: `${tasks}/conditions.ts`,
    find: 'const longestMessage = 1024;',
    replace: 'const longestMessage = 4096;',
    test: limits,
  },
  {
    guarantee: 'names of children fit labels with what Deployments append',
    file: 'operator/src/pools/names.ts',
    find: 'const longest = 52;',
    replace: 'const longest = 63;',
    test: names,
  },
  {
    guarantee: 'names of children that were cut stay apart',
    file: 'operator/src/pools/names.ts',
    find: "  return `${label.slice(0, longest - 9).replace(/-+$/, '')}-${digest}`;",
    replace: "  return `${label.slice(0, longest - 9).replace(/-+$/, '')}-${digest.slice(0, 0)}00000000`;",
    test: names,
  },
  {
    guarantee: 'each round of a soak has a seed of its own',
    file: 'hack/test/soak.ts',
    find: '    const seed = (firstSeed + rounds) % mostSeed;\n',
    replace: '    const seed = firstSeed % mostSeed;\n',
    test: { kind: 'vitest', path: 'hack/test/soak.test.ts' },
  },
];
