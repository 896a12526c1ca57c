import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { assert, dictionary, property, string, stringMatching } from 'fast-check';
import { expect, test } from 'vitest';
import { changed, changesBetween, scriptOf } from './index.ts';

const tree = dictionary(stringMatching(/^[a-z]{1,3}$/), string(), { noNullPrototype: true });

test('the difference of two trees makes the one from the other', () => {
  assert(
    property(tree, tree, (from, to) => {
      expect(changed(from, changesBetween(from, to))).toEqual(to);
      expect(changesBetween(from, from)).toEqual({});
    }),
  );
});

test('a script writes a change, whatever the content', () => {
  const folder = mkdtempSync(join(tmpdir(), 'agentfleet-change-'));
  try {
    writeFileSync(join(folder, 'old'), 'x');
    const files = { "it's $HOME/a b": 'ü \\n "quoted" `echo`\n\n', old: null, empty: '' };
    execFileSync('sh', ['-euc', scriptOf({ files, script: 'mkdir done' })], { cwd: folder });
    expect(readdirSync(folder).sort()).toEqual(['done', 'empty', "it's $HOME"]);
    expect(readFileSync(join(folder, "it's $HOME/a b"), 'utf8')).toBe(files["it's $HOME/a b"]);
    expect(readFileSync(join(folder, 'empty'), 'utf8')).toBe('');
  } finally {
    rmSync(folder, { recursive: true });
  }
});
