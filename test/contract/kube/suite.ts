/**
 * Common contract of both API servers: the real one and the fake of `@agentfleet/kube/testing`. `fake.test.ts` and
 * `real.test.ts` run it; a difference is a defect of the fake.
 */
import { afterAll, beforeAll, describe } from 'vitest';
import { applyContract } from './apply.contract.ts';
import type { Environment } from './environment.ts';
import { limitsContract } from './limits.contract.ts';
import { listsContract } from './lists.contract.ts';
import { objectsContract } from './objects.contract.ts';
import { ownersContract } from './owners.contract.ts';
import { watchesContract } from './watches.contract.ts';

export function contractSuite(name: string, open: () => Promise<Environment>): void {
  describe(name, { timeout: 60_000 }, () => {
    let environment: Environment | undefined;
    const current = (): Environment => {
      if (environment === undefined) throw new Error('the environment is not open');
      return environment;
    };
    beforeAll(async () => {
      environment = await open();
    }, 300_000);
    afterAll(async () => environment?.close(), 60_000);
    objectsContract(current);
    listsContract(current);
    applyContract(current);
    watchesContract(current);
    ownersContract(current);
    limitsContract(current);
  });
}
