import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

/** The threat model names a test for each promise: it must be there. */
const root = fileURLToPath(new URL('../..', import.meta.url));
const page = readFileSync(`${root}docs/security/sandbox.md`, 'utf8');
const tracked = globSync('{agent-image,cli,eval,hack,inference-image,operator,protocol,sandbox-image,test}/**/*', {
  cwd: root,
  exclude: (path) => path.endsWith('node_modules'),
});
const goTests = tracked
  .filter((path) => /^sandbox-image\/runner\/.*_test\.go$/.test(path))
  .flatMap((path) => [...readFileSync(`${root}${path}`, 'utf8').matchAll(/^func (Test\w+)\(/gm)].map(([, name]) => name ?? ''));

/** Cells of the tables below a heading, less the header rows. */
function rows(from: string, to: string): readonly (readonly string[])[] {
  const part = page.slice(page.indexOf(from), page.indexOf(to));
  const lines = part.split('\n').filter((line) => line.startsWith('| '));
  const cells = lines.map((line) =>
    line
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
  return cells.filter(([first = '']) => !/^(?:-+|Promise|Input|Attempt)$/.test(first));
}

const guarantees = rows('## Guarantees', '### Bad input').map(([what = '', tests = '']) => ({ what, tests }));
const inputs = rows('### Bad input', '## What was tried').map(([what = '', , tests = '']) => ({ what, tests }));
const tried = rows('## What was tried', '## Known limits').map(([what = '', , tests = '']) => ({ what, tests }));
const names = new Set(tracked.map((path) => basename(path)));

/** Words in backticks that name no test that is there. */
function missing(tests: string): readonly string[] {
  const words = [...tests.matchAll(/`([^`]+)`/g)].map(([, word = '']) => word).filter((word) => !word.includes('='));
  return words.filter((word) => {
    if (/^Test\w+…?$/.test(word)) return !goTests.some((name) => (word.endsWith('…') ? name.startsWith(word.slice(0, -1)) : name === word));
    if (/^\w+$/.test(word)) return !names.has(`${word}.test.ts`);
    if (word.includes('1…4')) return !names.has(word.replace('1…4', '4'));
    return !tracked.includes(word) && !names.has(word.replace(/^.*\//, ''));
  });
}

test('the tables are found', () => {
  expect([guarantees.length > 25, inputs.length, tried.length > 40]).toEqual([true, 12, true]);
});

test.each([...guarantees, ...inputs, ...tried])('the tests for "$what" exist', ({ tests }) => {
  expect(tests).not.toBe('');
  if (tests !== 'same') expect(missing(tests)).toEqual([]);
});
