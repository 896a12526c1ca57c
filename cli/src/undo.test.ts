import { createHash } from 'node:crypto';
import fs from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { Harness } from '@agentfleet/keeper/snapshot/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { extract, pack } from 'tar-stream';
import { ApiServer } from './testing/apiServer.ts';
import { fleet, type Said } from './testing/fleet.ts';

let harness: Harness;
let api: ApiServer;
let before: readonly string[];
let tar: string;

const at = (name: string): string => join(harness.workspace, name);
const put = (name: string, content: string): void => fs.writeFileSync(at(name), content);
const ofWorkspace = (): readonly string[] => harness.describe().filter((line) => / workspace/.test(line));

/** The artifacts of the task are these files as they are now. */
function store(contents: Readonly<Record<string, Buffer>>, run: Readonly<Record<string, unknown>> = {}): void {
  const artifacts = Object.entries(contents).map(([name, content]) => {
    const sha256 = createHash('sha256').update(content).digest('hex');
    return { name, uri: `s3://agents/one/${name}`, sha256, bytes: content.length };
  });
  api.addTask('one', { status: { phase: 'Succeeded', run: { artifacts, ...run } } });
}

async function bundle(): Promise<Buffer> {
  const engine = await harness.engine();
  before = ofWorkspace();
  await engine.take();
  put('edited', 'two');
  put('kept/file', 'two');
  fs.chmodSync(at('script'), 0o755);
  fs.rmSync(at('gone'), { recursive: true });
  fs.mkdirSync(at('made'));
  put("made/it's\nnew \u001b[2K", 'y');
  fs.rmSync(at('swapped'));
  fs.mkdirSync(at('swapped'));
  fs.writeFileSync(join(harness.home, 'cache'), 'of the agent');
  const push = { command: 'git push origin main', target: 'git push origin main', state: 'Done', why: '' } as const;
  const external = [
    { ...push, undo: 'git push origin 1234:refs/heads/main' },
    { ...push, target: 'curl https://example.com', undo: null, why: 'nothing is known that takes it back' },
    { ...push, target: 'long gone', state: 'Undone', undo: 'x' },
  ] as const;
  return buffer(await engine.revertBundle('s0001', 'current', external));
}

beforeEach(async () => {
  harness = new Harness();
  api = await ApiServer.start();
  put('edited', 'one');
  put('script', '#!/bin/sh');
  put('swapped', 'file');
  fs.mkdirSync(at('gone'));
  put('gone/file', 'x');
  fs.mkdirSync(at('kept'));
  put('kept/file', 'one');
  fs.writeFileSync(join(harness.home, 'cache'), 'before');
  const made = await bundle();
  tar = join(harness.dir, 'revert.tar');
  fs.writeFileSync(tar, made);
  store({ 'revert.tar': made });
});
afterEach(async () => {
  await api[Symbol.asyncDispose]();
  await harness.dispose();
});

const undo = (...more: readonly string[]): Promise<Said> =>
  fleet(api, ['undo', 'one', '--into', harness.workspace, '--file', tar, ...more]);

