import type { AgentTask } from '@agentfleet/protocol/api';
import type { DiffEntry } from '@agentfleet/protocol/keeper';
import { expect, test } from 'vitest';
import { protectedPaths, type ProtectedSet } from '../checks/index.ts';
import { createRails, installedGrammars, loadGrammars } from '../rails/index.ts';
import { createGate } from './gate.ts';
import { changesBetween, judgeEffects, onlyOnce } from './acts.ts';
import type { Baseline } from './checkRun.ts';
import type { SandboxSession } from './sandboxSession.ts';

const rails = createRails({ grammars: await loadGrammars(installedGrammars()), home: '/home/agent' });
const policy = { profile: 'Privileged', network: { mode: 'Allowed' } };
const task = { spec: { policy, protect: { mode: 'Default' } } } as unknown as AgentTask;
const gate = createGate({ rails, task, session: { roots: ['/workspace'], absolute: (path) => `/workspace/${path}` } }, null);

test.each([
  ['make build', false, false, false],
  ['make build', true, false, true],
  ['make build', false, true, true],
  ['git commit -qam x && git push origin main', false, false, true],
  ['kubectl apply -f app.yaml', false, false, true],
])('%s, allowed by a person: %s, with a way out: %s, is run only once: %s', (command, approved, reaches, once) => {
  expect(
    onlyOnce(gate, {
      acts: [
        { tool: 'Shell', command: 'true' },
        { tool: 'Shell', command },
      ],
      approved,
      reach: reaches ? { mode: 'Allowed', hosts: [], rules: { open: [] }, environment: {} } : null,
    }),
  ).toBe(once);
});

const mebibyte = 1024 * 1024;
const settings = { path: 'workspace/pyproject.toml', op: 'M', sizeFrom: 9, sizeTo: 70 * mebibyte } as const;

test.each<[string, readonly DiffEntry[], RegExp]>([
  [
    'a file',
    [{ path: 'workspace/data.bin', op: 'A', sizeTo: 70 * mebibyte }],
    /wrote data\.bin, of 73400320 bytes before or after, 67108864/,
  ],
  ['a file before', [{ path: 'workspace/data.bin', op: 'M', sizeFrom: 70 * mebibyte, sizeTo: 1 }], /data\.bin.* 73400320 bytes/],
  [
    'many files',
    [1, 2, 3].map((n) => ({ path: `workspace/${n}`, op: 'M', sizeFrom: 30 * mebibyte, sizeTo: 30 * mebibyte })),
    /files of 188743680 bytes.*, 134217728 can be judged/,
  ],
  ['protected settings', [settings], /pyproject\.toml.* protected/],
  [
    'several protected files',
    [1, 2, 3, 4, 5, 6, 7].map((n) => ({ ...settings, path: `workspace/${n}/pyproject.toml` })),
    /^after its commands 1\/pyproject\.toml was changed: .*\(also refused: 2\/pyproject\.toml, .*6\/pyproject\.toml and 1 more\)$/,
  ],
])('what commands wrote is refused without being read where it is too large to be judged: %s', async (_, entries, words) => {
  const unread = (): never => {
    throw new Error('the keeper answers AF_TOO_LARGE');
  };
  const relative = (path: string): string => path.replace('workspace/', '');
  const session = {
    diff: () => Promise.resolve({ entries }),
    read: unread,
    restore: unread,
    relative,
    fromWorkspace: relative,
  } as unknown as SandboxSession;
  const why = (path: string) => (path.endsWith('pyproject.toml') ? { kind: 'Settings', why: 'tests read it' } : null);
  const protectedSet = {
    why,
    shadows: () => null,
    addable: () => false,
    derived: () => false,
    holdsProtected: () => false,
  } as unknown as ProtectedSet;
  const { refused } = await judgeEffects(session, { protectedSet } as Baseline, gate, 'from', 'to');
  expect(refused).toMatch(words);
});

test.each([
  ['as it was at snapshot 0', true, ['Protected']],
  ['as an act before left it', false, []],
] as const)('a test in a file of code has to be %s', async (_, atStart, codes) => {
  const of = (asked: string): Buffer => Buffer.from(`#[test]\nfn a() {\n    assert_eq!(f(), ${asked});\n}\n`);
  let tree = of('2');
  const session = {
    diff: () => Promise.resolve({ entries: [{ path: 'workspace/src/lib.rs', op: 'M', sizeFrom: 9, sizeTo: 9 }] }),
    read: () => Promise.resolve(tree),
    restore: (id: string) => Promise.resolve((tree = of(id === 'from' ? '1' : '2'))),
    relative: (path: string) => path.replace('workspace/', ''),
    fromWorkspace: (path: string) => path.replace('workspace/', ''),
  } as unknown as SandboxSession;
  const set = protectedPaths(['src/lib.rs'], [], { mode: 'Default', paths: [] });
  const { violations } = await changesBetween(session, set, 'from', 'to', atStart);
  expect(violations.map(({ code }) => code)).toEqual(codes);
  expect(tree).toEqual(of('2'));
});

