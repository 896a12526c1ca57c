import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AgentTaskSpec } from '@agentfleet/protocol/api';
import type { PoolBrief } from '@agentfleet/protocol/pool';
import type { Sandbox } from '../../hack/sandbox/index.ts';
import { AttemptBed, type Run } from './attemptBed.ts';
import { fakeRegistry, npmPackage, registryHost, type FakeRegistry } from './fakeRegistry.ts';
import { shell, useNamespace } from './harness.ts';

/** Set-up steps that install packages, through the way out and from a registry of this test. */
const bench = useNamespace('install');
let registry: FakeRegistry;
let bed: AttemptBed;
let npm: Awaited<ReturnType<typeof npmPackage>>;

beforeAll(async () => {
  registry = await fakeRegistry();
  [bed, npm] = await Promise.all([
    AttemptBed.open(undefined, { resolve: (name) => registry.resolve(name) }),
    npmPackage('halves', '1.0.0', 'export const half = (n) => n / 2;\n'),
  ]);
  const dist = { tarball: `${registry.url}halves/-/halves-1.0.0.tgz`, integrity: npm.integrity };
  const versions = { '1.0.0': { name: 'halves', version: '1.0.0', dist } };
  registry.serve('/halves', JSON.stringify({ name: 'halves', 'dist-tags': { latest: '1.0.0' }, versions }), 'application/json');
  registry.serve('/halves/-/halves-1.0.0.tgz', npm.archive);
});
afterAll(async () => {
  await bed[Symbol.asyncDispose]();
  await registry[Symbol.asyncDispose]();
});

/** Configured like a platform with its own registry. */
function pool(): Partial<PoolBrief> {
  const environment = {
    NPM_CONFIG_REGISTRY: registry.url,
    NPM_CONFIG_CAFILE: '/workspace/ca.crt',
    NPM_CONFIG_FETCH_RETRIES: '0',
    PIP_INDEX_URL: `${registry.url}simple/`,
    PIP_CERT: '/workspace/ca.crt',
    PIP_RETRIES: '0',
  };
  return { egress: { registries: [{ host: registryHost, port: registry.port }], environment } };
}

type Steps = readonly (readonly string[])[];

function spec(files: Readonly<Record<string, string>>, setup: Steps, check: readonly string[]): Partial<AgentTaskSpec> {
  const all = Object.entries({ 'ca.crt': registry.ca, ...files });
  return {
    goal: 'Nothing is to be done.',
    workspace: { type: 'Inline', inline: { files: all.map(([path, content]) => ({ path, content, mode: 0o644 })) } },
    setup: setup.map((command, at) => ({ name: `step-${at + 1}`, command, network: 'Registries', timeoutSeconds: 240 })),
    checks: [{ name: 'works', command: check, expect: 'Pass', timeoutSeconds: 240 }],
  } as unknown as Partial<AgentTaskSpec>;
}

/** A project with a lock, which names a place only where `resolved` is given. */
function project(integrity: string, resolved?: string): Readonly<Record<string, string>> {
  const own = { name: 'calc', version: '1.0.0', dependencies: { halves: '1.0.0' } };
  const locked = { version: '1.0.0', ...(resolved !== undefined && { resolved }), integrity };
  const lock = { ...own, lockfileVersion: 3, requires: true, packages: { '': own, 'node_modules/halves': locked } };
  return {
    'package.json': JSON.stringify({ ...own, type: 'module', scripts: { test: 'node --test' } }),
    'package-lock.json': JSON.stringify(lock),
    'calc.test.js': `import assert from 'node:assert/strict';
import test from 'node:test';
import { half } from 'halves';

test('half', () => assert.equal(half(8), 4));
`,
  };
}

async function attempt(sandbox: Sandbox, task: Partial<AgentTaskSpec>): Promise<{ readonly run: Run; readonly outcome: unknown }> {
  const run = bed.begin(sandbox, { spec: task, pool: pool() });
  return { run, outcome: await bed.engine.run(run.context) };
}

async function egressNotes(sandbox: Sandbox): Promise<readonly unknown[]> {
  const found: unknown[] = [];
  for await (const { type, body } of sandbox.clientWith({}).events())
    if (type === 'Noted' && body['kind'] === 'Egress') found.push(body['data']);
  return found;
}

