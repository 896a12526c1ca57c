// A third-party agent program as the expert of a pool: mini-swe-agent in the image of the tools, its model a script.
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { up } from '../../hack/cluster/index.ts';
import { exampleOf, imageWithPrograms, programs, heldInTheMiddle, repository, solve, spoil } from '../programs/image.ts';
import type { Script } from '../programs/model.ts';
import { brokenPromises, condition, useFleet, type Fleet } from './fleet.ts';
import { apiOf, providerPool, startProvider } from './providerPod.ts';
import { followLog } from './viewer.ts';

const goals = {
  solved: 'Make the test of add pass.',
  failed: 'Make add right, whatever it takes.',
  'worker-dies': 'Repair add while its worker dies.',
  'gateway-dies': 'Repair add while its gateway dies.',
} as const;
type Name = keyof typeof goals;

const steps = { solved: solve, failed: spoil, 'worker-dies': heldInTheMiddle, 'gateway-dies': heldInTheMiddle } as const;
const scripts: readonly Script[] = (Object.keys(goals) as Name[]).map((name) => ({ goal: goals[name], steps: steps[name] }));

async function poolWithProgram(fleet: Fleet): Promise<void> {
  const files = { 'scripts.json': JSON.stringify(scripts) };
  const [image] = await Promise.all([
    up({ tier: 'node' }).then((cluster) => imageWithPrograms(cluster, ['mini-swe-agent'])),
    startProvider(fleet, { program: join(import.meta.dirname, 'scriptedServer.ts'), files }),
  ]);
  const { command, env = [] } = await exampleOf('mini-swe-agent');
  const harness = {
    command: command.map((word) => word.replace('/home/agent/.local', programs)),
    env: env.filter(({ name }) => name !== 'PYTHONUSERBASE'),
    api: 'Chat',
    model: 'llm',
    rounds: 1,
  };
  await providerPool(fleet, 'programs', {
    experts: [
      { name: 'program', role: 'Generalist', engine: { type: 'Harness', harness } },
      { name: 'llm', role: 'Specialist', engine: { type: 'OpenAI', api: apiOf(fleet) } },
    ],
    sandbox: { template: { image } },
  });
}

const fleet = useFleet('programs', { before: poolWithProgram });

const submit = (name: Name): Promise<void> => fleet.task(name, repository, { poolRef: { name: 'programs' }, goal: goals[name] });

/** Submits a task, and ends the pods of a component when its program waits for the model with a file half done. */
async function killWhileHeld(name: Name, component: 'gateway' | 'worker', before = (): Promise<void> => Promise.resolve()): Promise<void> {
  await submit(name);
  await expect
    .poll(async () => fleet.run('logs', 'provider'), { timeout: 240_000, interval: 500 })
    .toContain(`a request is held: ${goals[name]}`);
  await before();
  const now = ['--force', '--grace-period=0', '--wait=false'];
  await fleet.run('delete', 'pod', '-l', `agentfleet.dev/pool=programs,agentfleet.dev/component=${component}`, ...now);
}

async function traceOf(name: Name): Promise<string> {
  const { run } = (await fleet.finished(name, 300)).status ?? {};
  const uri = run?.artifacts?.find((artifact) => artifact.name === 'trace.ndjson')?.uri ?? '';
  return (await fleet.artifacts.get(uri)).toString('utf8');
}

test('its worker dies in the middle: the next one runs the round again on the tree before it', async () => {
  const log = { text: (): string => '', ended: Promise.resolve() };
  await killWhileHeld('worker-dies', 'worker', async () => {
    Object.assign(log, followLog(fleet, 'worker-dies'));
    // The program's output is readable while it runs.
    await expect.poll(log.text, { timeout: 45_000 }).toMatch(/program run 1 printed[^]*half\.txt/);
    expect(log.text()).not.toContain('its children ran');
  });
  await submit('solved');
  await submit('failed');
  const task = await fleet.finished('worker-dies', 300);
  expect(condition(task, 'Succeeded'), await fleet.explain('worker-dies')).toMatchObject({ status: 'True' });
  const { run } = task.status ?? {};
  expect(run?.patch).toMatch(/^\+ {4}return a \+ b$/m);
  expect(run?.patch).not.toContain('half');
  expect(
    (await traceOf('worker-dies')).split('\n').filter((line) => line.includes('minisweagent') || line.includes('/bin/mini')).length,
  ).toBeGreaterThan(1);
  expect(brokenPromises(fleet, 'worker-dies')).toEqual([]);
  await log.ended;
  // The commands that the program of the second worker ran, by their processes.
  expect(log.text()).toMatch(/its children ran[^]*child \+\S+ .*rm half\.txt/);
}, 1_500_000);

test('it solves a task, by its own model alone, and is paid for', async () => {
  const task = await fleet.finished('solved', 240);
  expect(condition(task, 'Succeeded'), await fleet.explain('solved')).toMatchObject({ status: 'True' });
  expect(condition(task, 'CommandsUnjudged')).toMatchObject({ status: 'True' });
  const { run } = task.status ?? {};
  expect(run?.patch).toMatch(/^\+ {4}return a \+ b$/m);
  expect(run?.usage?.tokensIn).toBeGreaterThanOrEqual(300);
  expect(Number(run?.usage?.cost)).toBeGreaterThan(0);
  expect(brokenPromises(fleet, 'solved')).toEqual([]);
}, 1_000_000);

test('an unsolved task is rolled back, and the hash proves it', async () => {
  const task = await fleet.finished('failed', 240);
  expect(condition(task, 'Succeeded'), await fleet.explain('failed')).toMatchObject({ status: 'False' });
  expect(condition(task, 'RolledBack')).toMatchObject({ status: 'True', reason: 'Restored' });
  const { run } = task.status ?? {};
  expect(run?.rollback).toMatchObject({ verified: true, snapshot: run?.snapshots?.initial });
}, 1_000_000);

test('its gateway dies in the middle: it asks again, or the attempt is made again', async () => {
  await killWhileHeld('gateway-dies', 'gateway');
  const task = await fleet.finished('gateway-dies', 300);
  expect(condition(task, 'Succeeded'), await fleet.explain('gateway-dies')).toMatchObject({ status: 'True' });
  const { run, attempts = [] } = task.status ?? {};
  expect(run?.patch).not.toContain('half');
  for (const { class: why } of attempts) if (why !== undefined) expect(why).toBe('Infrastructure');
}, 1_500_000);
