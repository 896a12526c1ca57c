import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import { chmod, link, lstat, mkdir, mkdtemp, readdir, readFile, realpath, rm, stat, symlink, writeFile as put } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { Readable } from 'node:stream';
import { maxFileBytes } from '@agentfleet/protocol/keeper';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { KeeperError } from '../base/failure.ts';
import { openFile, StagedFiles, writeFile, type WriteOptions } from './index.ts';

let dir: string;
let root: string;
let home: string;
let roots: string[];
let options: WriteOptions;

beforeEach(async () => {
  dir = await realpath(await mkdtemp(join(tmpdir(), 'files-')));
  [root, home] = [join(dir, 'workspace'), join(dir, 'home')];
  roots = [root, home];
  for (const folder of [root, home, join(dir, 'outside'), join(root, 'sub')]) await mkdir(folder);
  await put(join(dir, 'outside', 'secret'), 'secret');
  await put(join(root, 'file'), 'content');
  const staged = await StagedFiles.open(join(dir, 'writes'), randomBytes);
  options = { mode: null, staged, beforeCommit: () => undefined };
});

afterEach(() => rm(dir, { recursive: true, force: true }));

const read = async (path: string): Promise<string> => (await buffer((await openFile(roots, path)).content)).toString();
const write = (path: string, text: string, more: Partial<WriteOptions> = {}) =>
  writeFile(roots, path, Readable.from([Buffer.from(text)]), { ...options, ...more });

it('whose folder becomes a link out of the roots at any moment of a read gives nothing from there', async () => {
  await put(join(root, 'sub', 'secret'), 'ours');
  const swap = (to: string): void => {
    fs.rmSync(join(root, 'was'), { recursive: true, force: true });
    fs.renameSync(join(root, 'sub'), join(root, 'was'));
    if (to === 'link') fs.symlinkSync(join(dir, 'outside'), join(root, 'sub'));
    else fs.mkdirSync(join(root, 'sub'));
  };
  for (let round = 0; round < 600; round += 1) {
    const reading = read(join(root, 'sub', 'secret')).catch(() => null);
    // One stat takes about as long as each step of the read: the swap moves through all of them.
    for (let step = 0; step < round % 12; step += 1) await stat(root);
    swap('link');
    expect([null, 'ours']).toContain(await reading);
    swap('folder');
    await put(join(root, 'sub', 'secret'), 'ours');
  }
});

describe('a path', () => {
  it.each<[string, (r: string) => string]>([
    ['that climbs out', (r) => `${r}/../outside/secret`],
    ['that climbs out further', (r) => `${r}/sub/../../../../../../etc/passwd`],
    ['of a folder whose name begins like a root', (r) => `${r}-other/x`],
    ['of the system', () => '/etc/passwd'],
    ['of a root itself', (r) => r],
    ['of a root itself with a slash', (r) => `${r}/`],
    ['of a root by dots', (r) => `${r}/sub/..`],
  ])('%s is outside', async (_what, path) => {
    await expect(read(path(root))).rejects.toMatchObject({ code: 'AF_PATH_OUTSIDE_ROOTS' });
    await expect(write(path(root), 'x')).rejects.toMatchObject({ code: 'AF_PATH_OUTSIDE_ROOTS' });
  });

  it('with dots that stays inside is inside', async () => {
    expect(await read(`${root}/./sub/..//file`)).toBe('content');
  });

  it.each<[string, () => string]>([
    ['absolute', () => join(dir, 'outside')],
    ['relative', () => '../outside'],
    ['to /', () => '/'],
    ['to /proc/self/root', () => `/proc/self/root${dir}/outside`],
  ])('through a folder link that leads outside (%s) is refused', async (_what, target) => {
    await symlink(target(), join(root, 'out'));
    await expect(read(join(root, 'out', 'secret'))).rejects.toMatchObject({ code: expect.stringMatching(/OUTSIDE|NOT_FOUND/) as string });
    await expect(write(join(root, 'out', 'planted'), 'x')).rejects.toMatchObject({ code: 'AF_PATH_OUTSIDE_ROOTS' });
    await expect(write(join(root, 'out', 'deep', 'planted'), 'x')).rejects.toMatchObject({ code: 'AF_PATH_OUTSIDE_ROOTS' });
    expect(await readdir(join(dir, 'outside'))).toEqual(['secret']);
  });

  it('through a chain of links is judged by where it ends', async () => {
    await symlink(join(root, 'b'), join(root, 'a'));
    await symlink(join(dir, 'outside'), join(root, 'b'));
    await symlink(home, join(root, 'c'));
    await put(join(home, 'h'), 'home');
    await expect(read(join(root, 'a', 'secret'))).rejects.toMatchObject({ code: 'AF_PATH_OUTSIDE_ROOTS' });
    expect(await read(join(root, 'c', 'h'))).toBe('home');
    expect((await write(join(root, 'c', 'new', 'f'), 'x')).path).toBe(join(home, 'new', 'f'));
  });

  it('through a loop, a dangling link or a file is refused, without a hang', async () => {
    await symlink('loop', join(root, 'loop'));
    await symlink('nowhere', join(root, 'dangling'));
    await expect(read(join(root, 'loop', 'x'))).rejects.toMatchObject({ code: 'AF_FILE_NOT_FOUND' });
    await expect(write(join(root, 'dangling', 'x'), 'y')).rejects.toMatchObject({ code: 'AF_FILE_NOT_FOUND' });
    await expect(read(join(root, 'file', 'x'))).rejects.toMatchObject({ code: 'AF_FILE_NOT_REGULAR' });
  });

  it('whose last part is a link is judged by where that leads', async () => {
    await symlink(join(dir, 'outside', 'secret'), join(root, 'evil'));
    await symlink('file', join(root, 'good'));
    await symlink(home, join(root, 'folder'));
    await expect(read(join(root, 'evil'))).rejects.toMatchObject({ code: 'AF_PATH_OUTSIDE_ROOTS' });
    await expect(write(join(root, 'evil'), 'x')).rejects.toMatchObject({ code: 'AF_PATH_OUTSIDE_ROOTS' });
    expect(await readFile(join(dir, 'outside', 'secret'), 'utf8')).toBe('secret');
    await expect(read(join(root, 'folder'))).rejects.toMatchObject({ code: 'AF_FILE_NOT_REGULAR' });
    await expect(write(join(root, 'folder'), 'x')).rejects.toMatchObject({ code: 'AF_FILE_NOT_REGULAR' });
    expect(await read(join(root, 'good'))).toBe('content');
    await write(join(root, 'good'), 'changed');
    expect(await readFile(join(root, 'file'), 'utf8')).toBe('changed');
    expect((await lstat(join(root, 'good'))).isSymbolicLink()).toBe(true);
  });

  it('with a NUL character is invalid', async () => {
    await expect(read(`${root}/a\0b`)).rejects.toMatchObject({ code: 'AF_INVALID' });
  });
});