describe('fleet undo', () => {
  test('prints what it will do, does it, and leaves other roots alone', async () => {
    const home = fs.readFileSync(join(harness.home, 'cache'), 'utf8');
    const { code, out, err } = await undo();
    expect([code, err]).toEqual([0, '']);
    for (const line of [
      'from snapshot current back to s0001',
      'put back workspace/edited',
      'bring back workspace/gone/file',
      "remove workspace/made/it's%0Anew %1B[2K",
      'replace workspace/swapped',
      'left alone: 1 path in root home',
      'git push origin main: take it back in a clone with: git push origin 1234:refs/heads/main',
      'curl https://example.com: nothing is known that takes it back',
      'done and verified: 8 paths',
    ])
      expect(out).toContain(line);
    expect(out).not.toContain('\u001b');
    expect(out).not.toContain('long gone');
    expect(ofWorkspace()).toEqual(before);
    expect(fs.readFileSync(join(harness.home, 'cache'), 'utf8')).toBe(home);
    expect((await undo()).code).toBe(0);
  });

  test('works in a copy at another place, and in a folder for another root', async () => {
    const copy = join(harness.dir, "a copy, it's");
    fs.cpSync(harness.workspace, copy, { recursive: true, preserveTimestamps: true });
    const left = ofWorkspace();
    expect(await fleet(api, ['undo', 'one', '--into', copy, '--file', tar, '--root', `home=${harness.home}`])).toMatchObject({
      code: 0,
      err: '',
    });
    expect(fs.readFileSync(join(copy, 'edited'), 'utf8')).toBe('one');
    expect(fs.readFileSync(join(harness.home, 'cache'), 'utf8')).toBe('before');
    expect(ofWorkspace()).toEqual(left);
  });

  test('a dry run changes nothing', async () => {
    const left = ofWorkspace();
    const { code, out } = await undo('--mode', 'dry-run');
    expect(code).toBe(0);
    expect(out).toContain('nothing was changed');
    expect(out).toContain('never undone: effects outside of the roots');
    expect(ofWorkspace()).toEqual(left);
  });

  test('a path that is not as it was left is a conflict: 3, until it is forced', async () => {
    put('edited', 'mine');
    const left = ofWorkspace();
    for (const mode of ['guard', 'dry-run']) {
      const { code, out, err } = await undo('--mode', mode);
      expect(code).toBe(3);
      expect(out).toContain('conflict: edited');
      expect(out).not.toContain('--force');
      expect(err).toContain('nothing was changed. Look at them, then --mode force');
      expect(ofWorkspace()).toEqual(left);
    }
    const { code, out } = await undo('--mode', 'force');
    expect(code).toBe(0);
    expect(out).toContain('overwritten by --mode force:\n  conflict: edited');
    expect(ofWorkspace()).toEqual(before);
  });

  test('a symbolic link that leads out is 5, even when it is forced', async () => {
    const outside = fs.mkdtempSync(join(harness.dir, 'outside-'));
    fs.writeFileSync(join(outside, 'file'), 'two');
    fs.rmSync(at('kept'), { recursive: true });
    fs.symlinkSync(outside, at('kept'));
    expect((await undo()).code).toBe(3);
    const { code, err } = await undo('--mode', 'force');
    expect(code).toBe(5);
    expect(err).toContain('a symbolic link leads out of a path');
    expect(fs.readFileSync(join(outside, 'file'), 'utf8')).toBe('two');
  });

  test('runs nothing but the bundle that the status names', async () => {
    const left = ofWorkspace();
    fs.appendFileSync(tar, Buffer.alloc(512));
    const { code, err } = await undo();
    expect(code).toBe(1);
    expect(err).toMatch(/is not revert.tar of AgentTask one: it has \d+ bytes.*take the one at s3:\/\/agents\/one\/revert.tar/);
    expect(ofWorkspace()).toEqual(left);
    const same = fs.readFileSync(tar).subarray(0, -512);
    fs.writeFileSync(tar, same.with(600, (same[600] ?? 0) ^ 1));
    expect((await undo()).err).toContain('its sha256 is');
    expect(ofWorkspace()).toEqual(left);
  });

  test.each([
    ['../evil', 'file' as const],
    ['revert.sh', 'symlink' as const],
    ['objects/short', 'file' as const],
  ])('a bundle with %s (%s) is not unpacked', async (name, type) => {
    const made = pack();
    made.entry({ name, type, linkname: '/etc/passwd' }, '');
    made.finalize();
    const content = await buffer(made);
    fs.writeFileSync(tar, content);
    store({ 'revert.tar': content });
    expect(await undo()).toMatchObject({ code: 1, err: expect.stringContaining('which no keeper puts there') as string });
    expect(fs.existsSync(join(harness.dir, 'evil'))).toBe(false);
  });

  /** The bundle with one member changed, and a status with its hash. */
  async function forge(change: (name: string, content: Buffer) => Buffer): Promise<void> {
    const made = pack();
    for await (const entry of Readable.from([fs.readFileSync(tar)]).pipe(extract())) {
      const { name } = entry.header;
      made.entry({ name }, change(name, await buffer(entry)));
    }
    made.finalize();
    const content = await buffer(made);
    fs.writeFileSync(tar, content);
    store({ 'revert.tar': content });
  }

  test('a damaged object is 4 before the first change', async () => {
    await forge((name, content) => (name.startsWith('objects/') ? Buffer.concat([content, Buffer.from('!')]) : content));
    const left = ofWorkspace();
    const { code, out, err } = await undo();
    expect(code).toBe(4);
    expect(out).toMatch(/object [0-9a-f]{64} is missing or damaged; nothing was changed/);
    expect(err).toContain('does not verify');
    expect(ofWorkspace()).toEqual(left);
  });

  test.each<[string, (script: string) => string]>([
    ['that is another program', () => "#!/bin/sh\necho 'done and verified: 8 paths'\n"],
    ['with a line before', (script) => `#!/bin/sh\ntouch ../evil\n${script}`],
    ['with a line among the fixed ones', (script) => script.replace('\nusage() {\n', '\ntouch ../evil\nusage() {\n')],
    ['with a line in a phase', (script) => script.replace('\nmake_all() {\n', '\nmake_all() {\n  touch ../evil\n')],
    ['that expands a word', (script) => script.replace(/ {2}tell "\$ROOT_\w+" '/, '$&\'"$(touch ../evil)"\'')],
    ['that writes above its folder', (script) => script.replace(/(  put "\$ROOT_\w+" ')/, '$1../evil/')],
    ['that writes elsewhere', (script) => script.replace(/ {2}put "\$ROOT_\w+"/, "  put '/tmp'")],
    ['with other options', (script) => script.replace('MODE=guard COUNT=0', 'MODE=guard COUNT=$(touch ../evil)')],
  ])('a script %s is not run, not for a dry run either', async (_, change) => {
    await forge((name, content) => (name === 'revert.sh' ? Buffer.from(change(content.toString('latin1')), 'latin1') : content));
    const left = ofWorkspace();
    expect(await undo('--mode', 'dry-run')).toMatchObject({ code: 1, err: expect.stringContaining('it is not run') as string });
    expect(ofWorkspace()).toEqual(left);
  });

  const scripted = (change: (script: string) => string): Promise<void> =>
    forge((name, content) => (name === 'revert.sh' ? Buffer.from(change(content.toString('latin1')), 'latin1') : content));

  test('a script that only reports that it is done is not believed: 4', async () => {
    // Its phases are empty, but for the list.
    const emptied = (script: string, name: string): string =>
      script.replace(new RegExp(`(\\n${name}_all\\(\\) \\{\\n)[^]*?\\n\\}\\n\\n`), '$1  :\n}\n\n');
    await scripted((script) => ['guard', 'remove', 'make', 'place', 'perm', 'attr', 'time', 'close', 'check'].reduce(emptied, script));
    const { code, out } = await undo();
    expect(code).toBe(4);
    for (const wrong of ['workspace/script: its mode is 0755', 'workspace/gone/file: it is missing', 'workspace/made: it is still there'])
      expect(out).toContain(wrong);
    expect(out).not.toMatch(/^done/m);
  });

  test('a script that stops in the middle can be run again', async () => {
    await scripted((script) => script.replace('\nmake_all() {\n', `\nmake_all() {\n  perm "$ROOT_workspace" 'none' 00644\n`));
    expect(await undo()).toMatchObject({ code: 1, err: expect.stringContaining('run it again, it goes on where it stopped') as string });
  });

  test('reports what is missing before anything is done', async () => {
    const into = ['undo', 'one', '--file', tar, '--into'];
    expect((await fleet(api, [...into, join(harness.dir, 'none')])).err).toContain('correct --into');
    expect((await undo('--root', `home=${join(harness.dir, 'none')}`)).err).toContain('correct --root home');
    expect((await undo('--root', `other=${harness.dir}`)).err).toContain('had no root other; its roots: home, workspace');
    expect((await undo('--root', `workspace=${harness.dir}`)).err).toContain('leave --root workspace out');
    expect((await undo('--root', 'home=')).err).toContain('write NAME=FOLDER');
    expect((await undo('--mode', 'maybe')).err).toContain('Allowed choices are guard, force, dry-run');
    expect((await fleet(api, ['undo', 'one', '--into', harness.workspace])).err).toContain('revert.tar lies at s3://agents/one/revert.tar');
    store({});
    expect((await undo()).err).toContain('has no artifact revert.tar');
  });
});

describe('fleet diff', () => {
  const patch = '--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\u001b\n+b\n';
  const cut = `${patch.slice(0, 16)}\n… cut; the whole is the artifact change.patch\n`;

  test('prints the patch of the status as it is, and safely on a terminal', async () => {
    store({}, { patch });
    expect(await fleet(api, ['diff', 'one'])).toEqual({ code: 0, out: patch, err: '' });
    expect((await fleet(api, ['diff', 'one'], { terminal: true })).out).toContain(String.raw`-a\u{1b}`);
    store({}, { patch: '' });
    expect(await fleet(api, ['diff', 'one'])).toMatchObject({
      code: 0,
      out: '',
      err: expect.stringContaining('changed nothing') as string,
    });
  });

  test.each([[cut], [undefined]])('prints no part of a patch that is not whole: the artifact has it', async (shown) => {
    const file = join(harness.dir, 'change.patch');
    fs.writeFileSync(file, patch);
    store({ 'change.patch': Buffer.from(patch) }, shown === undefined ? {} : { patch: shown });
    expect(await fleet(api, ['diff', 'one'])).toMatchObject({
      code: 10,
      out: '',
      err: expect.stringContaining(
        'change.patch lies at s3://agents/one/change.patch; the cluster does not serve the results API',
      ) as string,
    });
    expect(await fleet(api, ['diff', 'one', '--file', file])).toEqual({ code: 0, out: patch, err: '' });
    fs.appendFileSync(file, '+more\n');
    expect(await fleet(api, ['diff', 'one', '--file', file])).toMatchObject({ code: 1, out: '' });
  });

  test('warns of a patch that the keeper cut', async () => {
    store({}, { patch: `${patch}# cut at 1048576 characters: 3 more changed paths\n` });
    expect((await fleet(api, ['diff', 'one'])).err).toContain('is not whole (cut at 1048576 characters: 3 more');
  });
});
