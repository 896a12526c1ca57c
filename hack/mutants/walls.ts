import type { Mutant } from './mutants.ts';

const snapshot = 'sandbox-image/keeper/src/snapshot';
const vitest = (path: string): Mutant['test'] => ({ kind: 'vitest', path });

/** Bugs in what keeps an attack or a fault from reaching beyond its place. */
export const walls: readonly Mutant[] = [
  {
    guarantee: 'links: no step of a restore is led out of the roots, whenever a folder is swapped',
    file: `${snapshot}/restore/reach.ts`,
    find: 'const FOLDER = O_PATH | fs.constants.O_DIRECTORY | fs.constants.O_NOFOLLOW;',
    replace: 'const FOLDER = O_PATH | fs.constants.O_DIRECTORY;',
    test: vitest(`${snapshot}/linkRace.test.ts`),
  },
  {
    guarantee: 'links: nothing from outside of the roots comes into a snapshot, whenever a folder is swapped',
    file: `${snapshot}/atPath.ts`,
    find: 'if (standsAt(fd, abs)) return fd;',
    replace: 'if (abs.length > 0) return fd;',
    test: vitest(`${snapshot}/linkRace.test.ts`),
  },
  {
    guarantee: 'links: no mode is changed outside of the roots, whenever a folder is swapped',
    file: `${snapshot}/atPath.ts`,
    find: 'if (there) fs.chmodSync(',
    replace: 'if (mode >= 0) fs.chmodSync(',
    test: vitest(`${snapshot}/linkRace.test.ts`),
  },
  {
    guarantee: 'keys: no worker has that of a model behind an API',
    file: 'operator/src/controllers/expertpool/decide.ts',
    find: 'workersDeployment(pool, images.agent, heldByGateways(snapshot))',
    replace: 'workersDeployment(pool, images.agent)',
    test: vitest('operator/src/controllers/expertpool/gateway.test.ts'),
  },
  {
    guarantee: 'keys: a gateway takes tokens that are for it alone',
    file: 'operator/src/controllers/expertpool/manifests/gateway.ts',
    find: '    audience: gatewayAudience(namespace, pool.metadata.name),\n',
    replace: '',
    test: vitest('operator/src/controllers/expertpool/gateway.test.ts'),
  },
];
