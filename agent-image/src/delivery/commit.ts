import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { partsOf } from '@agentfleet/protocol/keeper';
import { AttemptFailure } from '../base/failure.ts';
import { foldersAbove } from '../base/paths.ts';
import { planPacks } from '../durable/index.ts';
import type { Git } from '../workspace/index.ts';
import type { ChangedFile, ReadParts } from './changes.ts';

/** Inputs of a commit. Equal inputs give an equal commit, so that a second worker pushes the same one. */
interface CommitOrder {
  readonly base: string;
  readonly subPath: string | undefined;
  readonly message: string;
  /** Seconds since 1970. */
  readonly at: number;
  readonly files: readonly ChangedFile[];
  readonly read: ReadParts;
}

const resultRef = 'refs/agentfleet/result';
const author = 'AgentFleet <agentfleet@noreply.invalid>';
const maxBytes = 512 * 1024 * 1024;

/**
 * Writes the change as one commit onto its base, in the worker's own bare repository: the sandbox's `.git` is not used. As with
 * `git add`, files below a submodule stay out, and so do files that the repository ignores and does not track. `commit` is null where
 * nothing is left, `leftOut` are the files below submodules.
 *
 * @throws AttemptFailure
 */
export async function writeCommit(git: Git, order: CommitOrder) {
  const below = await belowSubmodules(git, order);
  const leftOut = [...below].map(({ shown }) => shown);
  const files = await withoutIgnored(git, { ...order, files: order.files.filter((file) => !below.has(file)) });
  const bytes = files.reduce((sum, { now }) => sum + (now?.size ?? 0), 0);
  if (bytes > maxBytes) {
    const cure = 'let the repository ignore what is built, or take the change from the artifacts';
    throw new AttemptFailure(
      'InvalidInput',
      'RepositoryTooLarge',
      `the change has ${bytes} bytes, and ${maxBytes} are pushed at most; ${cure}`,
    );
  }
  if (files.length === 0) return { commit: null, leftOut };
  await git.run(['fast-import', '--quiet'], { cwd: git.folder, stdin: Readable.from(stream({ ...order, files })) });
  const [commit, tree, before] = await Promise.all(
    [resultRef, `${resultRef}^{tree}`, `${order.base}^{tree}`].map(async (one) =>
      (await git.run(['rev-parse', one], { cwd: git.folder })).toString('latin1').trim(),
    ),
  );
  return { commit: tree === before ? null : (commit ?? null), leftOut };
}

/** git-fast-import(1). Contents come first, each once; the commit names them by their marks. */
async function* stream({ base, subPath, message, at, files, read }: CommitOrder): AsyncGenerator<Buffer> {
  const marks = new Map<string, number>();
  const contents = files.flatMap(({ now }) => (now?.sha256 === undefined ? [] : [{ sha256: now.sha256, size: now.size }]));
  const unique = [...new Map(contents.map((one) => [one.sha256, one])).values()];
  for (const pack of planPacks(unique)) {
    for (const { sha256, size, offset, bytes } of partsOf(await read(pack))) {
      if (offset === 0) {
        marks.set(sha256, marks.size + 1);
        yield Buffer.from(`blob\nmark :${marks.size}\ndata ${size}\n`);
      }
      yield bytes;
      if (offset + bytes.length === size) yield Buffer.from('\n');
    }
  }
  const words = Buffer.from(message);
  const who = `${author} ${at} +0000`;
  yield Buffer.from(`commit ${resultRef}\nauthor ${who}\ncommitter ${who}\ndata ${words.length}\n`);
  yield words;
  yield Buffer.from(`\nfrom ${base}\n`);
  // Removals come first: a folder may have become a file.
  const ordered = [...files].sort((a, b) => Number(a.now !== undefined) - Number(b.now !== undefined));
  for (const { path, now } of ordered) yield lineOf(inRepository(path, subPath), now, marks);
  yield Buffer.from('\ndone\n');
}

function lineOf(path: string, now: ChangedFile['now'], marks: ReadonlyMap<string, number>): Buffer {
  const name = quoted(path);
  if (now === undefined) return Buffer.from(`D ${name}\n`);
  if (now.target !== undefined) {
    const target = Buffer.from(now.target, 'latin1');
    return Buffer.concat([Buffer.from(`M 120000 inline ${name}\ndata ${target.length}\n`), target, Buffer.from('\n')]);
  }
  return Buffer.from(`M ${now.mode} :${marks.get(now.sha256 ?? '') ?? 0} ${name}\n`);
}

