// `npm run test:seeds [-- --minutes=N] [--seed=N] [path ...]`: the randomised tests with one seed after the other.
import { execa } from 'execa';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { runSeeds } from './seeds.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Tests whose cases are drawn: paths, or parts of them. */
const randomised = [
  'property.test.ts',
  'operator/kube/src/cache/history.test.ts',
  'operator/kube/src/queue/queue.model.test.ts',
  'operator/src/controllers/agenttask/queue/poolQueue.test.ts',
  'operator/test/crash/',
];

const options = { minutes: { type: 'string', default: '30' }, seed: { type: 'string' } } as const;
const { values, positionals } = parseArgs({ options, allowPositionals: true });
const minutes = Number(values.minutes);
const first = Number(values.seed ?? Date.now() % 2 ** 31);
if (!Number.isFinite(minutes) || !Number.isSafeInteger(first)) throw new Error('--minutes and --seed must be numbers');

const { failed } = await runSeeds(first, minutes, {
  now: () => performance.now(),
  say: (line) => console.log(line),
  run: async (seed) => {
    const paths = positionals.length > 0 ? positionals : randomised;
    const env = { AGENTFLEET_SEED: String(seed), AGENTFLEET_FULL: '' };
    const { exitCode } = await execa('vitest', ['run', '--project', 'unit', '--reporter=dot', ...paths], {
      cwd: root,
      env,
      preferLocal: true,
      stdio: 'inherit',
      reject: false,
    });
    return exitCode === 0;
  },
});
process.exitCode = failed.length === 0 ? 0 : 1;
