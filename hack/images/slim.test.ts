import { chmod, lstat, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { recipes, volatileFiles } from './recipes.ts';
import { slimRootfs, staysInRootfs } from './slim.ts';

const toolsDrop = recipes.tools.drop ?? [];

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'slim-'));
  await mkdir(join(root, 'usr/bin'), { recursive: true });
  await mkdir(join(root, 'usr/share/man/man1'), { recursive: true });
  await mkdir(join(root, 'tmp'));
  await writeFile(join(root, 'usr/bin/su'), '');
  await chmod(join(root, 'usr/bin/su'), 0o4755);
  await writeFile(join(root, 'usr/share/man/man1/su.1'), '');
  await symlink('usr/bin', join(root, 'bin'));
});
afterEach(() => rm(root, { recursive: true }));

test('dropped files take their emptied folders along', async () => {
  await slimRootfs(root, { drop: ['usr/share/man/**'] });
  expect((await readdir(join(root, 'usr'), { recursive: true })).sort()).toEqual(['bin', 'bin/su']);
  expect((await readdir(root)).sort()).toEqual(['bin', 'tmp', 'usr']);
});

test('no file keeps a set-user-id bit', async () => {
  await slimRootfs(root, { drop: [] });
  expect((await lstat(join(root, 'usr/bin/su'))).mode & 0o7777).toBe(0o755);
});

test('with a keep list all else is removed, also empty folders', async () => {
  await slimRootfs(root, { keep: ['bin'], drop: [] });
  expect(await readdir(root)).toEqual(['bin']);
});

test('dropped files do not stay although they are kept', () => {
  expect(staysInRootfs('etc/machine-id', { keep: ['etc/*'], drop: volatileFiles })).toBe(false);
});

test.each(['var/log/apt/history.log', 'etc/machine-id', 'var/cache/ldconfig/aux-cache', 'var/lib/dpkg/status', 'etc/resolv.conf'])(
  'the volatile file %s goes from all root file systems',
  (path) => {
    expect(staysInRootfs(path, { drop: volatileFiles })).toBe(false);
  },
);

test.each(['usr/bin/git', 'usr/lib/python3.13/http/server.py', 'usr/share/doc/git/copyright', 'usr/lib/git-core/git-remote-https'])(
  'tools keep %s',
  (path) => {
    expect(staysInRootfs(path, { drop: [...volatileFiles, ...toolsDrop] })).toBe(true);
  },
);

test.each(['usr/share/doc/git/changelog.gz', 'usr/share/doc/git/RelNotes/2.0.txt', 'usr/bin/dpkg-deb'])('tools lose %s', (path) => {
  expect(staysInRootfs(path, { drop: toolsDrop })).toBe(false);
});
