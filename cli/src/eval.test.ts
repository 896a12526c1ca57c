import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { headFormat, recordFormat, type EvalRecord } from '@agentfleet/eval';
import { systemClock } from '@agentfleet/kube';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { run } from './run.ts';
import { ApiServer } from './testing/apiServer.ts';
import { fleet as fleetAt } from './testing/fleet.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fleet-eval-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function fleet(...args: readonly string[]): Promise<{ status: number; out: string; err: string }> {
  let [out, err] = ['', ''];
  const status = await run(['eval', ...args], {
    env: { AGENTFLEET_CHECKOUT: join(import.meta.dirname, '../..') },
    clock: systemClock,
    random: () => 0.5,
    terminal: false,
    signal: new AbortController().signal,
    out: (text) => (out += text),
    err: (text) => (err += text),
  });
  return { status, out, err };
}

const usage = { tokensIn: 0, tokensOut: 0, toolCalls: 1, cpuMillis: 1, candidates: 2, vetoes: 0, backtracks: 0 };
const record = (task: string, variant: string, right: boolean): EvalRecord => ({
  format: recordFormat,
  task,
  variant,
  seed: 1,
  round: 1,
  pack: 'mini',
  packDigest: 'sha256:p',
  variantDigest: 'sha256:v',
  half: 'dev',
  kind: 'single',
  languages: ['python'],
  tags: [],
  result: 'Succeeded',
  reason: 'ChecksHold',
  message: '',
  hidden: right ? 'Passed' : 'Failed',
  tried: [],
  usage,
  wallSeconds: 1,
  degraded: [],
});

async function results(packDigest = 'sha256:p'): Promise<void> {
  const head = {
    format: headFormat,
    pool: 'local',
    seed: 1,
    packs: { mini: packDigest },
    variants: { full: 'sha256:a', '-EBM': 'sha256:b' },
  };
  const lines = [0, 1, 2, 3].flatMap((at) => [record(`mini/t${at}`, 'full', true), record(`mini/t${at}`, '-EBM', at === 0)]);
  await writeFile(join(folder, 'results.jsonl'), [head, ...lines].map((line) => `${JSON.stringify(line)}\n`).join(''));
}

describe('fleet eval compare', () => {
  test('compares two variants of a folder', async () => {
    await results();
    const { status, out } = await fleet('compare', folder, `${folder}:-EBM`);
    expect(status).toBe(0);
    expect(out).toMatch(/:-EBM with .*\s4\s+3\s+0\s+0\.250\s+–\s+-75\.0 /);
  });

  test('refuses variants that are not there and results that are none', async () => {
    await results();
    expect(await fleet('compare', folder, `${folder}:K4`)).toMatchObject({
      status: 1,
      err: expect.stringMatching(/has no variant K4; it has full, -EBM/) as string,
    });
    expect((await fleet('compare', folder, join(folder, 'gone'))).err).toMatch(/there are no results in/);
  });
});

test('fleet eval report writes the reports anew', async () => {
  await results();
  const { status, out } = await fleet('report', folder);
  expect(status).toBe(0);
  expect(out).toMatch(/mini\s+full\s+4\s+100\.0 %/);
  expect(await readFile(join(folder, 'junit.xml'), 'utf8')).toContain('failures="3"');
});

describe('fleet eval run', () => {
  test.each<[string, readonly string[], RegExp]>([
    ['an ablation that nothing obeys', ['run', 'repair', '--ablate', 'Memory'], /Memory cannot be ablated/],
    ['profiles of no cluster', ['run', 'repair', '--profiles', 'deep'], /--profiles are those of a pool of a cluster/],
    ['a pack that is none', ['run', './nowhere'], /is no pack/],
    ['a pack by a wrong name', ['run', 'code-smal'], /is no pack: it has no pack\.json; beside it are .*code-small, .*long/],
    ['a half that is none', ['run', 'repair', '--split', 'sealed'], /Allowed choices are dev, held-out/],
    ['no number', ['run', 'repair', '--sample', 'some'], /write a whole number from 1/],
    ['a sealed pack', ['judge', 'repair'], /repair is no pack of judgements/],
  ])('refuses %s', async (_, args, message) => {
    const { status, err } = await fleet(...args, '--out', folder);
    expect(status).toBe(1);
    expect(err).toMatch(message);
  });
});

describe('fleet eval run in a pool of a cluster', () => {
  const pool = ['eval', 'run', 'repair', '--pool', 'pools/coding'];
  const allowing = (names: string) => ({
    metadata: { name: 'coding', annotations: { 'agentfleet.dev/allowed-ablations': names } },
    spec: {},
  });

  test('refuses an ablation that the pool does not allow before it makes a task', async () => {
    await using api = await ApiServer.start();
    api.refuse = ({ path }) => (path.endsWith('/expertpools/coding') ? { code: 200, body: allowing('HRM') } : undefined);
    const { code, err } = await fleetAt(api, [...pool, '--ablate', 'HRM,EBM', '--out', folder]);
    expect(code).toBe(1);
    expect(err).toMatch(
      /pools\/coding: the pool does not allow its tasks the ablation EBM; name it in the annotation agentfleet\.dev\/allowed-abl/,
    );
    expect(api.seen.every(({ method }) => method === 'GET')).toBe(true);
  });

  test('does not mix ablations and profiles', async () => {
    await using api = await ApiServer.start();
    const { err } = await fleetAt(api, [...pool, '--ablate', 'HRM', '--profiles', 'deep', '--out', folder]);
    expect(err).toMatch(/--ablate and --profiles do not go together/);
  });
});

