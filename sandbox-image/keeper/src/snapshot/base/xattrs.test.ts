import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { CasEngine } from '../cas/casEngine.ts';
import { Program } from './program.ts';
import { clearByRunner, setMetaByRunner, decodeXattrs, encodeXattrs, xattrsByRunner, type XattrAccess } from './xattrs.ts';
import { Harness } from '../testing/harness.ts';
import { runScript, unpackBundle } from '../testing/revertTrip.ts';
import { buildRunner } from '../testing/runner.ts';

const runner = buildRunner();
const access = xattrsByRunner(new Program(runner?.binary ?? ''));
const hasSetfattr = spawnSync('setfattr', ['--version']).status === 0;
afterAll(() => runner?.remove());

let h: Harness;
beforeEach(() => {
  h = new Harness();
});
afterEach(() => h.dispose());

function open(xattrs: XattrAccess = access): Promise<CasEngine> {
  const program = new Program(runner?.binary ?? '');
  return h.engine({ setMeta: setMetaByRunner(program), clear: clearByRunner(program), xattrs, clock: { now: () => Date.now() + 60_000 } });
}

/** Sets the attributes of a path in the workspace to exactly these. */
async function set(name: string, attributes: Readonly<Record<string, string>>): Promise<void> {
  const text = encodeXattrs(Object.entries(attributes).map(([key, value]) => ({ name: key, value: Buffer.from(value) })));
  await access.set(h.workspace, [{ path: Buffer.from(name), text }]);
}

/** Returns the runner's report of paths in the workspace; its own tests compare it with the system calls. */
async function reported(...names: string[]): Promise<string[]> {
  const reader = access.read(h.workspace, 1 << 20);
  for (const name of names) reader.ask(name);
  return (await reader.answers()).map(({ path, text }) => {
    const pairs = decodeXattrs(text).map(({ name, value }) => `${name}=${value.toString('latin1')}`);
    return `${path} ${pairs.join(' ')}`;
  });
}

function write(name: string, content: string): void {
  fs.writeFileSync(join(h.workspace, name), content);
}

test('the text of attributes is reversible for any bytes', () => {
  const odd = [
    { name: 'user.a=b,c %\xff\n', value: Buffer.from([0, 255, 10, 44, 61]) },
    { name: 'user.z', value: Buffer.alloc(0) },
  ];
  const text = encodeXattrs(odd);
  expect(text).toMatch(/^[!-~]+$/);
  expect(decodeXattrs(text)).toEqual(odd);
  expect(decodeXattrs('')).toEqual([]);
});

