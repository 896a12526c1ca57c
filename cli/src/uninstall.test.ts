import { createTransport, defineResource, ResourceClient, systemClock, type Clock } from '@agentfleet/kube';
import { startFakeServer, type FakeApiServer } from '@agentfleet/kube/testing';
import { apiVersion } from '@agentfleet/protocol/api';
import { sandboxFinalizer } from '@agentfleet/protocol/pool';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { agentTaskOrders, agentTasks, expertPools } from './base/connection.ts';
import type { CommandContext } from './commands/index.ts';
import { uninstall } from './commands/uninstall.ts';

const pods = defineResource('v1', 'Pod', 'pods');

let server: FakeApiServer;
let context: CommandContext;
let said: string[];
const count = async (resource: Parameters<FakeApiServer['place']>[0]): Promise<number> =>
  (await new ResourceClient(context.transport, resource).list()).length;

/** Waits are over at once, and count for the monotonic clock. */
function fastClock(): Clock {
  let passed = 0;
  return { ...systemClock, monotonic: () => passed, after: (ms, then) => ((passed += ms), systemClock.after(0, then)) };
}

beforeEach(async () => {
  server = await startFakeServer({ kinds: [{ resource: agentTasks }, { resource: agentTaskOrders }, { resource: expertPools }] });
  server.createNamespace('team');
  said = [];
  const print = (line: string): void => void said.push(line);
  const transport = createTransport(server.config, { userAgent: 'test/1' });
  const { signal } = new AbortController();
  context = { transport, namespace: 'team', env: {}, clock: fastClock(), random: () => 0.5, signal, terminal: false, print, warn: print };
  const made = async (resource: typeof pods, name: string, more: object): Promise<void> => {
    const client = new ResourceClient(transport, resource);
    await client.create({ metadata: { name, namespace: 'team', ...more } });
  };
  await made(agentTasks, 'one', {});
  const { uid = '' } = (await new ResourceClient(transport, agentTasks).get({ namespace: 'team', name: 'one' })).metadata;
  await made(agentTaskOrders, 'one-cancel', { ownerReferences: [{ apiVersion, kind: 'AgentTask', name: 'one', uid }] });
  await made(expertPools, 'pool', {});
  await made(pods, 'one-1', { labels: { 'agentfleet.dev/component': 'sandbox' }, finalizers: [sandboxFinalizer] });
  await new ResourceClient(transport, pods).delete({ namespace: 'team', name: 'one-1' });
});
afterEach(async () => {
  await context.transport.close();
  await server.close();
});

test('lists what there is and touches nothing without --yes', async () => {
  await uninstall(context, { yes: false, timeout: 60 });
  expect(said.slice(0, 3)).toEqual(['1 AgentTask', '1 AgentTaskOrder', '1 ExpertPool']);
  expect(said).toContain('0 RolloutPolicies');
  expect(said.at(-1)).toContain('fleet uninstall --yes');
  expect([await count(agentTasks), await count(expertPools), await count(pods)]).toEqual([1, 1, 1]);
});

test('deletes every object, and lets go what no operator lets go', async () => {
  await uninstall(context, { yes: true, timeout: 600 });
  expect([await count(agentTasks), await count(expertPools), await count(pods)]).toEqual([0, 0, 0]);
  expect(said.slice(0, 3)).toEqual(['1 AgentTask is deleted', '1 AgentTaskOrder is deleted', '1 ExpertPool is deleted']);
  expect(said).toContain('no operator lets 1 sandbox pod go: the finalizer is taken off');
  expect(said.at(-1)).toContain('kubectl delete crd agenttasks.agentfleet.dev');
});

test('reports what stays when a sandbox is not being deleted', async () => {
  const client = new ResourceClient(context.transport, pods);
  const metadata = { name: 'warm', namespace: 'team', labels: { 'agentfleet.dev/component': 'sandbox' }, finalizers: [sandboxFinalizer] };
  await client.create({ metadata });
  await expect(uninstall(context, { yes: true, timeout: 120 })).rejects.toThrow('after 120 s 1 sandbox pod is left');
});
