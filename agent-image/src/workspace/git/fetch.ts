import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { sleep } from '@agentfleet/kube';
import { AttemptFailure } from '../../base/failure.ts';
import { tooLarge } from '../entries/entry.ts';
import { scrub } from './failures.ts';
import type { Git } from './program.ts';
import type { GitSource } from './settings.ts';

/** Start of the work. */
export interface Start {
  readonly commit: string;
  /** Full name of the branch or tag; undefined for a commit. */
  readonly name?: string;
  /** Target of `name`: the commit, or an annotated tag. */
  readonly object: string;
  readonly objectFormat: 'sha1' | 'sha256';
}

/** The fetched object is kept under this name in the worker's copy only. */
const startRef = 'refs/agentfleet/start';

/** Fetches exactly one branch, tag or commit into a fresh bare repository. @throws AttemptFailure */
export async function fetchCommit(git: Git, { ref, depth, subPath }: GitSource): Promise<Start> {
  const { name, object } = await resolveRef(git, ref);
  const objectFormat = object.length === 64 ? 'sha256' : 'sha1';
  await git.run(['init', '--quiet', '--bare', `--object-format=${objectFormat}`, git.folder]);
  // Without `.git` the history is not visible.
  const commits = subPath === undefined ? depth : 1;
  await withSizeLimit(git, (signal) =>
    git.run(
      [
        'fetch',
        '--quiet',
        '--no-tags',
        '--no-recurse-submodules',
        '--no-write-fetch-head',
        '--no-auto-maintenance',
        ...(commits === undefined ? [] : [`--depth=${commits}`]),
        git.url,
        `+${name ?? object}:${startRef}`,
      ],
      { cwd: git.folder, signal },
    ),
  );
  const at = async (revision: string): Promise<string> => text(await git.run(['rev-parse', revision], { cwd: git.folder }));
  const type = text(await git.run(['cat-file', '-t', `${startRef}^{}`], { cwd: git.folder }));
  if (type !== 'commit') throw refNotFound(git, ref, `it is a ${type}, not a commit`);
  return { commit: await at(`${startRef}^{commit}`), object: await at(startRef), objectFormat, ...(name !== undefined && { name }) };
}

/** A branch comes before a tag of the same name, as in `git clone --branch`. */
async function resolveRef(git: Git, ref: string): Promise<{ readonly name?: string; readonly object: string }> {
  const names = [`refs/heads/${ref}`, `refs/tags/${ref}`, ...(ref.startsWith('refs/') || ref === 'HEAD' ? [ref] : [])];
  const listed = new Map<string, string>();
  for (const line of text(await git.run(['ls-remote', '--quiet', git.url, ...names])).split('\n')) {
    const [object, name] = line.split('\t');
    if (object !== undefined && name !== undefined) listed.set(name, object);
  }
  for (const name of names) {
    const object = listed.get(name);
    if (object !== undefined) return name === 'HEAD' ? { object } : { name, object };
  }
  if (/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(ref)) return { object: ref };
  const short = /^[0-9a-f]{7,63}$/.test(ref) ? '; a commit needs all of its 40 digits' : '';
  throw refNotFound(git, ref, `no branch or tag has this name${short}`);
}

function refNotFound(git: Git, ref: string, why: string): AttemptFailure {
  const where = scrub(git.url, []);
  return new AttemptFailure(
    'InvalidInput',
    'RefNotFound',
    `${where} has no ref ${ref}: ${why}; correct spec.workspace.git.ref in a new task`,
  );
}

/** Git has no limit for a fetch: the growing pack is watched, and git is ended when it is too large. */
async function withSizeLimit(git: Git, fetch: (signal: AbortSignal) => Promise<unknown>): Promise<void> {
  const { clock, limitBytes } = git.settings;
  const over = new AbortController();
  const finished = new AbortController();
  const check = async (): Promise<void> => {
    if ((await bytesBelow(git.folder)) > limitBytes) over.abort(tooLarge(`with its history is over ${limitBytes} bytes`));
  };
  const watch = async (): Promise<void> => {
    while (await sleep(clock, 500, finished.signal)) await check();
  };
  const watching = watch();
  try {
    await fetch(over.signal);
  } finally {
    finished.abort();
    await watching;
  }
  await check();
  over.signal.throwIfAborted();
}

async function bytesBelow(folder: string): Promise<number> {
  let sum = 0;
  // Files appear and vanish while git works.
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    const size = (await lstat(join(entry.parentPath, entry.name)).catch(() => null))?.size;
    if (entry.isFile()) sum += size ?? 0;
  }
  return sum;
}

const text = (bytes: Buffer): string => bytes.toString('utf8').trim();
