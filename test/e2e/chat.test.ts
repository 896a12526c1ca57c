// Common first tasks, done by a chat model behind an API: a pool with an endpoint and a key on a real cluster.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { recordings } from '../sandbox/conversationBed.ts';
import { scenarios, type Scenario } from '../sandbox/conversations.ts';
import { brokenPromises, condition, useFleet, type Fleet } from './fleet.ts';
import { apiOf, providerPool, recordedServer, startProvider } from './providerPod.ts';

const asked = ['feature', 'rename', 'script', 'investigate'] as const;

/** A provider in a pod that plays the recordings, and the key in the Secret that the pool names. */
async function provider(fleet: Fleet): Promise<void> {
  const files = await Promise.all(asked.map(async (name) => [`${name}.json`, await readFile(join(recordings, `${name}.json`), 'utf8')]));
  await startProvider(fleet, { program: recordedServer, files: Object.fromEntries(files) as Record<string, string>, args: ['hold'] });
}

const fleet = useFleet('chat', {
  before: provider,
  pool: {},
});

function scenario(name: string): Scenario {
  const found = scenarios.find((one) => one.name === name);
  if (found === undefined) throw new Error(`there is no scenario ${name}`);
  return found;
}

async function submit(name: string): Promise<void> {
  const { goal, files, checks, spec } = scenario(name);
  const inline = { files: Object.entries(files).map(([path, content]) => ({ path, content })) };
  await fleet.apply('AgentTask', name, {
    poolRef: { name: 'chat' },
    goal,
    workspace: { type: 'Inline', inline },
    checks,
    attempts: { max: 1 },
    ...spec,
  });
}

test('a pool is ready with an endpoint and a key', async () => {
  await providerPool(fleet, 'chat', { experts: [{ name: 'gen', role: 'Generalist', engine: { type: 'OpenAI', api: apiOf(fleet) } }] });
}, 500_000);

test('gateway and workers die in the middle of a conversation, and it continues', async () => {
  const name = 'script';
  await submit(name);
  await expect.poll(async () => fleet.run('logs', 'provider'), { timeout: 240_000, interval: 500 }).toContain('a request is held');
  const now = ['--force', '--grace-period=0', '--wait=false'];
  for (const component of ['gateway', 'worker'])
    await fleet.run('delete', 'pod', '-l', `agentfleet.dev/pool=chat,agentfleet.dev/component=${component}`, ...now);
  for (const other of asked) if (other !== name) await submit(other);
  const task = await fleet.finished(name, 300);
  expect(condition(task, 'Succeeded'), await fleet.explain(name)).toMatchObject({ status: 'True' });
}, 1_500_000);

test.each(['feature', 'script'])(
  '%s is done, proved by its check and paid for',
  async (name) => {
    const task = await fleet.finished(name, 240);
    expect(condition(task, 'Succeeded'), await fleet.explain(name)).toMatchObject({ status: 'True' });
    const { run } = task.status ?? {};
    const { patch } = scenario(name);
    if (patch !== undefined) expect(run?.patch).toMatch(patch);
    expect(run?.usage?.tokensIn).toBeGreaterThan(1000);
    expect(Number(run?.usage?.cost)).toBeGreaterThan(0);
    expect(brokenPromises(fleet, name)).toEqual([]);
  },
  1_000_000,
);

test('a failing service is explained in words', async () => {
  const task = await fleet.finished('investigate', 240);
  expect(condition(task, 'Succeeded'), await fleet.explain('investigate')).toMatchObject({ status: 'True' });
  expect(task.status?.run?.answer).toMatch(scenario('investigate').answer ?? /./);
  expect(task.status?.run?.artifacts?.map(({ name }) => name)).toContain('answer.md');
}, 1_000_000);

test('a rename that green tests cannot prove is reviewed by a person', async () => {
  const waiting = await fleet.until('rename', 'awaits a review', 240, ({ status }) => status?.run?.pendingApproval !== undefined);
  const pending = waiting.status?.run?.pendingApproval;
  expect(pending?.evidence).toMatch(/surface/);
  const { username } = (await fleet.kubectl.json<{ status: { userInfo: { username: string } } }>(['auth', 'whoami'])).status.userInfo;
  const spec = { taskRef: { name: 'rename' }, type: 'Approve', action: pending?.action, requester: username };
  await fleet.apply('AgentTaskOrder', 'approve-rename', spec);
  const task = await fleet.finished('rename', 240);
  expect(condition(task, 'Succeeded'), await fleet.explain('rename')).toMatchObject({ status: 'True' });
  expect(task.status?.run?.patch).toMatch(/^\+def surface/m);
}, 1_000_000);
