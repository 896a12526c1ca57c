import { Readable } from 'node:stream';
import { AttemptFailure } from '../../base/failure.ts';
import { maxEntries, tooLarge, type Entry } from '../entries/entry.ts';
import type { Git } from './program.ts';

/** Reads records and counted bytes from a stream of chunks. */
class ByteReader {
  readonly #source: AsyncIterator<Buffer, undefined>;
  readonly #separator: number;
  #rest: Buffer = Buffer.alloc(0);

  /** `separator` ends a record: 10 (newline) or 0. */
  constructor(source: AsyncIterable<Buffer>, separator = 10) {
    this.#source = source[Symbol.asyncIterator]() as AsyncIterator<Buffer, undefined>;
    this.#separator = separator;
  }

  /** The next record without its separator; null at the end. @throws when the stream ends inside one, or it is over 64 KiB */
  async record(): Promise<Buffer | null> {
    let searched = 0;
    for (;;) {
      const at = this.#rest.indexOf(this.#separator, searched);
      if (at !== -1) {
        const record = this.#rest.subarray(0, at);
        this.#rest = this.#rest.subarray(at + 1);
        return record;
      }
      searched = this.#rest.length;
      if (searched > 65_536) throw new Error('git gives a record of over 64 KiB');
      const next = await this.#source.next();
      if (next.done === true) {
        if (searched > 0) throw new Error('the output of git ends in the middle of a record');
        return null;
      }
      this.#rest = searched === 0 ? next.value : Buffer.concat([this.#rest, next.value]);
    }
  }

  async line(): Promise<string | null> {
    return (await this.record())?.toString('utf8') ?? null;
  }

  /** The next `size` bytes. @throws when the stream ends before */
  async *bytes(size: number): AsyncGenerator<Buffer> {
    let missing = size;
    while (missing > 0) {
      if (this.#rest.length === 0) {
        const next = await this.#source.next();
        if (next.done === true) throw new Error('the output of git ends in the middle of an object');
        this.#rest = next.value;
        continue;
      }
      const part = this.#rest.subarray(0, missing);
      this.#rest = this.#rest.subarray(part.length);
      missing -= part.length;
      yield part;
    }
  }
}

/** Returns the tree of a commit, or of one folder in it. @throws AttemptFailure when there is no such folder */
export async function treeOf(git: Git, commit: string, subPath: string | undefined): Promise<string> {
  const revision = subPath === undefined ? `${commit}^{tree}` : `${commit}:${subPath}`;
  // `--batch-check` answers "missing" where `rev-parse` would fail with words that change.
  const answer = await git.run(['cat-file', '--batch-check'], { cwd: git.folder, stdin: Readable.from([`${revision}\n`]) });
  const [object = '', type] = answer.toString('utf8').trim().split(' ');
  if (type === 'tree') return object;
  const what = type === 'blob' ? 'is a file or a link' : 'is not there';
  const cure = 'correct spec.workspace.git.subPath in a new task';
  throw new AttemptFailure('InvalidInput', 'SubPathNotFound', `folder ${subPath ?? '/'} ${what} in commit ${commit}; ${cure}`);
}

/** Entry of a tree for one path. */
export interface Listed {
  readonly mode: string;
  readonly type: string;
  readonly object: string;
  readonly size: number;
  readonly path: string;
}

/**
 * Yields files, folders and links of a tree, with contents as stored in the repository: no filter, no line-end
 * conversion, no large file storage. A submodule becomes an empty folder.
 */
export async function* treeEntries(git: Git, listed: readonly Listed[]): AsyncGenerator<Entry> {
  const blobs = listed.filter(({ type }) => type === 'blob');
  const ids = Readable.from(blobs.map(({ object }) => `${object}\n`));
  const stream = git.stream(['cat-file', '--batch', '--buffer'], { cwd: git.folder, stdin: ids });
  const reader = new ByteReader(stream);
  try {
    for (const entry of listed) yield entry.type === 'blob' ? await blob(reader, entry) : folder(entry);
    if ((await reader.line()) !== null) throw new Error('git cat-file sends more than it was asked for');
  } finally {
    await stream.return(undefined);
  }
}

/**
 * Lists all paths of a tree. A few small trees that hold each other can name billions of files, and git unfolds them
 * into memory: the list is cut where the workspace would be, before git itself unfolds the tree. @throws AttemptFailure
 */
export async function listTree(git: Git, tree: string): Promise<readonly Listed[]> {
  const listed: Listed[] = [];
  const { limitBytes } = git.settings;
  let bytes = 0;
  for await (const entry of list(git, tree)) {
    bytes += entry.size;
    if (bytes > limitBytes) throw tooLarge(`is over ${limitBytes} bytes`);
    if (listed.length >= maxEntries) throw tooLarge(`has over ${maxEntries} files and folders`);
    listed.push(entry);
  }
  return listed;
}

const folder = ({ path }: Listed): Entry => ({ path, kind: 'Folder', mode: 0o755, size: 0 });

/** The next object of `cat-file --batch`; its content has to be read before the next one is asked for. */
async function blob(reader: ByteReader, { mode, object, size, path }: Listed): Promise<Entry> {
  const head = await reader.line();
  if (head !== `${object} blob ${size}`) throw new Error(`git cat-file answers "${head ?? 'nothing'}" for ${object}`);
  async function* content(): AsyncGenerator<Buffer> {
    yield* reader.bytes(size);
    for await (const _ of reader.bytes(1)); // the newline after it
  }
  if (mode !== '120000') return { path, kind: 'File', mode: mode === '100755' ? 0o755 : 0o644, size, content };
  const parts: Buffer[] = [];
  if (size > 4095) throw unsafe(path, 'is a link with a target of over 4095 bytes');
  for await (const part of content()) parts.push(part);
  const target = utf8(Buffer.concat(parts).subarray(0, size), path);
  if (target === '' || target.includes('\0')) throw unsafe(path, 'is a link without a valid target');
  return { path, kind: 'Link', mode: 0o777, size: 0, target };
}

/** Yields `<mode> <type> <object> <size>\t<path>`, ended by a zero byte, folders before their content. */
async function* list(git: Git, tree: string): AsyncGenerator<Listed> {
  const reader = new ByteReader(git.stream(['ls-tree', '-r', '-t', '-z', '-l', '--full-tree', tree], { cwd: git.folder }), 0);
  for (let bytes = await reader.record(); bytes !== null; bytes = await reader.record()) {
    const tab = bytes.indexOf(9);
    const [mode = '', type = '', object = '', size = ''] = bytes.subarray(0, tab).toString('latin1').split(/ +/);
    const path = utf8(bytes.subarray(tab + 1), bytes.subarray(tab + 1).toString('latin1'));
    const parts = path.split('/');
    if (parts.some((part) => part === '' || part === '.' || part === '..' || part.toLowerCase() === '.git')) {
      throw unsafe(path, 'would lead out of the workspace or into .git');
    }
    yield { mode, type, object, size: type === 'blob' ? Number(size) : 0, path };
  }
}

function utf8(bytes: Buffer, path: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new AttemptFailure('InvalidInput', 'NameNotUTF8', `${path}: names and link targets must be UTF-8; rename it in the repository`);
  }
}

function unsafe(path: string, what: string): AttemptFailure {
  return new AttemptFailure('InvalidInput', 'UnsafeRepository', `${path} ${what}; remove it from the repository`);
}
