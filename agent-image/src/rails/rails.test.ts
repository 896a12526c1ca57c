import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, describe, expect, test } from 'vitest';
import { spell, spelling, wordsOfAtoms, wrap, wrapping, wrappers } from './testing/equivalence.ts';
import { decisions, profiles, type Act } from './index.ts';
import { shell, testPolicy, testRails } from './testing/table.ts';

const rails = await testRails();
const decide = (command: string): string => rails.judge(shell(command), testPolicy).decision;

const denied = [
  'rm -rf /',
  'sudo ls',
  'dd if=x of=/dev/sda',
  'unshare -r sh',
  'kill -9 -1',
  'cat /proc/1/environ',
  'git push origin main',
  'curl https://example.com',
  'crontab x',
  'mkfs.ext4 /dev/sda1',
];
const allowed = ['ls -la src', 'cat a.txt', 'echo hi', 'npm test', 'git status', 'grep -rn x src'];

describe('a denied command stays denied', () => {
  test.each(denied)('%s', (command) => expect(decide(command)).toBe('Deny'));

  test.each(Object.keys(wrappers))('in %s', (name) => {
    for (const command of denied) expect(decide(wrap(command, [name])), wrap(command, [name])).toBe('Deny');
  });

  test('in any combination of wrappers and spellings', () => {
    fc.assert(
      fc.property(fc.constantFrom(...denied), spelling, wrapping, (command, ways, names) => {
        const text = wrap(spell(command, ways), names);
        if (text.length < 6_000) expect(decide(text), text).toBe('Deny');
      }),
      { numRuns: 600 },
    );
  });
});

test('an allowed command is not denied for how it is wrapped', () => {
  fc.assert(
    fc.property(fc.constantFrom(...allowed), wrapping, (command, names) => {
      const text = wrap(command, names);
      if (text.length < 4_000) expect(decide(text), text).not.toBe('Deny');
    }),
    { numRuns: 300 },
  );
});

test('random text never throws, and is judged the same twice', () => {
  const piece = fc.constantFrom(
    '$',
    '(',
    ')',
    '{',
    '}',
    '`',
    '"',
    "'",
    '\\',
    '\n',
    ';',
    '|',
    '&',
    '<',
    '>',
    '<<E',
    '\nE\n',
    ' ',
    'rm',
    '-rf',
    '/',
    '*',
    '$(',
    '${x',
    '$((',
    'if',
    'then',
    'fi',
    'case',
    'esac',
    'do',
    'done',
    'for',
    '#',
    '=',
    'a',
    '~',
    '\uE000',
    '\uE00E0\uE00F',
  );
  const text = fc.oneof(
    fc.string({ maxLength: 200 }),
    fc.array(piece, { maxLength: 40 }).map((parts) => parts.join('')),
    fc.array(piece, { maxLength: 30 }).map((parts) => parts.join(' ')),
  );
  fc.assert(
    fc.property(text, (command) => {
      const verdict = rails.judge(shell(command), testPolicy);
      expect(decisions).toContain(verdict.decision);
      for (const { span } of verdict.findings) expect(span.start >= 0 && span.start <= span.end && span.end <= command.length).toBe(true);
      expect(rails.judge(shell(command), testPolicy)).toEqual(verdict);
    }),
    { numRuns: 1_500 },
  );
});

