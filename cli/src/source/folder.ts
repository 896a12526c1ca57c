import { execFile } from 'node:child_process';
import { lstat, opendir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import type { AgentTask } from '@agentfleet/protocol/api';
import { CliError } from '../base/failure.ts';

type Workspace = AgentTask['spec']['workspace'];

const execute = promisify(execFile);
/** Limits of the API for files that are part of an object: `spec.workspace.inline`. */
const most = { files: 64, characters: 524_288, ofFile: 262_144 } as const;
/** Never part of a source unless git tracks it, also where no `.gitignore` lists it. */
const skipped = new Set(['.git', '.env', 'node_modules', '.venv', '__pycache__']);

async function git(folder: string, ...args: readonly string[]): Promise<string | undefined> {
  const env = { ...process.env, GIT_OPTIONAL_LOCKS: '0' };
  return execute('git', ['-C', folder, ...args], { maxBuffer: 64 * 1024 * 1024, env }).then(
    ({ stdout }) => stdout,
    () => undefined,
  );
}

/** Files below a folder, at most one more than an object takes: a folder of gigabytes is not walked to its end. */
async function walked(folder: string): Promise<readonly string[]> {
  const found: string[] = [];
  const waiting = [folder];
  for (let next = waiting.pop(); next !== undefined && found.length <= most.files; next = waiting.pop()) {
    for await (const entry of await opendir(next)) {
      if (skipped.has(entry.name)) continue;
      const path = join(next, entry.name);
      if (entry.isDirectory()) waiting.push(path);
      else found.push(relative(folder, path));
      if (found.length > most.files) break;
    }
  }
  return found.sort();
}

async function filesOf(folder: string): Promise<readonly string[]> {
  const listed = async (...which: readonly string[]): Promise<readonly string[] | undefined> =>
    (await git(folder, 'ls-files', '-z', ...which))?.split('\0').filter((path) => path !== '');
  const tracked = await listed('--cached');
  const others = await listed('--others', '--exclude-standard');
  if (tracked === undefined || others === undefined) return walked(folder);
  const isSkipped = (path: string): boolean => path.split('/').some((segment) => skipped.has(segment));
  return [...new Set([...tracked, ...others.filter((path) => !isSkipped(path))])].sort();
}

type Packed = { readonly workspace: Workspace } | { readonly why: string };

/** The files as part of the task, or why they cannot be. */
async function inlined(folder: string): Promise<Packed> {
  const paths = await filesOf(folder);
  if (paths.length === 0) throw new CliError(`${folder} has no files; correct --from`);
  if (paths.length > most.files) return { why: `it has more than ${most.files} files` };
  const files: { path: string; content: string; mode: number }[] = [];
  let characters = 0;
  for (const path of paths) {
    const found = await lstat(join(folder, path)).catch(() => undefined);
    // Deleted, and not committed yet.
    if (found === undefined) continue;
    if (!found.isFile()) return { why: `${path} is no regular file` };
    if (found.size > most.ofFile) return { why: `${path} has ${found.size} bytes, and ${most.ofFile} fit` };
    const bytes = await readFile(join(folder, path));
    const content = bytes.toString('utf8');
    if (!Buffer.from(content).equals(bytes)) return { why: `${path} is not text in UTF-8` };
    characters += content.length;
    if (characters > most.characters) return { why: `its files have more than ${most.characters} characters` };
    files.push({ path: path.replaceAll('\\', '/'), content, mode: (found.mode & 0o111) === 0 ? 0o644 : 0o755 });
  }
  return { workspace: { type: 'Inline', inline: { files } } };
}

/** A branch of a remote. */
interface RemoteBranch {
  readonly url: string;
  /** Without the remote before it. */
  readonly name: string;
  /** Whether the branch ends with the commit. */
  readonly isTip: boolean;
}

/** Addresses from which workers fetch. */
const fetchable = /^https:\/\/[^/@]+\/\S+$/;

/**
 * The branch that a commit was most likely pushed to. Of those that can be fetched, and then of those that end with it: the one that HEAD
 * follows, the default branch of a remote, one of `origin`.
 */
async function branchWith(folder: string, commit: string): Promise<RemoteBranch | undefined> {
  const format = '--format=%(objectname) %(refname:lstrip=2) %(symref:lstrip=2)';
  const listed = (await git(folder, 'branch', '--remotes', '--contains', commit, format)) ?? '';
  const refs = listed.split('\n').map((line) => line.split(' '));
  const defaults = new Set(refs.map(([, , target]) => target));
  const followed = (await git(folder, 'rev-parse', '--symbolic-full-name', '@{upstream}'))?.trim().replace('refs/remotes/', '');
  let best: { readonly rank: number; readonly branch: RemoteBranch } | undefined;
  for (const [at, ref = '', target] of refs) {
    if (ref === '' || target !== '') continue;
    const [remote = '', ...name] = ref.split('/');
    const url = (await git(folder, 'remote', 'get-url', remote))?.trim() ?? '';
    const isTip = at === commit;
    const preferred = [fetchable.test(url), isTip, ref === followed, defaults.has(ref), remote === 'origin'];
    const rank = preferred.reduce((sum, is) => 2 * sum + Number(is), 0);
    if (best === undefined || rank > best.rank) best = { rank, branch: { url, name: name.join('/'), isTip } };
  }
  return best?.branch;
}

/** The commit that is checked out, from where it was pushed to, or why it cannot be had from there; with `asBranch` the branch that ends with it. */
async function pushed(folder: string, asBranch = false): Promise<Packed> {
  const commit = (await git(folder, 'rev-parse', 'HEAD'))?.trim();
  if (commit === undefined) return { why: 'it is no checkout of a Git repository' };
  const changed = await git(folder, 'status', '--porcelain', '-z', '--', '.');
  if (changed !== '') return { why: 'it has changes that are not committed' };
  const branch = await branchWith(folder, commit);
  if (branch === undefined) return { why: `its commit ${commit.slice(0, 12)} is not pushed` };
  const { url, name, isTip } = branch;
  if (!fetchable.test(url)) return { why: `its remote ${url.replace(/\/\/[^/]*@/, '//')} is no https address without credentials` };
  const subPath = (await git(folder, 'rev-parse', '--show-prefix'))?.trim().replace(/\/$/, '') ?? '';
  return {
    workspace: {
      type: 'Git',
      git: { url, ref: asBranch && isTip ? name : commit, ...(subPath === '' ? {} : { subPath }) },
    },
  };
}

async function existing(folder: string): Promise<void> {
  const found = await lstat(folder).catch(() => undefined);
  if (found?.isDirectory() !== true) throw new CliError(`there is no folder ${folder}; correct --from`);
}

/**
 * The workspace of a task that begins with a folder: its files where they fit into the object, else the commit that is checked out,
 * where it was pushed. What git ignores is left out. @throws CliError with both reasons when neither can be
 */
export async function workspaceOf(folder: string): Promise<Workspace> {
  await existing(folder);
  const files = await inlined(folder);
  if ('workspace' in files) return files.workspace;
  const commit = await pushed(folder);
  if ('workspace' in commit) return commit.workspace;
  throw new CliError(
    `${folder} does not fit into a task (${files.why}), and cannot be fetched from a repository (${commit.why}); commit and push it to an https remote, or name a smaller folder with --from`,
  );
}

/**
 * The workspace of a task whose result goes back to the repository that a folder was pushed to: the branch that ends with its commit, or
 * the commit. @throws CliError with the reason when it cannot be had from there
 */
export async function repositoryOf(folder: string): Promise<Extract<Workspace, { readonly type: 'Git' }>> {
  await existing(folder);
  const commit = await pushed(folder, true);
  if ('workspace' in commit && commit.workspace.type === 'Git') return commit.workspace;
  throw new CliError(
    `a pull request from ${folder} cannot be made (${'why' in commit ? commit.why : ''}); commit and push it to an https remote, without credentials in its address`,
  );
}
