import * as fc from 'fast-check';
import fs from 'node:fs';
import { sysPath } from '../../base/pathBytes.ts';
import { encodeXattrs, type XattrAccess } from '../../base/xattrs.ts';
import { applyOperations, clear, operation, parents, path, staysInside, type TreeOperation } from '../treeOps.ts';
import { installPackages, runGit, runWriters } from './programs.ts';

/** Programs by which a case may change the tree. */
export interface Tools {
  /** The folder of the two roots; nothing outside of it is touched. */
  readonly base: string;
  readonly xattrs: XattrAccess;
}

const MIB = 1024 * 1024;

/** Entries of a real project's tree beyond single files: `[kind, path, argument]`. */
const SPECIALS = {
  /** A long file with a few bytes in it. */
  sparse: ({ base }: Tools, at: string, size: number) => {
    if (!staysInside(base, parentOf(at))) return;
    clear(at);
    parents(at);
    const fd = fs.openSync(sysPath(at), fs.constants.O_WRONLY | fs.constants.O_CREAT | fs.constants.O_EXCL);
    fs.writeSync(fd, 'not zero', Math.floor(size / 3));
    fs.ftruncateSync(fd, size);
    fs.closeSync(fd);
  },
  /** Five megabytes, no two pages alike. */
  big: ({ base }: Tools, at: string, salt: number) => {
    if (!staysInside(base, parentOf(at))) return;
    clear(at);
    parents(at);
    fs.writeFileSync(sysPath(at), Array.from({ length: (5 * MIB) / 1024 }, (_, line) => `${salt} ${line} `.padEnd(1024, '.')).join(''));
  },
  /** A file becomes a directory with a file in it, and the other way round. */
  swap: ({ base }: Tools, at: string, salt: number) => {
    if (!staysInside(base, parentOf(at))) return;
    const wasDirectory = fs.lstatSync(sysPath(at)).isDirectory();
    clear(at);
    if (!wasDirectory) fs.mkdirSync(sysPath(at));
    fs.writeFileSync(sysPath(wasDirectory ? at : `${at}/inside`), String(salt));
  },
  /** Many directories in one another, with something at the end. */
  deep: ({ base }: Tools, at: string, depth: number) => {
    if (!staysInside(base, parentOf(at))) return;
    clear(at);
    const end = `${at}${'/deep'.repeat(depth % 12)}`;
    fs.mkdirSync(sysPath(end), { recursive: true });
    fs.writeFileSync(sysPath(`${end}/end`), '');
  },
  xattr: async ({ base, xattrs }: Tools, at: string, salt: number) => {
    if (!staysInside(base, at)) return;
    const names = ['user.a', 'user.odd=, \xff\n', 'user.empty'].slice(0, salt % 4);
    const text = encodeXattrs(names.map((name) => ({ name, value: Buffer.from(name === 'user.empty' ? '' : `\0${salt}'`) })));
    // Refused for a link, and for a path that is not there.
    await xattrs.set(base, [{ path: Buffer.from(at.slice(base.length + 1), 'latin1'), text }]).catch(() => undefined);
  },
  git: ({ base }: Tools, at: string, salt: number) => runGit(base, at, salt),
  writers: ({ base }: Tools, at: string, salt: number) => runWriters(base, at, salt),
  packages: ({ base }: Tools, at: string) => installPackages(base, at),
} as const;

export type FuzzOperation = TreeOperation | readonly [keyof typeof SPECIALS, string, number];

const kinds = (...names: (keyof typeof SPECIALS)[]) => fc.tuple(fc.constantFrom(...names), path, fc.nat({ max: 9_999_999 }));

const anything: fc.Arbitrary<FuzzOperation> = fc.oneof(
  { weight: 400, arbitrary: operation },
  { weight: 70, arbitrary: kinds('swap', 'xattr') },
  { weight: 24, arbitrary: kinds('sparse', 'deep') },
  { weight: 10, arbitrary: kinds('writers', 'git') },
  { weight: 3, arbitrary: kinds('big') },
  { weight: 1, arbitrary: kinds('packages') },
);

/** A random sequence of changes of all kinds. */
export const fuzzOperations: fc.Arbitrary<readonly FuzzOperation[]> = fc.array(anything, { minLength: 1, maxLength: 10 });

/** Applies changes; impossible ones are skipped. All processes have ended when this returns. */
export async function applyFuzz(tools: Tools, sequence: readonly FuzzOperation[]): Promise<void> {
  for (const one of sequence) {
    if (!isSpecial(one)) {
      applyOperations(tools.base, [one]);
      continue;
    }
    try {
      await SPECIALS[one[0]](tools, `${tools.base}/${one[1]}`, one[2]);
    } catch (error) {
      if (!(error instanceof Error) || !('errno' in error)) throw error;
    }
  }
}

function isSpecial(one: FuzzOperation): one is readonly [keyof typeof SPECIALS, string, number] {
  return one[0] in SPECIALS;
}

function parentOf(at: string): string {
  return at.slice(0, at.lastIndexOf('/'));
}