test.each([
  ['index.js', 0o777, 0, /left a link as index\.js; code has to be a file of its own/],
  ['index.js', 0o644, 0, null],
  ['index.js', 0o777, 9, null],
  ['data.txt', 0o777, 0, null],
  ['.git/hooks', 0o777, 0, /left a link as \.git\/hooks; what is git's own/],
  ['.git/config', 0o777, 0, /left a link as \.git\/config/],
  ['a/.git', 0o777, 0, /left a link as a\/\.git/],
  ['.git/refs/heads', 0o777, 0, /left a link as \.git\/refs\/heads/],
])(
  'a link to code by another name, or among the files of git, is refused: %s of mode %s and %s bytes',
  async (path, modeTo, sizeTo, why) => {
    const session = {
      diff: () => Promise.resolve({ entries: [{ path: `workspace/${path}`, op: 'A', modeTo, sizeTo }] }),
      read: () => Promise.resolve(Buffer.from('export const a = 1;\n')),
      restore: () => Promise.resolve(),
      relative: (given: string) => given.replace('workspace/', ''),
      fromWorkspace: (given: string) => given.replace('workspace/', ''),
    } as unknown as SandboxSession;
    const protectedSet = protectedPaths([], [], { mode: 'Default', paths: [] });
    const { refused } = await judgeEffects(session, { protectedSet } as Baseline, gate, 'from', 'to');
    if (why === null) expect(refused).toBeNull();
    else expect(refused).toMatch(why);
  },
);

test.each([
  ['.git/hooks/pre-push', '#!/bin/sh\n# \0\n', '#!/bin/sh\nid\n# \0\n', /writes .*hooks\/pre-push/],
  ['.git/config', '[core]\n', '[core] # \0\n\tsshCommand = ./x.sh\n', /core\.sshcommand/],
  ['.git/config', '[core]\n', '[core]\n\tautocrlf = input\n', null],
])('what git runs is judged by what a command left in it: %s', async (path, before, after, why) => {
  let tree = 'to';
  const relative = (given: string): string => given.replace('workspace/', '');
  const session = {
    diff: () => Promise.resolve({ entries: [{ path: `workspace/${path}`, op: 'M', sizeFrom: 9, sizeTo: 9 }] }),
    read: () => Promise.resolve(Buffer.from(tree === 'to' ? after : before)),
    restore: (id: string) => Promise.resolve((tree = id)),
    relative,
    fromWorkspace: relative,
    absolute: (given: string) => `/workspace/${given}`,
  } as unknown as SandboxSession;
  const protectedSet = protectedPaths([path], [], { mode: 'Default', paths: [] });
  const place = { roots: ['/workspace'], absolute: (given: string) => `/workspace/${given}` };
  const judging = createGate({ rails, task, session: place, writing: 'Programs' }, protectedSet);
  const { refused } = await judgeEffects(session, { protectedSet } as Baseline, judging, 'from', 'to');
  if (why === null) expect(refused).toBeNull();
  else expect(refused).toMatch(why);
});

test('code that a command wrote is judged though a zero stands in it', async () => {
  const texts: Readonly<Record<string, string>> = { from: 'export const a = 1;\n', to: 'process.exit(0); // \0\n' };
  let tree = 'to';
  const relative = (path: string): string => path.replace('workspace/', '');
  const session = {
    diff: () => Promise.resolve({ entries: [{ path: 'workspace/index.js', op: 'M', sizeFrom: 9, sizeTo: 9 }] }),
    read: () => Promise.resolve(Buffer.from(texts[tree] ?? '')),
    restore: (id: string) => Promise.resolve((tree = id)),
    relative,
    fromWorkspace: relative,
  } as unknown as SandboxSession;
  const protectedSet = protectedPaths(['index.js'], [], { mode: 'Default', paths: [] });
  const place = { roots: ['/workspace'], absolute: (path: string) => `/workspace/${path}` };
  const judging = createGate({ rails, task, session: place, writing: 'Programs' }, protectedSet);
  const { refused } = await judgeEffects(session, { protectedSet } as Baseline, judging, 'from', 'to');
  expect(refused).toMatch(/ends its process with a status that may be 0/);
});
