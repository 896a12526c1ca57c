import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { isLeftOut } from './protected.ts';

const rules: Readonly<Record<string, string>> = {
  '.gitignore':
    '# a comment\n\n*.log\n!keep.log\n/top.txt\nbuild/\ndocs/*.html\n**/gen\nx/**/y\n\\#odd\n\\!odd\nend \\ \nspaces.txt   \n[ab].o\n[!ab].so\n{a,b}.tmp\n!(a).tmp\nlogs/**\n.env*\n!.env.example\n',
  'sub/.gitignore': '!*.log\n/only.txt\nlocal\r\n*.html\n!/docs/\n',
};
const paths =
  'a.log|keep.log|d/keep.log|sub/a.log|sub/d/a.log|top.txt|d/top.txt|build|build/a|d/build/a|docs/a.html|docs/d/a.html|d/docs/a.html|gen|a/gen/b|x/y|x/1/2/y|#odd|!odd|end  |spaces.txt|a.o|c.o|a.so|c.so|a.tmp|{a,b}.tmp|!(a).tmp|logs/a/b.log|logs|.env|.env.local|.env.example|d/.env|sub/only.txt|sub/d/only.txt|sub/local/a|sub/a.html|sub/docs/a.html|src/a.py|README.md'.split(
    '|',
  );

test('what is left out of a commit is what git ignores', () => {
  const folder = mkdtempSync(join(tmpdir(), 'ignored-'));
  try {
    const run = (args: readonly string[], input?: string): string =>
      execFileSync('git', ['-C', folder, '-c', 'core.excludesFile=/dev/null', ...args], {
        encoding: 'utf8',
        ...(input !== undefined && { input }),
      });
    run(['init', '-q']);
    for (const [path, text] of Object.entries(rules)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
    const ignored = new Set(run(['check-ignore', '-z', '--stdin'], `${paths.join('\0')}\0`).split('\0'));
    expect(paths.filter(isLeftOut(new Map(Object.entries(rules))))).toEqual(paths.filter((path) => ignored.has(path)));
    expect(ignored.size).toBeGreaterThan(15);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('a folder .git of something else is in no commit; of the repository its own is none of its files', () => {
  const leftOut = isLeftOut(new Map([['.gitignore', '*.lock\n']]));
  const inside = ['a/.git/x', '.GIT/x', 'a/.Git', '.git/index.lock', '.git/x', '.gitignore', '.github/a', 'a.git/b', 'yarn.lock'];
  expect(inside.filter(leftOut)).toEqual(['a/.git/x', '.GIT/x', 'a/.Git', 'yarn.lock']);
});

test('a pattern of many wildcards ends', () => {
  expect(isLeftOut(new Map([['.gitignore', `${'*a'.repeat(9)}b\n`]]))('a'.repeat(255))).toBe(false);
});