test.each([
  ['nested substitutions', '$('.repeat(3_000)],
  ['nested braces', '{a,'.repeat(2_000)],
  ['many brace words', `echo ${'{a,b}'.repeat(40)}`],
  ['a long line', 'echo hi; '.repeat(7_000)],
  ['many here-documents', 'cat <<E\nx\nE\n'.repeat(3_000)],
  [
    'nested shells',
    Array.from({ length: 12 })
      .reduce<string>((inner) => `sh -c '${inner.replaceAll("'", "'\\''")}'`, 'rm -rf /')
      .slice(0, 60_000),
  ],
  ['growing variables', `a=aaaaaaaaaaaaaaaa; ${'a=$a$a; '.repeat(40)} echo $a`],
  [
    'functions that call each other',
    `a() { b; b; }; b() { c; c; }; c() { d; d; }; d() { e; e; }; e() { f; f; }; f() { g; g; }; g() { ls; ls; }; ${'a; '.repeat(50)}`,
  ],
  ['unbalanced quotes', '"$(\''.repeat(2_000)],
  [
    'many alternatives',
    `for a in 1 2 3 4 5 6 7 8; do for b in 1 2 3 4 5 6 7 8; do for c in 1 2 3 4 5 6 7 8; do echo $a $b $c; done; done; done`,
  ],
  ['deep python', `python3 -c '${'('.repeat(5_000)}'`],
  ['many pipes', 'a|'.repeat(30_000)],
  ['a long mode', `chmod ${'u'.repeat(30_000)} x`],
  ['many open here-documents', '<<a '.repeat(8_000)],
  ['too long', 'x'.repeat(100_000)],
])('the walk of %s ends within its bounds', (_name, command) => {
  const verdict = rails.judge(shell(command), testPolicy);
  expect(verdict.simpleCommands.length).toBeLessThanOrEqual(2_100);
  if (command.length > 10_000 && !/^(?:echo|chmod)/.test(command)) expect(verdict.decision).not.toBe('Allow');
});

describe('verdicts', () => {
  test('a stricter profile never decides milder', () => {
    for (const command of [...denied, ...allowed, 'rm -rf build', '$X', 'git commit --no-verify', 'env']) {
      const order = profiles.map((profile) => decisions.indexOf(rails.judge(shell(command), { ...testPolicy, profile }).decision));
      expect(order).toEqual([...order].sort((a, b) => b - a));
    }
  });

  test('a finding points at the command, names its rail and its cure', () => {
    const command = 'ls && sudo rm x # why';
    const { findings } = rails.judge(shell(command), testPolicy);
    const found = findings.find((one) => one.rail === 'privilege');
    expect(command.slice(found?.span.start, found?.span.end)).toBe('sudo rm x');
    expect(found?.cure).not.toBe('');
  });

  test('spans count from the text as it was given, behind here-documents and continuations', () => {
    const command = 'cat <<E > a\n$x\nE\nls \\\n -l; sudo id';
    const found = rails.judge(shell(command), testPolicy).findings.find((one) => one.rail === 'privilege');
    expect(command.slice(found?.span.start, found?.span.end)).toBe('sudo id');
  });

  test('risk follows what is done', () => {
    const risk = (command: string): string => rails.judge(shell(command), { ...testPolicy, network: 'Allowed' }).risk;
    expect(risk('git log | head')).toBe('ReadOnly');
    expect(risk('npm test')).toBe('Reversible');
    expect(risk('rm -rf build')).toBe('Reversible');
    expect(risk('$X')).toBe('Unknown');
    expect(risk('git push')).toBe('External');
    expect(risk('rm -rf /')).toBe('Destructive');
  });

  test('simple commands are listed as they would run', () => {
    const { simpleCommands } = rails.judge(shell('a=-l; env X=1 sh -c "ls $a" | wc -$(date)'), testPolicy);
    expect(simpleCommands.map((one) => one.argv.join(' '))).toEqual(
      expect.arrayContaining(['env X=1 sh -c ls -l', 'sh -c ls -l', 'ls -l', 'wc -…', 'date']),
    );
    expect(simpleCommands.find((one) => one.argv.join(' ') === 'ls -l')?.via).toEqual(['env', 'sh']);
  });

  test('a script that would be refused is looked at when it is written', () => {
    const write = (content: string): string => rails.judge({ tool: 'FileWrite', path: '/workspace/x.sh', content }, testPolicy).decision;
    expect(write('#!/bin/sh\nrm -rf /\n')).toBe('Review');
    expect(write('#!/bin/sh\nnpm test\n')).toBe('Allow');
  });
});