/** A path in the quotes of git, its bytes in octal where they are not plain. */
function quoted(path: string): string {
  const octal = (one: string): string => `\\${one.charCodeAt(0).toString(8).padStart(3, '0')}`;
  return `"${path.replaceAll(/[^ !#-[\]-~]/g, octal)}"`;
}

function inRepository(path: string, subPath: string | undefined): string {
  return subPath === undefined ? path : `${Buffer.from(subPath).toString('latin1')}/${path}`;
}

const sentinel = 'agentfleet-ignored';

/**
 * Like `git add`: files that the base tracks stay, and of the rest those that no `.gitignore` of the base names. What the set-up made
 * stands in the first snapshot and is not tracked for that.
 */
async function withoutIgnored(git: Git, { base, subPath, files }: CommitOrder): Promise<readonly ChangedFile[]> {
  const added = files.filter(({ now }) => now !== undefined).map(({ path }) => inRepository(path, subPath));
  if (added.length === 0) return files;
  const tree = join(git.settings.scratch, 'ignore');
  await mkdir(tree);
  await writeRules(git, base, tree, added);
  await mkdir(join(git.folder, 'info'), { recursive: true });
  await writeFile(join(git.folder, 'info', 'exclude'), `/${sentinel}\n`);
  const env = { GIT_INDEX_FILE: join(git.settings.scratch, 'ignore.index'), GIT_DIR: git.folder, GIT_WORK_TREE: tree };
  await git.run(['read-tree', base], { cwd: tree, env });
  // One is always ignored: without any, git's exit status would look like a failure. What the index holds is tracked and never listed.
  const asked = Buffer.from([sentinel, ...added].map((path) => `${path}\0`).join(''), 'latin1');
  const answer = await git.run(['check-ignore', '-z', '--stdin'], { cwd: tree, env, stdin: Readable.from([asked]) });
  const ignored = new Set(answer.toString('latin1').split('\0'));
  return files.filter(({ path }) => !ignored.has(inRepository(path, subPath)));
}

async function belowSubmodules(git: Git, { base, subPath, files }: CommitOrder): Promise<ReadonlySet<ChangedFile>> {
  const folders = (path: string): readonly string[] => [...foldersAbove([inRepository(path, subPath)])];
  const entries = await entriesOf(git, base, [...new Set(files.flatMap(({ path }) => folders(path)))]);
  const submodules = new Set(entries.flatMap(({ mode, path }) => (mode === '160000' ? [path] : [])));
  return new Set(files.filter(({ path }) => folders(path).some((folder) => submodules.has(folder))));
}

interface TreeEntry {
  /** As git writes it, such as `100644`. */
  readonly mode: string;
  readonly object: string;
  readonly path: string;
}

const perList = 500;

/** Entries of the base for those of some paths that it has. Bytes of paths are one a character. */
async function entriesOf(git: Git, base: string, paths: readonly string[]): Promise<readonly TreeEntry[]> {
  const entries: TreeEntry[] = [];
  for (let at = 0; at < paths.length; at += perList) {
    const some = paths.slice(at, at + perList).map((path) => Buffer.from(path, 'latin1').toString('utf8'));
    const answer = await git.run(['ls-tree', '-z', '--full-tree', base, '--', ...some], {
      cwd: git.folder,
      env: { GIT_LITERAL_PATHSPECS: '1' },
    });
    for (const line of answer.toString('latin1').split('\0')) {
      const [mode = '', , object = ''] = line.slice(0, line.indexOf('\t')).split(' ');
      if (line !== '') entries.push({ mode, object, path: line.slice(line.indexOf('\t') + 1) });
    }
  }
  return entries;
}

/** The `.gitignore` of each folder that something was added to, as the base has it. */
async function writeRules(git: Git, base: string, tree: string, added: readonly string[]): Promise<void> {
  const wanted = ['.gitignore', ...[...foldersAbove(added)].map((folder) => `${folder}/.gitignore`)];
  for (const { mode, object, path } of await entriesOf(git, base, wanted)) {
    if (!mode.startsWith('100')) continue;
    const rules = await git.run(['cat-file', 'blob', object], { cwd: git.folder });
    const file = Buffer.concat([Buffer.from(`${tree}/`), Buffer.from(path, 'latin1')]);
    await mkdir(Buffer.from(dirname(file.toString('latin1')), 'latin1'), { recursive: true });
    await writeFile(file, rules);
  }
}
