import * as fc from 'fast-check';
import fs from 'node:fs';
import { sysPath } from '../base/pathBytes.ts';

/** Names that have broken tools before: spaces, quotes, newlines, globs, options, invalid UTF-8, sort-order traps. */
const NAMES = [
  'a',
  'a.txt',
  'a-b',
  'b',
  'c',
  '.git',
  '-rf',
  'sp ace ',
  "qu'ote",
  'do"ub$(le)`',
  'new\nline\n',
  '%41',
  '*',
  'back\\slash\\',
  '\xc3\xa9\xe2\x82\xac',
  '\xff\xfe',
  '\x81\x82\x88',
  '\x01\x7f',
  'x'.repeat(255),
];

/** Folders that a sequence may change, below its base; it must not touch the store beside them. */
const ROOTS = ['workspace', 'home'];

/** Few names often, so that operations meet; odd names sometimes. */
const name = fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...NAMES.slice(0, 3)) }, { weight: 2, arbitrary: fc.constantFrom(...NAMES) });
/** A place in one of the two roots. */
export const path = fc
  .tuple(fc.constantFrom('workspace', 'workspace', 'workspace', 'home'), fc.array(name, { minLength: 1, maxLength: 3 }))
  .map(([root, names]) => [root, ...names].join('/'));
const mode = fc.constantFrom(0o644, 0o755, 0o600, 0, 0o111, 0o444, 0o555, 0o1777, 0o700, 0o2755, 0o4711);
const small = fc.oneof(
  fc.constant(''),
  fc.constant('same\n'),
  fc.string({ maxLength: 40 }),
  fc.constant('\r\nline\r\n\0bin'),
  fc.nat({ max: 9999 }).map(String),
);
const content = fc.oneof(
  { weight: 12, arbitrary: small },
  { weight: 1, arbitrary: fc.integer({ min: 500_000, max: 1_200_000 }).map((n) => `big ${n}`) },
);
const target = fc.oneof(name, fc.constantFrom('../a', '/etc/passwd', '.', 'ends\n', '-', '..'));
/** Seconds; doubles, so the nanoseconds are odd. */
const time = fc.constantFrom(0, 1, -1.5, 1_700_000_000.123456, 1_700_000_000.999999, 4_102_444_800.5);

const OPERATIONS = {
  write: (at: string, data: string) => (clear(at), parents(at), fs.writeFileSync(sysPath(at), expand(data))),
  overwrite: (at: string, data: string) => fs.writeFileSync(sysPath(at), data, { flag: 'r+' }),
  append: (at: string, data: string) => fs.appendFileSync(sysPath(at), data),
  truncate: (at: string) => fs.truncateSync(sysPath(at), 2),
  chmod: (at: string, bits: number) => fs.chmodSync(sysPath(at), bits),
  symlink: (at: string, to: string) => (clear(at), parents(at), fs.symlinkSync(sysPath(to), sysPath(at))),
  rename: (at: string, to: string) => (parents(to), fs.renameSync(sysPath(at), sysPath(to))),
  replace: (at: string, to: string) => (clear(to), parents(to), fs.renameSync(sysPath(at), sysPath(to))),
  link: (at: string, to: string) => (clear(to), parents(to), fs.linkSync(sysPath(at), sysPath(to))),
  mkdir: (at: string) => fs.mkdirSync(sysPath(at), { recursive: true }),
  remove: (at: string) => clear(at),
  utimes: (at: string, when: number) => fs.lutimesSync(sysPath(at), when, when),
} as const;

/** Operations that follow a link at their path; the others follow only links on the way to it. */
const FOLLOWING: ReadonlySet<string> = new Set(['overwrite', 'append', 'truncate', 'chmod', 'mkdir']);