/** The wrappers claim that bash runs the same: a stub in place of the command prints what it was given. */
describe.skipIf(!existsSync('/bin/bash'))('bash agrees', () => {
  const folder = mkdtempSync(join(tmpdir(), 'rails-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const log = join(folder, 'log');
  const stub = join(folder, 'victim');
  writeFileSync(stub, `#!/bin/bash\nprintf '%s|' victim "$@" >> ${log}\n`);
  chmodSync(stub, 0o755);
  for (const name of ['sh', 'bash']) symlinkSync('/bin/bash', join(folder, name));
  for (const name of ['env', 'timeout', 'nohup', 'cat']) {
    const real = ['/bin', '/usr/bin'].map((at) => join(at, name)).find(existsSync);
    if (real !== undefined) symlinkSync(real, join(folder, name));
  }
  const ran = (script: string): string => {
    writeFileSync(log, '');
    try {
      execFileSync('/bin/bash', ['--norc', '-c', script], { cwd: folder, env: { PATH: folder }, stdio: 'ignore', timeout: 20_000 });
    } catch {
      // The status is not what counts.
    }
    return readFileSync(log, 'utf8');
  };

  const parses = (script: string): boolean => spawnSync('/bin/bash', ['--norc', '-n', '-c', script], { stdio: 'ignore' }).status === 0;

  test.each(Object.keys(wrappers))('about %s', (name) => {
    expect(ran(wrap('victim -rf /', [name]))).toBe('victim|-rf|/|');
  });

  test('about the words that quotes and expansions make', () => {
    fc.assert(
      fc.property(wordsOfAtoms, (script) => {
        const { simpleCommands, findings } = rails.judge(shell(script), testPolicy);
        const mine = simpleCommands.filter((one) => one.argv[0] === 'victim').map((one) => one.argv.map((word) => `${word}|`).join(''));
        // What is called unknown may be wrong: it is not allowed in silence.
        if (!findings.some((one) => one.rail === 'unresolved')) expect(mine, script).toContain(ran(script));
      }),
      { numRuns: 120 },
    );
  });

  test('about spellings in wrappers', () => {
    fc.assert(
      fc.property(spelling, wrapping, (ways, names) => {
        const script = wrap(spell('victim -rf /', ways), names);
        // bash loses count of $'…' in quotes inside "$(…)" and runs nothing then.
        fc.pre(script.length < 4_000 && parses(script));
        expect(ran(script), script).toContain('victim|-rf|/|');
      }),
      { numRuns: 60 },
    );
  });
});

const helper =
  "def sub(p, *pairs, end=''):\n    s = open(p).read()\n    for a, b in pairs:\n        s = s.replace(a, b)\n    open(p, 'w').write(s + end)\n";
const jsHelper =
  "const fs = require('fs');\nfunction put(at, text) { fs.writeFileSync(at, text); }\nconst both = (one, two) => { put(one, 'a'); put(two, 'b'); };\n";

test.each<[string, readonly string[]]>([
  [`${helper}sub('a/b.go', ('x', 'y'))\nsub(p='c.go', end='z')\n`, []],
  [`${helper}def main():\n    sub('a.go')\nif __name__ == '__main__':\n    main()\n`, []],
  [`${helper}sub('a.go')\nsub('/etc/passwd', ('x', 'y'))\n`, ['/etc/passwd']],
  [`${helper}sub('a.go')\nsub(input())\n`, ['…']],
  [`${helper}sub('a.go')\nsub(*sys.argv)\n`, ['…']],
  [`${helper}sub('a.go')\nlist(map(sub, open('names')))\n`, ['…']],
  [`${helper}sub('a.go')\nsub = str\nsub('/etc/passwd')\n`, ['…']],
  [`${helper}def sub(p):\n    open(p, 'w')\nsub('a.go')\n`, ['…']],
])('a function of a program writes what it is called with: %s', (program, paths) => {
  const { findings } = rails.judge(shell(`python3 - <<'E'\n${program}E`), testPolicy);
  expect(findings.flatMap(({ rail, reason }) => (rail === 'path-policy' ? (/writes (\S+?),? /.exec(reason)?.[1] ?? reason) : []))).toEqual(
    paths,
  );
});

test.each<[string, readonly string[]]>([
  [`${jsHelper}both('a.ts', 'b.ts');\n`, []],
  [`${jsHelper}both('a.ts', '/etc/passwd');\n`, ['/etc/passwd']],
  [`${jsHelper}both('a.ts', process.argv[2]);\n`, ['…']],
])('and so does one of JavaScript: %s', (program, paths) => {
  const { findings } = rails.judge(shell(`node - <<'E'\n${program}E`), testPolicy);
  expect(findings.flatMap(({ rail, reason }) => (rail === 'path-policy' ? (/writes (\S+?),? /.exec(reason)?.[1] ?? reason) : []))).toEqual(
    paths,
  );
});

test.each<[string, string, boolean]>([
  [
    'with paths in plain sight',
    "def sub(p, a, b='x'):\n    s = open(p).read()\n    open(p, 'w').write(s.replace(a, b))\nsub('a.yaml', 'y')\nsub(p='b/c.yaml', a='z')",
    true,
  ],
  ['that calls another', "def put(p, s):\n    open(p, 'w').write(s)\ndef main():\n    put('a.md', 'x')\nmain()", true],
  ['in a loop over names', "def put(p):\n    open(p, 'w').write('x')\nfor p in ['a.md', 'b.md']:\n    put(p)", true],
  ['in a loop that leaves the workspace', "def put(p):\n    open(p, 'w').write('x')\nfor p in ['a.md', '/etc/passwd']:\n    put(p)", false],
  [
    'with any number of edits',
    "def edit(path, *pairs):\n    s = open(path).read()\n    for a, b in pairs:\n        s = s.replace(a, b)\n    open(path, 'w').write(s)\nedit('a.yaml', ('x', 'y'), ('z', 'w'))",
    true,
  ],
  [
    'whose paths are among any number',
    "def put(*all):\n    for p in all:\n        open(p, 'w').write('x')\nput('a.md', '/etc/passwd')",
    false,
  ],
  ['that is never called', "def put(p):\n    open(p, 'w').write('x')", false],
  ['once with a path of the run', "import sys\ndef put(p):\n    open(p, 'w').write('x')\nput('a.md')\nput(sys.argv[1])", false],
  ['that is handed on', "def put(p):\n    open(p, 'w').write('x')\nput('a.md')\nlist(map(put, input().split()))", false],
  ['that is found by its name', "def put(p):\n    open(p, 'w').write('x')\nput('a.md')\nglobals()['put'](input())", false],
  ['with many paths at once', "def put(p):\n    open(p, 'w').write('x')\nput('a.md')\nput(*input().split())", false],
  ['that another replaces', "def put(p):\n    open(p, 'w').write('x')\nput('a.md')\ndef put(p):\n    pass\nput('a.md')", false],
  ['behind a decorator', "def each(f):\n    f(input())\n@each\ndef put(p):\n    open(p, 'w').write('x')\nput('a.md')", false],
  ['that goes deeper than is followed', "def put(p, n=9):\n    open(p, 'w').write('x')\n    put(p + n, n)\nput('a.md')", false],
])('a function of a program %s: %s', (_, text, plain) => {
  const { findings } = rails.judge(shell(`python3 - <<'E'\n${text}\nE`), testPolicy);
  expect(findings.length === 0).toBe(plain);
});

test('a function of JavaScript is known by its calls too, and many calls end in what is not known', () => {
  const put = "const fs = require('fs');\nfunction put(p) {\n  fs.writeFileSync(p, 'x');\n}\n";
  const judge = (calls: string) => rails.judge(shell(`node - <<'E'\n${put}${calls}\nE`), testPolicy).findings.length;
  expect(judge("put('a.md');")).toBe(0);
  expect(judge("put('/etc/passwd');")).toBeGreaterThan(0);
  expect(judge("put('a.md');\n".repeat(900) + "put('/etc/passwd');")).toBeGreaterThan(0);
});

test.each<[string, Act, string]>([
  [
    'an edit',
    { tool: 'FileWrite', path: '/workspace/a.test.js', content: "describe.skip('a', () => {});\n" },
    'the edit switches off tests in /workspace/a.test.js',
  ],
  [
    'a program',
    shell("python3 - <<'E'\nimport pathlib\ndef sub(path):\n    pathlib.Path(path).write_text('x')\nsub(input())\nE"),
    'python3 writes …, which only the run would tell',
  ],
  ['tee', shell('tee "$(cat where)" < a'), 'tee writes …, which only the run would tell'],
])('what %s would write is said of it', (_, act, reason) => {
  expect(rails.judge(act, testPolicy).findings.map((one) => one.reason)).toContain(reason);
});
