/** A commit of a Git repository as entries. Only objects are read; nothing is checked out. May import `egress`, `base`, `protocol` and `kube`. */
import { createReadStream } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileEntry, type Entry } from '../entries/entry.ts';
import { fetchCommit, type Start } from './fetch.ts';
import { prepare, type Git } from './program.ts';
import { listTree, treeEntries, treeOf } from './tree.ts';
import type { GitSettings, GitSource } from './settings.ts';
export type { GitCredential } from './settings.ts';

export { credentialFor } from './credential.ts';
export { scrub } from './failures.ts';
export { fetchCommit } from './fetch.ts';
export { prepare as openGit, type Git } from './program.ts';

/**
 * Fetches what the task names and lists it: the commit's files, and without a `subPath` the repository itself below
 * `.git`, so that history and `git diff` are available.
 *
 * @throws AttemptFailure
 */
export async function gitEntries(
  source: GitSource,
  settings: GitSettings,
): Promise<{ readonly commit: string; readonly entries: AsyncIterable<Entry> }> {
  const git = await prepare(source.url, settings);
  const start = await fetchCommit(git, source);
  const listed = await listTree(git, await treeOf(git, start.commit, source.subPath));
  async function* entries(): AsyncGenerator<Entry> {
    if (source.subPath === undefined) yield* metadataEntries(git, source.url, start);
    yield* treeEntries(git, listed);
  }
  return { commit: start.commit, entries: entries() };
}

/**
 * The `.git` of the workspace, made from an allowlist: packs, shallow marks, an index, and a configuration and refs
 * that are written here. No state of the worker (paths, settings, credentials, logs) can be in it.
 */
async function* metadataEntries(git: Git, url: string, start: Start): AsyncGenerator<Entry> {
  for (const folder of ['', '/objects', '/objects/info', '/objects/pack', '/refs', '/refs/heads', '/refs/tags', '/info']) {
    yield { path: `.git${folder}`, kind: 'Folder', mode: 0o755, size: 0 };
  }
  yield fileEntry('.git/HEAD', start.name?.startsWith('refs/heads/') ? `ref: ${start.name}\n` : `${start.commit}\n`, 0o644);
  yield fileEntry('.git/config', configuration(url, start), 0o644);
  yield fileEntry('.git/packed-refs', packedRefs(start), 0o644);
  yield fileEntry('.git/info/exclude', '', 0o644);
  const shallow = await readFile(join(git.folder, 'shallow')).catch(() => null);
  if (shallow !== null) yield fileEntry('.git/shallow', shallow, 0o644);
  const index = join(git.settings.scratch, 'index');
  await git.run(['read-tree', start.commit], { cwd: git.folder, env: { GIT_INDEX_FILE: index } });
  yield await copied('.git/index', index, 0o644);
  const packs = join(git.folder, 'objects', 'pack');
  for (const name of (await readdir(packs)).sort()) {
    if (/^pack-[0-9a-f]+\.(?:pack|idx|rev)$/.test(name)) yield await copied(`.git/objects/pack/${name}`, join(packs, name), 0o444);
  }
}

async function copied(path: string, file: string, mode: number): Promise<Entry> {
  const { size } = await stat(file);
  return { path, kind: 'File', mode, size, content: () => createReadStream(file) as AsyncIterable<Uint8Array> };
}

function configuration(url: string, { name, objectFormat }: Start): string {
  const quoted = `"${url.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
  const branch = name?.startsWith('refs/heads/') ? name.slice('refs/heads/'.length) : undefined;
  return [
    '[core]',
    `\trepositoryformatversion = ${objectFormat === 'sha256' ? 1 : 0}`,
    '\tfilemode = true',
    '\tbare = false',
    '\tlogallrefupdates = true',
    ...(objectFormat === 'sha256' ? ['[extensions]', '\tobjectformat = sha256'] : []),
    '[remote "origin"]',
    `\turl = ${quoted}`,
    '\tfetch = +refs/heads/*:refs/remotes/origin/*',
    ...(branch === undefined ? [] : [`[branch "${branch}"]`, '\tremote = origin', `\tmerge = refs/heads/${branch}`]),
    '',
  ].join('\n');
}

function packedRefs({ name, object, commit }: Start): string {
  if (name === undefined) return '';
  const lines = [`${object} ${name}`];
  if (name.startsWith('refs/heads/')) lines.push(`${commit} refs/remotes/origin/${name.slice('refs/heads/'.length)}`);
  else if (object !== commit) lines.push(`^${commit}`);
  return `# pack-refs with: peeled fully-peeled sorted \n${lines.join('\n')}\n`;
}
