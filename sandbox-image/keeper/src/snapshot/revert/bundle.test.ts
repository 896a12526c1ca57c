import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { CasEngine } from '../cas/casEngine.ts';
import { Harness } from '../testing/harness.ts';
import { runScript, unpackBundle } from '../testing/revertTrip.ts';

const SHELL = { command: ['sh'], path: process.env['PATH'] ?? '/usr/bin:/bin', exactTimes: true };
let harness: Harness;
let engine: CasEngine;
let before: string[];

/** A tree with one file, changed to have an edited, a new and a deleted path. */
beforeEach(async () => {
  harness = new Harness();
  write('edited', 'one');
  fs.mkdirSync(at('gone'));
  write('gone/file', 'x');
  engine = await harness.engine();
  await engine.take();
  before = harness.describe();
  write('edited', 'two');
  fs.mkdirSync(at('made'));
  write('made/file', 'y');
  fs.rmSync(at('gone'), { recursive: true });
});
afterEach(() => harness.dispose());

function at(name: string): string {
  return join(harness.workspace, name);
}

function write(name: string, content: string): void {
  fs.writeFileSync(at(name), content);
}

async function revert(dir: string, ...args: string[]): Promise<{ status: number | null; output: string }> {
  return runScript(SHELL, join(dir, 'revert.sh'), args);
}

test('the description names operations and irreversible parts', async () => {
  execFileSync('mkfifo', [at('pipe')]);
  const dir = await unpackBundle(harness, engine, 's0001', 'current');
  const description = JSON.parse(fs.readFileSync(join(dir, 'description.json'), 'utf8')) as Record<string, unknown>;
  expect(description).toMatchObject({
    from: { snapshot: 's0001' },
    to: { snapshot: 'current' },
    roots: ['home', 'workspace'],
    ops: [{ op: 'M' }, { op: 'D' }, { op: 'D' }, { op: 'A' }, { op: 'A' }],
    irreversible: [{ path: 'workspace/pipe', kind: 'fifo' }],
  });
  expect((await revert(dir)).status).toBe(0);
  expect(harness.describe()).toEqual(before);
});

test('a dry run lists the operations and changes nothing', async () => {
  const dir = await unpackBundle(harness, engine, 's0001', 'current');
  const after = harness.describe();
  const { status, output } = await revert(dir, '--dry-run');
  expect(status).toBe(0);
  expect(output.split('\n').slice(0, 5)).toEqual([
    'M workspace/edited',
    'A workspace/gone',
    'A workspace/gone/file',
    'D workspace/made',
    'D workspace/made/file',
  ]);
  expect(harness.describe()).toEqual(after);
});

test.each([
  ['an edit', () => write('edited', 'mine'), 'edited'],
  ['a mode', () => fs.chmodSync(at('edited'), 0o600), 'edited'],
  ['a file in a directory that is to go', () => write('made/mine', 'z'), 'made'],
  ['a file where one is to come back', () => write('gone', 'z'), 'gone'],
  ['a symlink in place of a file', () => (fs.rmSync(at('edited')), fs.symlinkSync('x', at('edited'))), 'edited'],
])('%s made since is a conflict: exit 3, nothing changed; --force overwrites it', async (_, change, path) => {
  const dir = await unpackBundle(harness, engine, 's0001', 'current');
  change();
  const mine = harness.describe();
  const { status, output } = await revert(dir);
  expect(output).toContain(`conflict: ${path}`);
  expect(status).toBe(3);
  expect(harness.describe()).toEqual(mine);
  expect(await revert(dir, '--force')).toMatchObject({ status: 0 });
  expect(harness.describe()).toEqual(before);
});

test('a symlink that leads out of the root is never followed: exit 5', async () => {
  fs.mkdirSync(at('dir'));
  write('dir/file', 'inside');
  await engine.take();
  write('dir/file', 'changed');
  const dir = await unpackBundle(harness, engine, 's0002', 'current');
  const outside = fs.mkdtempSync(join(harness.dir, 'outside-'));
  fs.writeFileSync(join(outside, 'file'), 'changed');
  fs.rmSync(at('dir'), { recursive: true });
  fs.symlinkSync(outside, at('dir'));
  expect((await revert(dir)).status).toBe(3);
  expect((await revert(dir, '--force')).status).toBe(5);
  expect(fs.readFileSync(join(outside, 'file'), 'utf8')).toBe('changed');
});

test('a missing or damaged object is found before the first change: exit 4', async () => {
  const dir = await unpackBundle(harness, engine, 's0001', 'current');
  const after = harness.describe();
  for (const name of fs.readdirSync(join(dir, 'objects'))) fs.appendFileSync(join(dir, 'objects', name), '!');
  expect((await revert(dir)).status).toBe(4);
  expect(harness.describe()).toEqual(after);
});

