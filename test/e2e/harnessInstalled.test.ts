// The examples of agent programs as users apply them: each is installed from its public packages into the sandbox, through the way out.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { afterAll, expect, test } from 'vitest';
import { draDriverName } from '../../hack/cluster/index.ts';
import { machineEgress, pythonEgress } from '../../hack/demo/fleet/egress.ts';
import { startEnvironment } from '../../hack/environment/index.ts';
import { installFleet } from '../../hack/install/index.ts';
import { programNames, repository, solve, spoil } from '../programs/image.ts';
import type { Script } from '../programs/model.ts';
import { brokenPromises, condition, useFleet, type Fleet } from './fleet.ts';
import { apiOf, providerPool, startProvider } from './providerPod.ts';

/** They are two gigabytes from the registries of this machine: the long run installs them. */
const full = process.env['AGENTFLEET_FULL'] === '1';

/** The last one acts by the fleet's tools. */
const examples = [...programNames, 'opencode', 'claude-code-tools'] as const;
type Name = (typeof examples)[number];

const goals = { solved: 'Make the test of add pass.', failed: 'Make add right, whatever it takes.' } as const;
const scripts: readonly Script[] = [
  { goal: goals.solved, steps: solve },
  { goal: goals.failed, steps: spoil },
];
const values = { gpu: { driver: draDriverName, deviceClass: draDriverName } };
const certificate = '/workspace/ca.crt';
let authority: string | undefined;

/** The platform lists the registries of this machine; no other tasks run meanwhile. */
async function openRegistries(fleet: Fleet): Promise<void> {
  const [environment, npm, python] = await Promise.all([startEnvironment(), machineEgress(), pythonEgress(certificate)]);
  authority = python.authority;
  const egress = {
    registries: [...npm.registries, ...python.registries],
    environment: { ...npm.environment, ...python.environment },
  };
  await installFleet(environment, { namespace: fleet.system, values, egress });
  await startProvider(fleet, {
    program: join(import.meta.dirname, 'scriptedServer.ts'),
    files: { 'scripts.json': JSON.stringify(scripts) },
  });
}

const fleet = useFleet('installed', { before: openRegistries, alone: true });
afterAll(async () => installFleet(await startEnvironment(), { namespace: fleet.system, values }));

interface Pool {
  readonly spec: {
    readonly experts: readonly { readonly name: string; readonly engine: { readonly type: string; readonly api?: object } }[];
  };
}

/** Applies the pool of an example; only the model's address and the key's name are changed. */
async function poolOf(name: Name): Promise<void> {
  const { spec } = load(await readFile(join(import.meta.dirname, `../../examples/harness/${name}.yaml`), 'utf8')) as Pool;
  const experts = spec.experts.map((expert) =>
    expert.engine.api === undefined ? expert : { ...expert, engine: { ...expert.engine, api: apiOf(fleet) } },
  );
  await providerPool(fleet, name, { experts });
}

function submit(name: Name, end: keyof typeof goals): Promise<void> {
  const own = authority === undefined ? [] : [{ path: 'ca.crt', content: authority }];
  const budget = { wallSeconds: 3600 };
  return fleet.task(`${name}-${end}`, { files: [...repository.files, ...own] }, { poolRef: { name }, goal: goals[end], budget });
}

test.runIf(full).each(examples)(
  '%s is installed, solves a task, and one that it fails is rolled back',
  { timeout: 3_600_000 },
  async (name) => {
    await poolOf(name);
    await Promise.all([submit(name, 'solved'), submit(name, 'failed')]);
    const [solved, failed] = [await fleet.finished(`${name}-solved`, 900), await fleet.finished(`${name}-failed`, 900)];
    expect(condition(solved, 'Succeeded'), await fleet.explain(`${name}-solved`)).toMatchObject({ status: 'True' });
    expect(solved.status?.run?.patch).toMatch(/^\+ {4}return a \+ b$/m);
    expect(solved.status?.run?.usage?.tokensIn).toBeGreaterThanOrEqual(300);
    expect(condition(failed, 'Succeeded'), await fleet.explain(`${name}-failed`)).toMatchObject({ status: 'False' });
    expect(condition(failed, 'RolledBack')).toMatchObject({ status: 'True', reason: 'Restored' });
    const { run } = failed.status ?? {};
    expect(run?.rollback).toMatchObject({ verified: true, snapshot: run?.snapshots?.initial });
    expect([...brokenPromises(fleet, `${name}-solved`), ...brokenPromises(fleet, `${name}-failed`)]).toEqual([]);
  },
);