test('fleet eval report shows flakes, and a run that flakes above the budget fails', async () => {
  const head = { format: headFormat, pool: 'local', seed: 1, packs: { mini: 'sha256:p' }, variants: { full: 'sha256:a' } };
  const rounds = [0, 1, 2, 3].flatMap((at) => [1, 2].map((round) => ({ ...record(`mini/t${at}`, 'full', round === 1 || at > 0), round })));
  await writeFile(join(folder, 'results.jsonl'), [head, ...rounds].map((line) => `${JSON.stringify(line)}\n`).join(''));
  const { status, out, err } = await fleet('report', folder);
  expect(out).toMatch(/Flakes: 25\.0 % \(4\.6–69\.9\) of 4 repeated attempts, OVER the budget of 2\.0 %: mini\/t0/);
  expect(status).toBe(1);
  expect(err).toMatch(/the results cannot be relied on/);
});

/** A pack of two tasks, the second of which has this hidden check. */
async function writePack(hidden: string, version = '1.0.0'): Promise<void> {
  const manifest = { name: 'mini', version, licence: 'x', author: 'x', halves: { dev: ['sum'], 'held-out': [] } };
  const check = (command: string): string => `{ files: {}, command: [sh, -c, '${command}'] }`;
  const task = (id: string, command: string): string =>
    `{ id: ${id}, goal: Write., kind: operate, oracle: { script: touch done }, hidden: ${check(command)} }`;
  await writeFile(join(folder, 'pack.json'), JSON.stringify(manifest));
  await mkdir(join(folder, 'tasks'), { recursive: true });
  const tasks = `tasks: [${task('one', 'test -e done')}, ${task('two', hidden)}]`;
  await writeFile(join(folder, 'tasks', 'sum.yaml'), `language: shell\nfiles: {}\nvisible: ${check('test -e done')}\n${tasks}\n`);
}

test('fleet eval verify goes on with what was found sound, and takes nothing over that has changed', async () => {
  const verify = (...more: readonly string[]): ReturnType<typeof fleet> => fleet('verify', folder, '--out', join(folder, 'out'), ...more);
  await writePack('true');
  expect((await verify()).status).toBe(1);
  const refused = await verify('--resume');
  expect(refused.out).not.toMatch(/ok\s+mini\/sum\/one/);
  expect(refused.out).toMatch(/REFUSED\s+mini\/sum\/two[^]*2 tasks, 1 refused, 1 before/);
  await writePack('test -e done');
  const mended = await verify('--resume');
  expect(mended).toMatchObject({ status: 0, out: expect.stringMatching(/ok\s+mini\/sum\/two[^]*2 tasks, 0 refused, 1 before/) as string });
  await writePack('test -f done');
  expect((await verify('--resume')).out).toMatch(/ok\s+mini\/sum\/two[^]*2 tasks, 0 refused, 1 before/);
  expect((await verify('--resume')).out).toMatch(/2 tasks, 0 refused, 2 before/);
  expect((await verify()).out).toMatch(/2 tasks, 0 refused$/m);
  const kept = JSON.parse(await readFile(join(folder, 'out', 'verify.json'), 'utf8')) as object;
  expect(kept).toMatchObject({ tasks: 2, oracles: 2, noOps: 0, refused: [] });
});

test('fleet eval verify refuses a task whose check always passes', async () => {
  const manifest = { name: 'mini', version: '1.0.0', licence: 'x', author: 'x', halves: { dev: ['sum'], 'held-out': [] } };
  const check = (command: string): string => `{ files: {}, command: [sh, -c, '${command}'] }`;
  await writeFile(join(folder, 'pack.json'), JSON.stringify(manifest));
  const task = 'tasks: [{ id: one, goal: Write., kind: operate, oracle: { script: touch done } }]';
  await mkdir(join(folder, 'tasks'));
  await writeFile(
    join(folder, 'tasks', 'sum.yaml'),
    `language: shell\nfiles: {}\nvisible: ${check('test -e done')}\nhidden: ${check('true')}\n${task}\n`,
  );
  const { status, out, err } = await fleet('verify', folder, '--out', join(folder, 'out'));
  const kept = JSON.parse(await readFile(join(folder, 'out', 'verify.json'), 'utf8')) as object;
  expect(kept).toMatchObject({ tasks: 1, oracles: 1, noOps: 1, refused: [{ id: 'mini/sum/one' }] });
  expect(status).toBe(1);
  expect(out).toMatch(/REFUSED\s+mini\/sum\/one[^]*the no-op passes its hidden check/);
  expect(err).toMatch(/1 tasks are refused/);
});