describe.skipIf(runner === null)('with the real runner', () => {
  test('a tree without attributes has the digest that it always had', async () => {
    write('a', 'x');
    fs.utimesSync(join(h.workspace, 'a'), 1, 1);
    fs.chmodSync(join(h.workspace, 'a'), 0o644);
    const sum = (text: string) => createHash('sha256').update(text).digest('hex');
    const digest = `sha256:${sum(`agentfleet-manifest/1\nf 0644 1 ${sum('x')} 1000000000 workspace/a -\n`)}`;
    expect((await (await open()).scan()).digest).toBe(digest);
  });

  test('attributes are set again, changed back and removed, also on what may not be written', async () => {
    for (const name of ['kept', 'edited', 'replaced', 'gone', 'plain', 'closed']) write(name, name);
    fs.mkdirSync(join(h.workspace, 'dir'));
    fs.linkSync(join(h.workspace, 'kept'), join(h.workspace, 'dir', 'second name'));
    await set('kept', { 'user.a': '1' });
    await set('edited', { 'user.a': '1', 'user.b': '\0\xff' });
    await set('replaced', { 'user.a': 'old' });
    await set('gone', { 'user.gone': '' });
    await set('dir', { 'user.dir': 'd' });
    await set('closed', { 'user.c': 'c' });
    fs.chmodSync(join(h.workspace, 'closed'), 0o4444);
    const paths = ['closed', 'dir', 'dir/second name', 'edited', 'gone', 'kept', 'plain', 'replaced'];
    const before = [...h.describe(), ...(await reported(...paths))];
    const engine = await open();
    const { manifestDigest } = await engine.take();
    await set('edited', { 'user.b': 'other', 'user.new': '1' });
    await set('plain', { 'user.new': '1' });
    await set('closed', {});
    write('replaced.new', 'other');
    fs.renameSync(join(h.workspace, 'replaced.new'), join(h.workspace, 'replaced'));
    for (const name of ['gone', 'dir/second name']) fs.rmSync(join(h.workspace, name));
    fs.rmdirSync(join(h.workspace, 'dir'));
    expect((await engine.scan()).digest).not.toBe(manifestDigest);
    expect(await engine.restore('s0001')).toMatchObject({ verified: true, manifestDigest });
    expect([...h.describe(), ...(await reported(...paths))]).toEqual(before);
  });

  test('a change of an attribute alone is a change, and is reported as one', async () => {
    write('a', 'x');
    const engine = await open();
    await engine.take();
    await set('a', { 'user.a': '1' });
    expect((await engine.diff('s0001', 'current')).entries).toMatchObject([{ path: 'workspace/a', op: 'M' }]);
    await engine.take();
    const [{ entries }] = [await engine.manifest('s0002')];
    expect(entries[0]?.line.split(' ')).toHaveLength(8);
    await engine.restore('s0001');
    expect(await reported('a')).toEqual([]);
    await (await open()).restore('s0002');
    expect(await reported('a')).toEqual(['a user.a=1']);
  });

  test('only changed files are read, also after a restart', async () => {
    for (const name of ['a', 'b', 'c']) write(name, name);
    await set('a', { 'user.a': '1' });
    await set('b', { 'user.b': '1' });
    const asked: string[] = [];
    const counting: XattrAccess = {
      ...access,
      read: (...args) => {
        const reader = access.read(...args);
        const ask = reader.ask.bind(reader);
        return Object.assign(reader, { ask: (path: string) => (asked.push(path), ask(path)) });
      },
    };
    const engine = await open(counting);
    const { manifestDigest } = await engine.take();
    expect(asked.splice(0)).toEqual(['a', 'b', 'c']);
    expect((await engine.take()).manifestDigest).toBe(manifestDigest);
    await engine.close();
    const again = await open(counting);
    expect((await again.take()).manifestDigest).toBe(manifestDigest);
    expect(asked).toEqual([]);
    await set('b', { 'user.b': '2' });
    expect((await again.take()).manifestDigest).not.toBe(manifestDigest);
    expect(asked).toEqual(['b']);
  });

  test('a reader that fails fails the snapshot, and none of its answers is used later', async () => {
    write('a', 'x');
    await set('a', { 'user.a': '1' });
    let broken = true;
    const engine = await open({
      ...access,
      read: (root, max) => (broken ? xattrsByRunner(new Program('/bin/false')) : access).read(root, max),
    });
    await expect(engine.take()).rejects.toMatchObject({ code: 'AF_SNAPSHOT_UNREADABLE' });
    broken = false;
    await engine.take();
    expect((await engine.manifest('s0001')).entries[0]?.xattrs).toBe('user.a=MQ==');
  });

  test('more attributes than can be held are refused by a take and undone by a restore', async () => {
    vi.spyOn(access, 'read').mockImplementation((root) => xattrsByRunner(new Program(runner?.binary ?? '')).read(root, 2000));
    for (let at = 0; at < 10; at++) write(`f${at}`, 'x');
    await set('f0', { 'user.mine': 'kept' });
    const engine = await open();
    await engine.take();
    for (let at = 0; at < 10; at++) await set(`f${at}`, { 'user.big': 'x'.repeat(1000) });
    await expect(engine.take()).rejects.toMatchObject({ code: 'AF_QUOTA_EXCEEDED' });
    expect((await engine.restore('s0001')).verified).toBe(true);
    vi.restoreAllMocks();
    expect(await reported('f0', 'f1')).toEqual(['f0 user.mine=kept']);
  });

  test('more attributes than the system lists are refused by a take and undone by a restore', async (context) => {
    const memory = fs.mkdtempSync('/dev/shm/af-xattrs-');
    context.onTestFinished(() => fs.rmSync(memory, { recursive: true, force: true }));
    fs.mkdirSync(join(memory, 'dir'));
    for (const name of ['dir/file', 'file', 'plain']) fs.writeFileSync(join(memory, name), name);
    const setMany = (name: string, count: number) => {
      const attributes = Array.from({ length: count }, (_, at) => ({
        name: `user.${String(at).padStart(249, '0')}`,
        value: Buffer.alloc(0),
      }));
      return access.set(memory, [{ path: Buffer.from(name), text: encodeXattrs(attributes) }]);
    };
    await setMany('file', 1).catch(() => context.skip('this kernel keeps no such attributes in memory'));
    const program = new Program(runner?.binary ?? '');
    const programs = { setMeta: setMetaByRunner(program), clear: clearByRunner(program), xattrs: access };
    const engine = await h.engine({ ...programs, roots: [{ name: 'memory', path: memory }] });
    const { manifestDigest } = await engine.take();
    for (const name of ['dir/file', 'dir', 'file']) await setMany(name, 300);
    await expect(engine.take()).rejects.toMatchObject({ code: 'AF_QUOTA_EXCEEDED' });
    expect(await engine.restore('s0001')).toMatchObject({ verified: true, manifestDigest });
  });

  test('POSIX ACLs are named as not captured; where many have them, their root is', async (context) => {
    const grant = (name: string) => spawnSync('setfacl', ['-m', 'u:12345:r', name], { cwd: h.workspace }).status;
    write('f0', 'x');
    if (grant('f0') !== 0) {
      console.warn('SKIPPED: no setfacl here, or a file system without ACLs');
      context.skip();
    }
    const engine = await open();
    expect((await engine.take()).skipped).toEqual([{ path: 'workspace/f0', kind: 'acl' }]);
    await engine.close();
    const again = await open();
    expect((await again.take()).skipped).toEqual([{ path: 'workspace/f0', kind: 'acl' }]);
    for (let at = 0; at < 70; at++) write(`f${at}`, 'x');
    execFileSync('sh', ['-c', 'setfacl -m u:12345:r f*'], { cwd: h.workspace });
    expect((await again.take()).skipped).toEqual([{ path: 'workspace', kind: 'acl' }]);
  });

  test('revert.sh sets them where setfattr is installed; elsewhere it reports that it does not', async (context) => {
    write('a', 'x');
    write('b', 'x');
    await set('a', { 'user.empty': '', 'user.bytes': "\0'\n", 'user.old': '1' });
    fs.chmodSync(join(h.workspace, 'a'), 0o444);
    const engine = await open();
    await engine.take();
    const before = await reported('a', 'b');
    await set('a', { 'user.bytes': 'other', 'user.new': '1' });
    await set('b', { 'user.new': '1' });
    const dir = await unpackBundle(h, engine, 's0001', 'current');
    const description = JSON.parse(fs.readFileSync(join(dir, 'description.json'), 'utf8')) as Record<string, unknown>;
    expect(description['irreversible']).toMatchObject([
      { path: 'workspace/a', kind: 'xattr' },
      { path: 'workspace/b', kind: 'xattr' },
    ]);
    const none = fs.mkdtempSync(join(h.dir, 'tools-'));
    for (const tool of [
      'sh',
      'cat',
      'chmod',
      'cp',
      'dirname',
      'ln',
      'mkdir',
      'mv',
      'readlink',
      'rm',
      'rmdir',
      'sha256sum',
      'stat',
      'touch',
    ])
      fs.symlinkSync(execFileSync('sh', ['-c', `command -v ${tool}`], { encoding: 'utf8' }).trim(), join(none, tool));
    const without = runScript({ command: ['/bin/sh'], path: none, exactTimes: true }, join(dir, 'revert.sh'));
    expect(without).toMatchObject({ status: 0 });
    expect(without.output).toContain('there is no setfattr here');
    if (!hasSetfattr) {
      console.warn('SKIPPED: no setfattr here');
      context.skip();
    }
    const shell = { command: ['sh'], path: process.env['PATH'] ?? '/usr/bin:/bin', exactTimes: true };
    expect(runScript(shell, join(dir, 'revert.sh'))).toEqual({ status: 0, output: 'done and verified: 2 paths\n' });
    expect(await reported('a', 'b')).toEqual(before);
    expect(fs.statSync(join(h.workspace, 'a')).mode & 0o7777).toBe(0o444);
  });
});