test('npm ci installs the locked packages, and no snapshot holds its cache', { timeout: 360_000 }, async () => {
  const own = await bench.open();
  const { outcome } = await attempt(own, spec(project(npm.integrity), [['npm', 'ci']], ['npm', 'test']));
  expect(outcome).toMatchObject({ result: 'Succeeded', reason: 'AlreadyHolds', checks: [{ passed: 1, failed: 0 }] });
  expect(registry.asked).toEqual(expect.arrayContaining(['/halves', '/halves/-/halves-1.0.0.tgz']));
  expect((await shell(own, 'cat node_modules/halves/index.js')).stdout).toContain('half');
  expect((await shell(own, 'ls -A ~')).stdout).not.toContain('.npm');
  const { host, port } = { host: registryHost, port: registry.port };
  expect(await egressNotes(own)).toMatchObject([{ attempt: 1, mode: 'Registries', requests: [{ host, port, decision: 'Allowed' }] }]);
});

test('a package that differs from the lock is not installed', { timeout: 360_000 }, async () => {
  const own = await bench.open();
  const other = await npmPackage('halves', '1.0.0', 'export const half = () => 4;\n');
  const { outcome } = await attempt(own, spec(project(other.integrity), [['npm', 'ci']], ['npm', 'test']));
  expect(outcome).toMatchObject({ result: 'Failed', class: 'InvalidInput', reason: 'SetupFailed' });
  expect((outcome as { message: string }).message).toMatch(/EINTEGRITY/);
});

test('a lock that names another host gets nothing from it', { timeout: 360_000 }, async () => {
  const own = await bench.open();
  const elsewhere = `https://elsewhere.example:${registry.port}/halves/-/halves-1.0.0.tgz`;
  const { outcome } = await attempt(own, spec(project(npm.integrity, elsewhere), [['npm', 'ci']], ['npm', 'test']));
  expect(outcome).toMatchObject({ result: 'Failed', class: 'InvalidInput', reason: 'SetupFailed' });
  const requests = [expect.objectContaining({ host: 'elsewhere.example', decision: 'NotListed' })];
  expect(await egressNotes(own)).toMatchObject([{ requests: expect.arrayContaining(requests) as unknown }]);
});

/** Writes a wheel of one module: a zip with its metadata. */
const wheel = `import sys, zipfile
about = 'Metadata-Version: 2.1\\nName: halves\\nVersion: 1.0.0\\n'
kind = 'Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n'
with zipfile.ZipFile(sys.argv[1], 'w') as out:
    out.writestr('halves.py', 'def half(n):\\n    return n // 2\\n')
    out.writestr('halves-1.0.0.dist-info/METADATA', about)
    out.writestr('halves-1.0.0.dist-info/WHEEL', kind)
    out.writestr('halves-1.0.0.dist-info/RECORD', 'halves.py,,\\n')
`;

test.each([
  ['for the user', ['python3 -m pip install --user halves'], 'python3'],
  ['into an environment', ['python3 -m venv .venv', '.venv/bin/pip install halves'], '.venv/bin/python'],
])('pip installs %s, and no snapshot holds its cache', { timeout: 360_000 }, async (_, commands, python) => {
  const own = await bench.open();
  await own.client.writeFile('/home/agent/wheel.py', wheel);
  await shell(own, 'python3 ~/wheel.py ~/halves-1.0.0-py3-none-any.whl');
  const packed = await own.client.readFile('/home/agent/halves-1.0.0-py3-none-any.whl', 'Raw');
  registry.serve('/simple/halves/halves-1.0.0-py3-none-any.whl', packed);
  registry.serve('/simple/halves/', '<a href="halves-1.0.0-py3-none-any.whl">halves-1.0.0-py3-none-any.whl</a>', 'text/html');
  const check = [python, '-c', 'import halves; assert halves.half(8) == 4'];
  const setup = commands.map((command) => ['sh', '-c', command]);
  const { outcome } = await attempt(own, spec({ 'README.md': 'calc\n' }, setup, check));
  expect(outcome, JSON.stringify(outcome)).toMatchObject({ result: 'Succeeded', reason: 'AlreadyHolds' });
  expect((await shell(own, 'ls -A ~')).stdout).not.toContain('.cache');
});
