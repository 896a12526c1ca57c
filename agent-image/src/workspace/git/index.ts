/** A commit of a Git repository as entries. Only objects are read; nothing is checked out. May import `egress`, `base`, `protocol` and `kube`. */
import type { Entry } from '../entries/entry.ts';
import { fetchCommit } from './fetch.ts';
import { metadataEntries } from './metadata.ts';
import { prepare } from './program.ts';
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
): Promise<{ readonly description: string; readonly commit: string; readonly entries: AsyncIterable<Entry> }> {
  const git = await prepare(source.url, settings);
  const start = await fetchCommit(git, source);
  const listed = await listTree(git, await treeOf(git, start.commit, source.subPath));
  async function* entries(): AsyncGenerator<Entry> {
    if (source.subPath === undefined) yield* metadataEntries(git, source.url, start);
    yield* treeEntries(git, listed);
  }
  const where = source.subPath === undefined ? '' : `, folder ${source.subPath}`;
  return { description: `${start.commit} (${source.ref}${where})`, commit: start.commit, entries: entries() };
}