export const operation = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(fc.constant('write' as const), path, content) },
  { weight: 2, arbitrary: fc.tuple(fc.constantFrom('overwrite' as const, 'append' as const), path, small) },
  { weight: 2, arbitrary: fc.tuple(fc.constant('chmod' as const), path, mode) },
  { weight: 2, arbitrary: fc.tuple(fc.constant('symlink' as const), path, target) },
  { weight: 3, arbitrary: fc.tuple(fc.constantFrom('rename' as const, 'replace' as const, 'link' as const), path, path) },
  { weight: 3, arbitrary: fc.tuple(fc.constantFrom('mkdir' as const, 'remove' as const, 'truncate' as const), path, fc.constant('')) },
  { weight: 2, arbitrary: fc.tuple(fc.constant('utimes' as const), path, time) },
);

export type TreeOperation = readonly [keyof typeof OPERATIONS, string, string | number];

/** A random sequence of changes to the two roots of a harness. */
export const operations: fc.Arbitrary<readonly TreeOperation[]> = fc.array(operation, { minLength: 1, maxLength: 14 });

/** Applies changes below `base`; impossible ones (no such file) are skipped. */
export function applyOperations(base: string, sequence: readonly TreeOperation[]): void {
  for (const [kind, at, argument] of sequence) {
    const second = kind === 'rename' || kind === 'replace' || kind === 'link' ? `${base}/${String(argument)}` : argument;
    const run = OPERATIONS[kind] as (at: string, argument: string | number) => void;
    const touched = [`${base}/${at}`, ...(second === argument ? [] : [String(second)])].map(
      FOLLOWING.has(kind) ? (path) => path : parentOf,
    );
    try {
      if (touched.some((path) => leaves(base, path))) continue;
      run(`${base}/${at}`, second);
    } catch (error) {
      if (!(error instanceof Error) || !('errno' in error)) throw error;
    }
  }
}

/** Reports whether an operation at a path, or below it, can only reach `base`. */
export function staysInside(base: string, at: string): boolean {
  try {
    return !leaves(base, at) && fs.lstatSync(sysPath(at), { throwIfNoEntry: false })?.isSymbolicLink() !== true;
  } catch (error) {
    if (!(error instanceof Error) || !('errno' in error)) throw error;
    return false;
  }
}

/**
 * Reports whether a path leads out of the roots in `base` once its links are followed. Most operations follow links;
 * such paths are skipped so that nothing else on this machine changes.
 */
function leaves(base: string, at: string): boolean {
  const inside = fs.realpathSync(base);
  for (let path = at; path.length >= base.length; path = parentOf(path)) {
    const stat = fs.lstatSync(sysPath(path), { throwIfNoEntry: false });
    if (stat === undefined) continue;
    // A link that leads nowhere could be written through: where to is not known, so it is left alone.
    const real = realPath(path);
    return real === undefined || !ROOTS.some((root) => `${real}/`.startsWith(`${inside}/${root}/`));
  }
  return true;
}

function realPath(path: string): string | undefined {
  try {
    return fs.realpathSync.native(sysPath(path), { encoding: 'buffer' }).toString('latin1');
  } catch {
    return undefined;
  }
}

/** `big N` stands for N bytes, so that a counterexample can be read. */
function expand(data: string): string {
  return data.startsWith('big ') ? data.padEnd(Number(data.slice(4)), 'z') : data;
}

export function parents(at: string): void {
  fs.mkdirSync(sysPath(parentOf(at)), { recursive: true });
}

function parentOf(at: string): string {
  return at.slice(0, at.lastIndexOf('/'));
}

/** Removes whatever is at a path, by bytes (`rmSync` treats names as text). */
export function clear(at: string): void {
  const stat = fs.lstatSync(sysPath(at), { throwIfNoEntry: false });
  if (stat === undefined) return;
  if (!stat.isDirectory()) return fs.unlinkSync(sysPath(at));
  for (const child of fs.readdirSync(sysPath(at), { encoding: 'latin1' })) clear(`${at}/${child}`);
  fs.rmdirSync(sysPath(at));
}
