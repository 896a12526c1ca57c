// sandbox-image/keeper, snapshot/base: extended attributes and times of files, by the runner. May import protocol alone.
import { decodePath } from '@agentfleet/protocol/keeper';
import { type BytePath, encodePath } from './pathBytes.ts';
import type { Program, Run } from './program.ts';

/** One extended attribute of the user namespace; the name includes `user.`, as bytes. */
interface Xattr {
  readonly name: BytePath;
  readonly value: Buffer;
}

/** A path's attributes in the manifest: `name=base64,name=base64` sorted by name, `''` for none. */
export type XattrText = string;

/**
 * Attributes at a path that are in no snapshot; `closed`: they are not readable at the moment; `many`: the kernel lists
 * no more than 64 KiB of names.
 */
type XattrNote = '' | 'acl' | 'capability' | 'closed' | 'many';

export interface XattrAnswer {
  readonly path: BytePath;
  readonly note: XattrNote;
  readonly text: XattrText;
}

export interface XattrRecord {
  /** Raw bytes, relative to the root. */
  readonly path: Buffer;
  readonly text: XattrText;
}

/** Extended attributes, which Node can neither read nor set. */
export interface XattrAccess {
  read(rootPath: string, maxBytes: number): Pick<XattrReader, keyof XattrReader>;
  /** Makes the user's attributes equal to the records, never through a symlink. Rejects for a path that has more than can be listed. */
  set(rootPath: string, records: readonly XattrRecord[]): Promise<void>;
}

export class TooManyXattrs extends Error {}

export function encodeXattrs(attributes: readonly Xattr[]): XattrText {
  return attributes.map(({ name, value }) => `${encodeName(name)}=${value.toString('base64')}`).join(',');
}

export function decodeXattrs(text: XattrText): Xattr[] {
  if (text === '') return [];
  return text.split(',').map((part) => {
    const cut = part.indexOf('=');
    return { name: decodePath(part.slice(0, cut)), value: Buffer.from(part.slice(cut + 1), 'base64') };
  });
}

function encodeName(name: BytePath): string {
  return encodePath(name).replaceAll(',', '%2C').replaceAll('=', '%3D');
}

/** A line of the runner's: bytes are in base64. */
interface Line {
  readonly path: string;
  readonly note: XattrNote;
  readonly attributes: readonly { readonly name: string; readonly value: string }[] | null;
}

/** Standard input of `runner setxattrs ROOT`. */
function encodeXattrRecords(records: readonly XattrRecord[]): Buffer {
  const lines = records.map(({ path, text }) => {
    const attributes = decodeXattrs(text).map(({ name, value }) => ({ name: btoa(name), value: value.toString('base64') }));
    return JSON.stringify({ path: path.toString('base64'), note: '', attributes } satisfies Line);
  });
  return Buffer.from(lines.join('\n'));
}

/** Decodes the output of `runner xattrs ROOT`. Throws on anything else. */
function decodeXattrAnswers(bytes: Buffer): XattrAnswer[] {
  const lines = bytes.toString('latin1').split('\n').slice(0, -1);
  return lines.map((line) => {
    const { path, note, attributes } = JSON.parse(line) as Line;
    const pairs = (attributes ?? []).map(({ name, value }) => ({ name: atob(name), value: Buffer.from(value, 'base64') }));
    return { path: atob(path), note, text: encodeXattrs(pairs) };
  });
}

/** {@link XattrAccess} by `runner xattrs <root>` and `runner setxattrs <root>`. */
export function xattrsByRunner(program: Program): XattrAccess {
  return {
    read: (rootPath, maxBytes) => new XattrReader(program, rootPath, maxBytes),
    set: async (rootPath, records) => void (await program.run(['setxattrs', rootPath], encodeXattrRecords(records))),
  };
}

/** Questions are saved up to this many characters: a write is a system call. */
const BATCH_CHARS = 16 * 1024;

/**
 * Answers questions about paths below one root while others are still asked. The program runs beside the walk that asks it, on another
 * core where there is one.
 */
export class XattrReader {
  readonly #program: Program;
  readonly #words: readonly string[];
  readonly #run: Run;
  #asked: BytePath[] = [];
  #chars = 0;

