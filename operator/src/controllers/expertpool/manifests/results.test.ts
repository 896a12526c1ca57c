import { expect, it } from 'vitest';
import { testAccess } from '../../../serving/testing/access.ts';
import { newPool } from '../../agenttask/testing/objects.ts';
import { renderPool } from '../decide.ts';
import { newSnapshot } from '../testing/snapshots.ts';

const results = 'system:serviceaccount:agentfleet-system:agentfleet-results';

/** What of the workers a pool is made with, by kind. */
function workersOf(access: typeof testAccess): Readonly<Record<string, string>> {
  const all = renderPool(newSnapshot(newPool(), { access })).filter(({ object }) => object.metadata.name === 'coding-workers');
  return Object.fromEntries(all.map(({ object }) => [object.kind, JSON.stringify(object)]));
}

it('lets the results server of the platform ask workers, by tokens for this pool alone', () => {
  const { Service, Deployment, NetworkPolicy } = workersOf({ ...testAccess, results });
  expect(Service).toContain('"port":7090');
  expect(Deployment).toContain(JSON.stringify({ name: 'AGENTFLEET_AUDIENCE', value: 'agentfleet-results:platform:coding-workers' }));
  expect(Deployment).toContain(JSON.stringify({ name: 'AGENTFLEET_CALLERS', value: results }));
  expect(NetworkPolicy).toContain('"app.kubernetes.io/component":"results"');
});

it('lets no one ask them where there is no results server', () => {
  const { Service, Deployment, NetworkPolicy } = workersOf(testAccess);
  expect(Service).toBeUndefined();
  expect(Deployment).not.toContain('AGENTFLEET_CALLERS');
  expect(NetworkPolicy).not.toContain('"ingress"');
});
