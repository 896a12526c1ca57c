import { defineConfig } from 'vitest/config';
import LongestFirst from './hack/test/order.ts';

const full = process.env['AGENTFLEET_FULL'] === '1';

/** Properties look at the same cases at every change, and at new ones in the long run, which names its seed. */
const seed = process.env['AGENTFLEET_SEED'] ?? String(full ? Date.now() % 2 ** 31 : 20_261_121);

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          name: 'unit',
          include: ['{cli,client,dashboard,eval,protocol,operator,agent-image,inference-image,sandbox-image,train,hack,test}/**/*.test.ts'],
          exclude: ['**/node_modules/**', 'test/contract/**', 'test/sandbox/**', 'test/ui/**', 'test/e2e/*.test.ts', 'test/release/**'],
          setupFiles: ['test/seed.ts'],
          env: { AGENTFLEET_SEED: seed },
          testTimeout: full ? 600_000 : 180_000,
          // No module has state, so that files may share what they load: to load it for each takes a third of the time.
          isolate: false,
          // The process that starts them has next to nothing to do: on two cores its default would be one worker.
          maxWorkers: '100%',
        },
      },
      {
        test: {
          name: 'contract',
          maxWorkers: 3,
          include: ['test/contract/**/*.test.ts'],
          globalSetup: ['test/contract/globalSetup.ts'],
          // Some files run an operator, which looks at the tasks of all of them: those wait for their turn.
          setupFiles: ['test/contract/turn.ts'],
          env: { AGENTFLEET_CONTRACT_REAL: '1' },
          testTimeout: full ? 600_000 : 240_000,
          hookTimeout: 900_000,
        },
      },
      {
        test: {
          name: 'ui',
          include: ['test/ui/*.test.ts'],
          globalSetup: ['test/ui/globalSetup.ts'],
          env: { AGENTFLEET_CONTRACT_REAL: '1' },
          // They share the one APIService of results.
          fileParallelism: false,
          testTimeout: 60_000,
          hookTimeout: 300_000,
        },
      },
      {
        test: {
          name: 'sandbox',
          include: ['test/sandbox/*.test.ts'],
          globalSetup: ['test/sandbox/globalSetup.ts'],
          testTimeout: 360_000,
          // One file has a runtime built when it is not in the cache.
          hookTimeout: 900_000,
          maxWorkers: 4,
        },
      },
      {
        test: {
          name: 'e2e',
          include: ['test/e2e/*.test.ts'],
          globalSetup: ['test/e2e/globalSetup.ts'],
          testTimeout: 600_000,
          // A file may wait for its turn: some kill what others need, and run alone (test/turns).
          hookTimeout: 900_000,
          // They mostly wait, for pods and for slow checks.
          maxWorkers: 3,
        },
      },
      {
        // On a cluster that nothing of the fleet is on; only in the long run.
        test: { name: 'release', include: ['test/release/*.test.ts'], testTimeout: 1_200_000, hookTimeout: 1_800_000, maxWorkers: 1 },
      },
    ],
  },
});
