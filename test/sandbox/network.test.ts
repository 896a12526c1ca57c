import { expect, test } from 'vitest';
import { newExecId } from '@agentfleet/keeper/client';
import { labels } from '@agentfleet/operator/sandbox';
import { eventually, useNamespace } from './harness.ts';

const bench = useNamespace('open');

test('without an enforced policy a sandbox never becomes ready and runs nothing', async () => {
  await bench.kubectl.text(['-n', bench.namespace, 'delete', 'networkpolicy', '--all']);
  const opened = bench.open({ name: 'unwalled', readySeconds: 25 });
  await expect(opened).rejects.toThrow(/timed out/i);
  // Allowed by its pool, the same pod would run; the wall, put back, is seen without a restart.
  const allowed = await bench.open({ allowUnenforcedNetwork: true });
  await eventually('the open network is called so', 40, async () => (await allowed.client.info()).network.state === 'NotEnforced');
  expect((await allowed.client.run({ execId: newExecId(), tool: 'Shell', command: 'echo open' })).stdout).toBe('open\n');
  const wall = { podSelector: { matchLabels: { [labels.component]: 'sandbox' } }, policyTypes: ['Ingress', 'Egress'] };
  await bench.kubectl.apply({
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: 'late', namespace: bench.namespace },
    spec: wall,
  });
  await eventually('the wall is seen', 45, async () => (await allowed.client.info()).network.state === 'Enforced');
  await allowed.close();
});