describe('reading', () => {
  it('refuses a missing file, a folder, and a fifo without a writer', async () => {
    execFileSync('mkfifo', [join(root, 'fifo')]);
    await expect(read(join(root, 'none'))).rejects.toMatchObject({ code: 'AF_FILE_NOT_FOUND' });
    await expect(read(join(root, 'none', 'none'))).rejects.toMatchObject({ code: 'AF_FILE_NOT_FOUND' });
    await expect(read(join(root, 'sub'))).rejects.toMatchObject({ code: 'AF_FILE_NOT_REGULAR' });
    await expect(read(join(root, 'fifo'))).rejects.toMatchObject({ code: 'AF_FILE_NOT_REGULAR' });
  });

  it('gives an empty file as empty, and refuses one over the limit', async () => {
    await put(join(root, 'empty'), '');
    expect(await read(join(root, 'empty'))).toBe('');
    execFileSync('truncate', ['-s', String(maxFileBytes + 1), join(root, 'large')]);
    await expect(read(join(root, 'large'))).rejects.toMatchObject({ code: 'AF_TOO_LARGE' });
  });
});

describe('writing', () => {
  it('makes folders, reports what it wrote, and leaves no other file', async () => {
    const written = await write(join(root, 'a', 'b', 'c'), 'hello');
    expect(written).toEqual({
      path: join(root, 'a', 'b', 'c'),
      bytes: 5,
      created: true,
      sha256: '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824',
    });
    expect(await readdir(join(root, 'a', 'b'))).toEqual(['c']);
    expect((await stat(join(root, 'a', 'b', 'c'))).mode & 0o777).toBe(0o644);
  });

  it('keeps the mode of the replaced file, or sets the requested one', async () => {
    await chmod(join(root, 'file'), 0o750);
    expect((await write(join(root, 'file'), 'new')).created).toBe(false);
    expect((await stat(join(root, 'file'))).mode & 0o777).toBe(0o750);
    await write(join(root, 'file'), 'new', { mode: 0o600 });
    expect((await stat(join(root, 'file'))).mode & 0o777).toBe(0o600);
  });

  it('does not write through a hard link', async () => {
    await link(join(dir, 'outside', 'secret'), join(root, 'hard'));
    await write(join(root, 'hard'), 'changed');
    expect(await readFile(join(dir, 'outside', 'secret'), 'utf8')).toBe('secret');
  });

  it('leaves the old content when the sender breaks off, is too long, or is fenced off at the end', async () => {
    const broken = Readable.from(
      (function* () {
        yield Buffer.from('half');
        throw new Error('gone');
      })(),
    );
    await expect(writeFile(roots, join(root, 'file'), broken, options)).rejects.toThrow('gone');
    const chunk = Buffer.alloc(8 * 1024 * 1024);
    const long = Readable.from(Array.from({ length: 9 }, () => chunk));
    await expect(writeFile(roots, join(root, 'file'), long, options)).rejects.toMatchObject({ code: 'AF_TOO_LARGE' });
    const fenced = () => {
      throw new KeeperError('AF_EPOCH_STALE', 'late');
    };
    await expect(write(join(root, 'file'), 'late', { beforeCommit: fenced })).rejects.toMatchObject({ code: 'AF_EPOCH_STALE' });
    expect(await readFile(join(root, 'file'), 'utf8')).toBe('content');
    expect((await readdir(root)).sort()).toEqual(['file', 'sub']);
    expect(await readdir(join(dir, 'writes'))).toEqual([]);
  });

  it('refuses to replace a folder', async () => {
    await expect(write(join(root, 'sub'), 'x')).rejects.toMatchObject({ code: 'AF_FILE_NOT_REGULAR' });
    expect((await lstat(join(root, 'sub'))).isDirectory()).toBe(true);
  });
});
