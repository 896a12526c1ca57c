import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@agentfleet/kube';
import { expect, it } from 'vitest';
import { prepare } from '../workspace/git/program.ts';
import { changedFiles } from './changes.ts';
import { writeCommit } from './commit.ts';
import type { ReadParts } from './changes.ts';

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

/** A manifest of a workspace with these files. */
function manifestOf(files: Readonly<Record<string, string>>): Buffer {
  const lines = Object.entries(files).map(([path, text]) => `f 0644 ${text.length} ${sha256(text)} 0 workspace/${path} -\n`);
  return Buffer.from(lines.join(''));
}

it('leaves out what the base ignores and does not track, also where the set-up made it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'commit-'));
  try {
    const [source, scratch] = [join(folder, 'source'), join(folder, 'scratch')];
    const git = (cwd: string, ...args: readonly string[]): string =>
      execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], { cwd, encoding: 'utf8' });
    mkdirSync(source);
    mkdirSync(scratch);
    git(source, 'init', '--quiet');
    const rules = 'build/\n.env\n*.log\n';
    for (const [name, text] of [
      ['.gitignore', rules],
      ['a.c', 'old\n'],
      ['kept.log', 'old\n'],
    ] as const)
      writeFileSync(join(source, name), text);
    git(source, 'add', '--force', '.');
    git(source, 'commit', '--quiet', '--message', 'base');
    git(folder, 'clone', '--quiet', '--bare', source, join(scratch, 'repository'));
    const proxy = { url: 'http://127.0.0.1:1', takeFault: () => undefined };
    const settings = { program: 'git', scratch, proxy, clock: systemClock, signal: new AbortController().signal };
    const repository = await prepare('https://example.com/x.git', { ...settings, limitBytes: 1e9, timeoutMs: 60_000 });

    const before = { '.gitignore': rules, 'a.c': 'old\n', 'kept.log': 'old\n', 'build/a.o': 'made', '.env': 'TOKEN=1\n' };
    const after = {
      ...before,
      'a.c': 'new\n',
      'kept.log': 'new\n',
      'build/a.o': 'again',
      '.env': 'TOKEN=2\n',
      'build/b.o': 'b',
      'b.c': 'b\n',
    };
    const contents = new Map(Object.values(after).map((text) => [sha256(text), Buffer.from(text)]));
    const read: ReadParts = (parts) =>
      Promise.resolve(
        Buffer.concat(
          parts.map(({ sha256: name, size, offset, length }) => {
            const head = Buffer.alloc(56);
            head.write(name, 'hex');
            for (const [n, value] of [size, offset, length].entries()) head.writeBigUInt64BE(BigInt(value), 32 + 8 * n);
            return Buffer.concat([head, contents.get(name)?.subarray(offset, offset + length) ?? Buffer.alloc(0)]);
          }),
        ),
      );
    const base = git(source, 'rev-parse', 'HEAD').trim();
    const files = changedFiles(manifestOf(before), manifestOf(after));
    const { commit } = await writeCommit(repository, { base, subPath: undefined, message: 'm\n', at: 1, files, read });
    const names = git(join(scratch, 'repository'), 'show', '--name-only', '--format=', commit ?? '');
    expect(names.trim().split('\n')).toEqual(['a.c', 'b.c', 'kept.log']);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
