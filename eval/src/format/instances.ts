/** Reads a pack of issues: `instances.jsonl` in the instance format of SWE-bench, and the repositories that it names. */
import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { applyPatch, parsePatch } from 'diff';
import { PackError } from './failure.ts';
import { maxIdCharacters, seedOf } from './identity.ts';
import type { Changes, Instance, PackCheck, PackManifest, PackTask, RepositoryEntry, Tree } from './types.ts';

const timeoutSeconds = 60;

/** Text files below a folder. */
async function treeOf(folder: string): Promise<Tree> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch((cause: unknown) => {
    throw new PackError(`names sources that are not in ${folder}; put them there`, { cause });
  });
  const files = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  const read = await Promise.all(
    files.map(async (file): Promise<[string, string]> => [relative(folder, file), await readFile(file, 'utf8')]),
  );
  return Object.fromEntries(read.sort(([one], [other]) => (one < other ? -1 : 1)));
}

const nowhere = '/dev/null';
const pathOf = (name: string | undefined): string => (name ?? nowhere).replace(/^[ab]\//, '');

/** What a unified diff does to a tree. @throws PackError naming the file that it does not fit */
export function patchChanges(tree: Tree, patch: string): Changes {
  const changes: Record<string, string | null> = {};
  for (const file of parsePatch(patch)) {
    const [from, to] = [pathOf(file.oldFileName), pathOf(file.newFileName)];
    const after = applyPatch(from === nowhere ? '' : (tree[from] ?? ''), file);
    if (after === false || (from !== nowhere && tree[from] === undefined))
      throw new PackError(`has a patch that does not fit ${from === nowhere ? to : from}; make it anew against base_commit`);
    if (from !== nowhere && from !== to) changes[from] = null;
    if (to !== nowhere) changes[to] = after;
  }
  return changes;
}

const namesOf = (tests: string | readonly string[]): readonly string[] =>
  typeof tests === 'string' ? (JSON.parse(tests) as readonly string[]) : tests;

/** Files that a patch of tests writes; one that removes a test is refused, because nothing could be laid out for it. */
function written(tree: Tree, patch: string, name: string): Tree {
  const entries = Object.entries(patchChanges(tree, patch));
  const removed = entries.find(([, content]) => content === null);
  if (removed !== undefined) throw new PackError(`removes ${removed[0]} by its ${name}; leave it there`);
  return Object.fromEntries(entries as [string, string][]);
}

function buildInstance(pack: string, instance: Instance, repository: RepositoryEntry, tree: Tree): PackTask {
  const { command } = repository;
  const check = (files: Tree, start: PackCheck['start']): PackCheck => ({ command, timeoutSeconds, files, start });
  const seen = instance.visible_patch === undefined ? {} : written(tree, instance.visible_patch, 'visible_patch');
  const files = { ...tree, ...seen };
  const tests = { failing: namesOf(instance.FAIL_TO_PASS), passing: namesOf(instance.PASS_TO_PASS) };
  const hiddenFiles = written(tree, instance.test_patch, 'test_patch');
  const shown = Object.keys(hiddenFiles).find((path) => files[path] === hiddenFiles[path]);
  if (shown !== undefined) throw new PackError(`shows its hidden file ${shown}; change it by test_patch or leave it out of there`);
  const family = instance.repo.replaceAll('/', '-').toLowerCase();
  const id = `${pack}/${instance.instance_id}`;
  if (id.length > maxIdCharacters)
    throw new PackError(`has an id of ${id.length} characters; ${maxIdCharacters} fit the name of an object`);
  return {
    id,
    pack,
    family,
    half: repository.half,
    languages: [repository.language],
    kind: 'single',
    goal: instance.problem_statement.trim(),
    needs: repository.needs ?? [],
    files,
    setup: [],
    visible: check(seen, instance.visible_patch === undefined ? 'passes' : 'fails'),
    hidden: { ...check(hiddenFiles, 'fails'), tests },
    oracle: { files: patchChanges(tree, instance.patch) },
    partial: [],
    decoys: [],
    facts: { repo: instance.repo, base: instance.base_commit, version: instance.version },
    seed: seedOf(id),
    tags: ['issue'],
  };
}

/** The tasks of all instances. @throws PackError naming the instance and what is wrong with it */
export async function buildInstances(folder: string, manifest: PackManifest, instances: readonly Instance[]): Promise<PackTask[]> {
  const trees = new Map<string, Tree>();
  const tasks: PackTask[] = [];
  for (const instance of instances) {
    try {
      const repository = manifest.repos?.[instance.repo];
      if (repository === undefined) throw new PackError(`names ${instance.repo}, which is not under "repos" of pack.json; add it there`);
      const place = join(folder, 'repos', instance.repo.replaceAll('/', '__'), instance.base_commit);
      const tree = trees.get(place) ?? (await treeOf(place));
      trees.set(place, tree);
      tasks.push(buildInstance(manifest.name, instance, repository, tree));
    } catch (error) {
      if (error instanceof PackError) throw new PackError(`instance ${instance.instance_id} ${error.message}`, { cause: error });
      throw error;
    }
  }
  return tasks;
}
