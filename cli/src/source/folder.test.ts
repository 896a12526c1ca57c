import { execFileSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { repositoryOf, workspaceOf } from './folder.ts';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fleet-source-'));
});
afterEach(() => rm(folder, { recursive: true }));

const git = (...args: readonly string[]): string =>
  execFileSync('git', ['-C', folder, '-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], { encoding: 'utf8' }).trim();

async function many(): Promise<void> {
  for (let at = 0; at < 70; at++) await writeFile(join(folder, `f${at}`), 'x');
}

describe('the workspace of a folder', () => {
  test('is its files, without what git ignores and what was installed', async () => {
    await mkdir(join(folder, 'node_modules'));
    await mkdir(join(folder, 'src'));
    await writeFile(join(folder, 'node_modules', 'x.js'), '');
    await writeFile(join(folder, 'src', 'a.py'), 'é\n');
    await writeFile(join(folder, 'run.sh'), '#!/bin/sh\n');
    await chmod(join(folder, 'run.sh'), 0o755);
    const inline = {
      files: [
        { path: 'run.sh', content: '#!/bin/sh\n', mode: 0o755 },
        { path: 'src/a.py', content: 'é\n', mode: 0o644 },
      ],
    };
    expect(await workspaceOf(folder)).toEqual({ type: 'Inline', inline });
    git('init', '-q');
    await writeFile(join(folder, '.gitignore'), 'run.sh\n.gitignore\n');
    await writeFile(join(folder, 'src', '.env'), 'KEY=secret\n');
    expect(await workspaceOf(folder)).toEqual({ type: 'Inline', inline: { files: inline.files.slice(1) } });
  });

  test('is the commit that was pushed where there are too many', async () => {
    await many();
    git('init', '-q', '-b', 'main');
    git('add', '.');
    git('commit', '-qm', 'a');
    git('remote', 'add', 'origin', 'https://git.example.com/acme/shop');
    git('update-ref', 'refs/remotes/origin/main', 'HEAD');
    const ref = git('rev-parse', 'HEAD');
    expect(await workspaceOf(folder)).toEqual({ type: 'Git', git: { url: 'https://git.example.com/acme/shop', ref } });
    git('remote', 'set-url', 'origin', 'https://ann:secret@git.example.com/acme/shop');
    await expect(workspaceOf(folder)).rejects.toThrow(/its remote https:\/\/git\.example\.com\/acme\/shop is no https address without/);
    await writeFile(join(folder, 'f0'), 'y');
    await expect(workspaceOf(folder)).rejects.toThrow(/more than 64 files.*changes that are not committed.*commit and push/);
  });

  test('is the branch of its repository where the result goes back, and why it cannot be', async () => {
    const url = 'https://git.example.com/acme/shop.git';
    await writeFile(join(folder, 'a.py'), 'x = 1\n');
    await expect(repositoryOf(folder)).rejects.toThrow(/pull request from .* cannot be made \(it is no checkout.*commit and push/);
    git('init', '-q', '-b', 'main');
    git('add', '.');
    git('commit', '-qm', 'a');
    git('remote', 'add', 'origin', url);
    await expect(repositoryOf(folder)).rejects.toThrow(/its commit \w+ is not pushed/);
    git('update-ref', 'refs/remotes/origin/team/main', 'HEAD');
    git('symbolic-ref', 'refs/remotes/origin/HEAD', 'refs/remotes/origin/team/main');
    expect(await repositoryOf(folder)).toEqual({ type: 'Git', git: { url, ref: 'team/main' } });
    const ref = git('rev-parse', 'HEAD');
    git('commit', '-qm', 'b', '--allow-empty');
    git('update-ref', 'refs/remotes/origin/team/main', 'HEAD');
    git('checkout', '-q', ref);
    expect(await repositoryOf(folder)).toEqual({ type: 'Git', git: { url, ref } });
  });

  test.each<readonly [string, refs: readonly string[], upstream: string, head: string, expected: string]>([
    ['the branch that HEAD follows', ['origin/a', 'origin/main', 'bob/main'], 'origin/main', 'origin/a', 'origin main'],
    ['that of a fork which HEAD follows', ['origin/main', 'zoe/fix'], 'zoe/fix', 'origin/main', 'zoe fix'],
    ['the default branch of a remote', ['origin/develop', 'origin/main'], '', 'origin/main', 'origin main'],
    ['the default branch before the followed one that lies behind', ['origin/a', 'origin/main'], 'old/main', 'origin/main', 'origin main'],
    ['a branch of origin', ['bob/main', 'origin/main'], '', '', 'origin main'],
    ['one that can be had by https', ['a-fork/main', 'origin/main'], 'a-fork/main', '', 'origin main'],
  ])('is, of several branches with its commit, %s', async (_, refs, upstream, head, expected) => {
    git('init', '-q', '-b', 'main');
    git('commit', '-qm', 'a', '--allow-empty');
    for (const remote of ['bob', 'old', 'origin', 'zoe']) git('remote', 'add', remote, `https://git.example.com/${remote}/shop`);
    git('remote', 'add', 'a-fork', 'git@git.example.com:ann/shop');
    git('update-ref', 'refs/remotes/old/main', 'HEAD');
    if (upstream !== '') {
      git('update-ref', `refs/remotes/${upstream}`, 'HEAD');
      git('branch', `--set-upstream-to=${upstream}`, 'main');
    }
    git('commit', '-qm', 'b', '--allow-empty');
    for (const ref of refs) git('update-ref', `refs/remotes/${ref}`, 'HEAD');
    if (head !== '') git('symbolic-ref', 'refs/remotes/origin/HEAD', `refs/remotes/${head}`);
    const [remote = '', ref = ''] = expected.split(' ');
    expect(await repositoryOf(folder)).toEqual({ type: 'Git', git: { url: `https://git.example.com/${remote}/shop`, ref } });
  });

  test.each([
    ['many files', many, /more than 64 files.*no checkout/],
    [
      'a file of 2 GB',
      async () => {
        await writeFile(join(folder, 'a'), '');
        await truncate(join(folder, 'a'), 2 ** 31);
      },
      /a has 2147483648 bytes/,
    ],
    ['bytes', () => writeFile(join(folder, 'a.bin'), Buffer.from([0xff, 0xfe])), /a\.bin is not text/],
    ['a link', () => symlink('/etc/passwd', join(folder, 'l')), /l is no regular file/],
    ['nothing', () => Promise.resolve(), /has no files; correct --from/],
  ])('is refused with a cure: %s', async (_, make, message) => {
    await make();
    await expect(workspaceOf(folder)).rejects.toThrow(message);
  });

  test('a folder that is not there', () => expect(workspaceOf(join(folder, 'no'))).rejects.toThrow('correct --from'));
});