  constructor(program: Program, rootPath: string, maxBytes: number) {
    this.#program = program;
    this.#words = ['xattrs', rootPath];
    const tooMuch = (): Error => new TooManyXattrs(`the extended attributes have more than ${maxBytes} bytes`);
    this.#run = program.start(this.#words, { maxOutput: maxBytes, tooMuch });
  }

  /** `path` is relative to the root. */
  ask(path: BytePath): void {
    this.#asked.push(path);
    this.#chars += path.length + 1;
    if (this.#chars >= BATCH_CHARS) this.#flush();
  }

  /** Ends the requests. Paths without attributes have no answer. Rejects when there are more than `maxBytes`. */
  async answers(): Promise<readonly XattrAnswer[]> {
    this.#flush();
    this.#run.end();
    return decodeXattrAnswers(this.#program.outputOf(this.#words, await this.#run.ended));
  }

  cancel(): void {
    this.#run.cut(new Error('the caller no longer waits'));
  }

  #flush(): void {
    if (this.#asked.length > 0) this.#run.write(Buffer.from(`${this.#asked.join('\0')}\0`, 'latin1'));
    this.#asked = [];
    this.#chars = 0;
  }
}

/** Standard input of `runner setmeta ROOT`: for each record `<mtimeNs> NUL <path> NUL`, the path relative to ROOT. */
export function encodeRecords(records: readonly MtimeRecord[]): Buffer {
  const zero = Buffer.of(0);
  return Buffer.concat(records.flatMap(({ path, mtimeNs }) => [Buffer.from(String(mtimeNs)), zero, path, zero]));
}

/**
 * A {@link SetMeta} that calls `runner setmeta <root>` once per batch. Rejects with the program's
 * standard error (first 4 KiB) when it does not exit with 0, or cannot be started.
 */
export function setMetaByRunner(program: Program): SetMeta {
  return async (rootPath, records) => void (await program.run(['setmeta', rootPath], encodeRecords(records)));
}

export interface MtimeRecord {
  /** Raw bytes, relative to the root. */
  readonly path: Buffer;
  readonly mtimeNs: bigint;
}

/**
 * Sets modification times exactly, in order, never through a symlink. Injected because Node takes
 * times as doubles: a quarter of a microsecond is lost, and the digest would not match.
 */
export type SetMeta = (rootPath: string, records: readonly MtimeRecord[]) => Promise<void>;

/**
 * Removes everything below a root, however large, but the special files at `kept` (relative to the root), which no snapshot can bring
 * back. Returns how many paths were removed.
 */
export type Clear = (rootPath: string, kept: readonly BytePath[]) => Promise<number>;

/** A {@link Clear} by `runner clear <root>`. */
export function clearByRunner(program: Program): Clear {
  return async (rootPath, kept) => Number((await program.run(['clear', rootPath], Buffer.from(kept.join('\0'), 'latin1'))).toString());
}

/** Stats of all names below a root at once, by more threads than Node has for it. */
export interface TreeStats {
  /** Number of names from which starting a program pays off. */
  readonly worthFrom: number;
  /**
   * Reads the output of `runner stat`; `since` is the token of its last answer, of which it omits unchanged records.
   * Null when there are more than `maxEntries`, or it failed: then each name is stat'ed separately.
   */
  read(rootPath: string, maxEntries: number, since: string | null): Promise<StatAnswer | null>;
}

export interface StatAnswer {
  readonly token: string;
  /** A name without a record is unchanged since the last answer. */
  readonly changesOnly: boolean;
  readonly records: Buffer;
}

/** Fewer names are asked for one by one in the time that a program takes to start. */
const WORTH_FROM = 2000;
const TOKEN_BYTES = 16;

/** {@link TreeStats} by `runner stat <root> <max> <since>`. */
export function treeStatsByRunner(program: Program, worthFrom: number = WORTH_FROM): TreeStats {
  return {
    worthFrom,
    read: async (rootPath, maxEntries, since) => {
      const stdout = await program.run(['stat', rootPath, String(maxEntries), since ?? '-']).catch(() => Buffer.alloc(0));
      const kind = stdout[TOKEN_BYTES];
      // A list of changes is meaningless without the answer that it refers to.
      if (kind !== 0 && (kind !== 1 || since === null)) return null;
      return {
        token: stdout.toString('hex', 0, TOKEN_BYTES),
        changesOnly: kind === 1,
        records: stdout.subarray(TOKEN_BYTES + 1),
      };
    },
  };
}