test('another place can be named for a root', async () => {
  const dir = await unpackBundle(harness, engine, 's0001', 'current');
  const moved = join(harness.dir, "it's moved");
  fs.renameSync(harness.workspace, moved);
  fs.mkdirSync(harness.workspace);
  expect((await revert(dir, '--root', `workspace=${moved}`)).status).toBe(0);
  fs.rmdirSync(harness.workspace);
  fs.renameSync(moved, harness.workspace);
  expect(harness.describe()).toEqual(before);
  expect((await revert(dir, '--root', 'other=/')).status).toBe(2);
});

test('a root that is not there ends the script before anything is read', async () => {
  const dir = await unpackBundle(harness, engine, 's0001', 'current');
  const after = harness.describe();
  for (const mode of [[], ['--force'], ['--dry-run']]) {
    const { status, output } = await revert(dir, ...mode, '--root', `home=${join(harness.dir, 'nowhere')}`);
    expect(status).toBe(2);
    expect(output).toMatch(/nowhere/);
    expect(output).not.toMatch(/conflict|done/);
  }
  expect(harness.describe()).toEqual(after);
});

test('a root without a folder is left alone: neither guarded, changed nor counted', async () => {
  fs.writeFileSync(join(harness.home, 'kept'), 'one');
  await engine.take();
  const goal = harness.describe();
  write('edited', 'three');
  fs.writeFileSync(join(harness.home, 'kept'), 'two');
  fs.writeFileSync(join(harness.home, 'new'), 'x');
  fs.mkdirSync(join(harness.home, 'dir'));
  const dir = await unpackBundle(harness, engine, 's0002', 'current');
  fs.writeFileSync(join(harness.home, 'kept'), 'not as it was left');
  const home = harness.describe().filter((line) => / home/.test(line));
  expect(await revert(dir, '--root', 'home=', '--dry-run')).toEqual({ status: 0, output: 'M workspace/edited\n' });
  expect(await revert(dir)).toMatchObject({ status: 3 });
  expect(await revert(dir, '--root', 'home=')).toEqual({ status: 0, output: 'done and verified: 1 path\n' });
  expect(harness.describe()).toEqual([...goal.filter((line) => / workspace/.test(line)), ...home]);
  expect(await revert(dir, '--root', 'home=', '--force')).toMatchObject({ status: 0 });
  expect(harness.describe().filter((line) => / home/.test(line))).toEqual(home);
});

test('a script that is killed can be run again', { timeout: 60_000 }, async () => {
  for (let file = 0; file < 60; file++) write(`f${file}`, `old ${file}`);
  await engine.take();
  const goal = harness.describe();
  for (let file = 0; file < 60; file++) {
    if (file % 3 === 0) fs.rmSync(at(`f${file}`));
    else write(`f${file}`, `new ${file}`);
  }
  fs.mkdirSync(at('later/deep'), { recursive: true });
  const dir = await unpackBundle(harness, engine, 's0002', 'current');
  for (const after of ['0.05', '0.3', '0.5', '0.7']) spawnSync('timeout', ['-s', 'KILL', after, 'sh', join(dir, 'revert.sh')]);
  const { status, output } = await revert(dir);
  expect(output).toContain('done and verified');
  expect(status).toBe(0);
  expect(harness.describe()).toEqual(goal);
});

test('big objects are streamed, and a reader may stop early', async () => {
  fs.writeFileSync(at('big'), Buffer.alloc(40 * 1024 * 1024, 'big'));
  const stream = await engine.revertBundle('s0001', 'current');
  for await (const _ of stream) break;
  expect(stream.destroyed).toBe(true);
  const dir = await unpackBundle(harness, engine, 's0001', 'current');
  fs.truncateSync(at('big'), 1);
  expect(spawnSync('sh', [join(dir, 'redo.sh'), '--force']).status).toBe(0);
  expect(fs.statSync(at('big')).size).toBe(40 * 1024 * 1024);
});

test('the scripts please shellcheck', async (context) => {
  if (spawnSync('shellcheck', ['--version']).status !== 0) {
    console.warn('SKIPPED: no shellcheck here');
    context.skip();
  }
  const dir = await unpackBundle(harness, engine, 's0001', 'current');
  const { stdout } = spawnSync('shellcheck', ['-s', 'sh', join(dir, 'revert.sh'), join(dir, 'redo.sh')], { encoding: 'utf8' });
  expect(stdout).toBe('');
});
