import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { importWorkspace, type Imported } from '../import.ts';
import { importPlace, type FolderKeeper, type ImportPlace } from '../testing/folderKeeper.ts';
import { dialerTo, startGitServer, type GitServer } from '../testing/gitServer.ts';
import { TestRepository } from '../testing/repository.ts';

const run = promisify(execFile);

let dir: string;
let server: GitServer;
const commits: string[] = [];

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'git-'));
  const repository = await TestRepository.create(join(dir, 'root', 'team', 'app'));
  await repository.write('README', 'one\n');
  await repository.write('bin/run', '#!/bin/sh\n');
  await repository.git('update-index', '--add', '--chmod=+x', 'bin/run');
  await repository.write('lib/a.py', 'a = 1\n');
  await repository.write('lib/deep/b.bin', Buffer.from([0, 255, 10, 13]));
  await repository.git('config', 'core.fileMode', 'false');
  commits.push(await repository.commit('one'));
  await repository.git('tag', 'light');
  await repository.git('tag', '-a', 'v1', '-m', 'first');
  await repository.write('README', 'two\n');
  commits.push(await repository.commit('two'));
  await repository.git('branch', 'feature/x');
  await repository.write('README', 'three\n');
  commits.push(await repository.commit('three'));
  server = await startGitServer(dir, join(dir, 'root'));
});

afterAll(async () => {
  await server.close();
  await rm(dir, { recursive: true, force: true });
});

let place: string;
let keeper: FolderKeeper;
let ports: ImportPlace;

beforeEach(async () => {
  place = await mkdtemp(join(dir, 'import-'));
  ports = await importPlace(place, { authorities: server.authorities, dialer: dialerTo(server.origin) });
  ({ keeper } = ports);
});

afterEach(async () => {
  expect(await readdir(ports.scratch)).toEqual([]);
});

function start(ref: string, more: { subPath?: string; depth?: number } = {}): Promise<Imported> {
  return importWorkspace({ type: 'Git', git: { url: `${server.origin}/team/app/.git`, ref, ...more } }, ports);
}

const inWorkspace = async (...args: string[]): Promise<string> =>
  (await run('git', args, { cwd: keeper.folder, env: { PATH: process.env['PATH'], HOME: place, GIT_CONFIG_NOSYSTEM: '1' } })).stdout.trim();

describe('what is fetched', () => {
  test('a branch: the files, a clean repository on that branch, and its whole history', async () => {
    const imported = await start('main');
    expect(imported).toMatchObject({ commit: commits[2] });
    expect(await keeper.files()).toEqual({
      README: 'three\n',
      'bin/run': '#!/bin/sh\n',
      'lib/a.py': 'a = 1\n',
      'lib/deep/b.bin': Buffer.from([0, 255, 10, 13]).toString('utf8'),
    });
    expect((await stat(join(keeper.folder, 'bin/run'))).mode & 0o111).toBe(0o111);
    expect(await inWorkspace('status', '--porcelain', '--branch')).toBe('## main...origin/main');
    expect(await inWorkspace('log', '--format=%H')).toBe([...commits].reverse().join('\n'));
    expect(await inWorkspace('fsck', '--strict')).toBe('');
    expect(await inWorkspace('remote', 'get-url', 'origin')).toBe(`${server.origin}/team/app/.git`);
    await inWorkspace('-c', 'user.name=A', '-c', 'user.email=a@example.com', 'commit', '--quiet', '--allow-empty', '-m', 'goes on');
  });

  test('a branch with a slash, and only as deep as asked', async () => {
    await start('feature/x', { depth: 1 });
    expect(await inWorkspace('log', '--format=%H')).toBe(commits[1]);
    expect(await inWorkspace('status', '--porcelain', '--branch')).toBe('## feature/x...origin/feature/x');
  });

  test.each(['v1', 'light'])('the tag %s, detached', async (tag) => {
    const imported = await start(tag, { depth: 1 });
    expect(imported.commit).toBe(commits[0]);
    expect((await keeper.files())['README']).toBe('one\n');
    expect(await inWorkspace('describe', '--tags', '--exact-match')).toBe(tag);
    expect(await inWorkspace('status', '--porcelain')).toBe('');
  });

  test('a commit by its id', async () => {
    await start(commits[1] ?? '');
    expect(await inWorkspace('log', '--format=%H')).toBe([commits[1], commits[0]].join('\n'));
    expect(await inWorkspace('status', '--porcelain', '--branch')).toBe('## HEAD (no branch)');
  });

  test('one folder of it, without .git', async () => {
    const imported = await start('main', { subPath: 'lib' });
    expect(imported).toMatchObject({ files: 2, bytes: 10 });
    expect(Object.keys(await keeper.files())).toEqual(['a.py', 'deep/b.bin']);
    await expect(stat(join(keeper.folder, '.git'))).rejects.toThrow('ENOENT');
  });

  test('no state of the worker is in .git', async () => {
    await start('main');
    expect((await readdir(join(keeper.folder, '.git'))).sort()).toEqual([
      'HEAD',
      'config',
      'index',
      'info',
      'objects',
      'packed-refs',
      'refs',
    ]);
    const config = await readFile(join(keeper.folder, '.git/config'), 'utf8');
    for (const word of [place, 'sslCAInfo', 'hooks', 'askPass', 'extraHeader']) expect(config).not.toContain(word);
  });
});

describe('what is refused', () => {
  test.each([
    ['a ref that is not there', 'nowhere', {}, 'RefNotFound', 'no branch or tag has this name'],
    ['a short commit id', 'abcdef1', {}, 'RefNotFound', 'all of its 40 digits'],
    ['a commit that is not there', '0123456789012345678901234567890123456789', {}, 'RefNotFound', 'not our ref'],
    ['a folder that is not there', 'main', { subPath: 'no/where' }, 'SubPathNotFound', 'is not there'],
    ['a folder that is a file', 'main', { subPath: 'README' }, 'SubPathNotFound', 'is a file'],
  ])('%s', async (_, ref, more, reason, words) => {
    const failing = start(ref, more);
    await expect(failing).rejects.toMatchObject({ failureClass: 'InvalidInput', reason });
    await expect(failing).rejects.toThrow(words);
    expect(await keeper.files()).toEqual({});
  });

  test('a repository that is over the limit, by its files and by its history', async () => {
    await expect(importWorkspace(source('main', { subPath: 'lib' }), { ...ports, limitBytes: 9 })).rejects.toMatchObject({
      reason: 'WorkspaceTooLarge',
    });
    await expect(importWorkspace(source('main'), { ...ports, limitBytes: 100 })).rejects.toMatchObject({
      failureClass: 'InvalidInput',
      reason: 'WorkspaceTooLarge',
    });
  });

  test('nothing, when the worker has no git: that is not the fault of the task', async () => {
    await expect(importWorkspace(source('main'), { ...ports, git: '/nowhere/git' })).rejects.toMatchObject({
      failureClass: 'Infrastructure',
      reason: 'GitMissing',
    });
  });

  const source = (ref: string, more: { subPath?: string } = {}) => ({
    type: 'Git' as const,
    git: { url: `${server.origin}/team/app/.git`, ref, ...more },
  });
});
