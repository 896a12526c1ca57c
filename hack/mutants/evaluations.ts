import type { Mutant } from './mutants.ts';

const source = 'eval/src';
const vitest = (path: string): Mutant['test'] => ({ kind: 'vitest', path: `${source}/${path}` });

/** Bugs in what tells how good a pool is: each would make a number better than it is. */
export const evaluations: readonly Mutant[] = [
  {
    guarantee: 'a check that the no-op passes is refused',
    file: `${source}/verify/faults.ts`,
    find: 'if (passed) return mayPass ? [] : [',
    replace: "if (passed) return mayPass || check === 'hidden' ? [] : [",
    test: vitest('verify/verify.test.ts'),
  },
  {
    guarantee: 'a hidden check that a wrong solution passes is refused',
    file: `${source}/verify/faults.ts`,
    find: 'return hidden.passed ? [',
    replace: 'return hidden.passed && at > 1 ? [',
    test: vitest('verify/verify.test.ts'),
  },
  {
    guarantee: 'an instance whose tests to pass do so at the start is refused',
    file: `${source}/verify/faults.ts`,
    find: 'tests.failing.filter((id) => !missed.has(id))',
    replace: 'tests.failing.filter((id) => missed.size === 0 && !missed.has(id))',
    test: vitest('format/instances.test.ts'),
  },
  {
    guarantee: 'set-up cannot show a hidden file',
    file: `${source}/format/build.ts`,
    find: "if (content.trim() !== '' && scripts.some(",
    replace: "if (content.trim() === '' && scripts.some(",
    test: vitest('format/load.test.ts'),
  },
  {
    guarantee: 'a problem in both halves is a leak',
    file: `${source}/stats/gates.ts`,
    find: 'if (problems.has(problem)) return [',
    replace: 'if (problems.size === 0) return [',
    test: vitest('stats/gates.test.ts'),
  },
  {
    guarantee: 'copied content is a leak, however it was touched up',
    file: `${source}/stats/gates.ts`,
    find: ".replaceAll(/\\s+/g, ' ').trim()",
    replace: '',
    test: vitest('stats/gates.test.ts'),
  },
  {
    guarantee: 'probabilities that are not true do not pass the gate',
    file: `${source}/stats/gates.ts`,
    find: 'found.value > maxEce',
    replace: 'found.low > 2 * maxEce',
    test: vitest('stats/gates.test.ts'),
  },
  {
    guarantee: 'a task counts as solved only by its hidden check',
    file: `${source}/run/record.ts`,
    find: "result === 'Succeeded' && hidden === 'Passed'",
    replace: "result === 'Succeeded' && hidden !== 'NotJudged'",
    test: vitest('report/report.test.ts'),
  },
  {
    guarantee: 'results of another pack or program are not mixed in',
    file: `${source}/run/results.ts`,
    find: 'if (before !== undefined && before !== digest)',
    replace: 'if (before !== undefined && before.length !== digest.length)',
    test: vitest('run/run.test.ts'),
  },
  {
    guarantee: 'an attempt that has a result is not made again',
    file: `${source}/run/run.ts`,
    find: 'if (results.has(key)) continue;',
    replace: '',
    test: vitest('run/run.test.ts'),
  },
  {
    guarantee: 'ties count half in the area under the curve',
    file: `${source}/stats/scores.ts`,
    find: 'const rank = (at + 1 + end) / 2;',
    replace: 'const rank = end;',
    test: vitest('stats/stats.test.ts'),
  },
  {
    guarantee: 'intervals draw whole problems',
    file: `${source}/stats/scores.ts`,
    find: 'Map.groupBy(items, (item) => item.problem ?? item)',
    replace: 'Map.groupBy(items, (item) => item)',
    test: vitest('stats/stats.test.ts'),
  },
  {
    guarantee: 'half a patch is not judged',
    file: `${source}/cluster/pool.ts`,
    find: 'if (cutInStatus.test(patch))',
    replace: "if (patch === '')",
    test: vitest('cluster/pool.test.ts'),
  },
  {
    guarantee: 'a local sandbox has no network',
    file: `${source}/local/scripts.ts`,
    find: 'unshare --mount --pid --net --ipc',
    replace: 'unshare --mount --pid --ipc',
    test: vitest('local/pool.test.ts'),
  },
  {
    guarantee: 'a local sandbox does not show the store to commands',
    file: `${source}/local/scripts.ts`,
    find: 'mount -t tmpfs -o mode=755,size=1m none "$root/var/lib"\n',
    replace: '',
    test: vitest('local/pool.test.ts'),
  },
];
