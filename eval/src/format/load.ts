/** Reads packs from disk and refuses faulty ones. */
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { applyPatch, parsePatch } from 'diff';
import {
  PackError,
  maxIdCharacters,
  seedOf,
  type Changes,
  Instance,
  type PackCheck,
  PackManifest,
  type PackTask,
  type RepositoryEntry,
  type Tree,
  halves,
  type Half,
  type Pack,
  TaskFile,
} from './types.ts';
import { existsSync, readdirSync } from 'node:fs';
import { Ajv, type ValidateFunction } from 'ajv';
import { load, YAMLException } from 'js-yaml';
import { buildTasks } from './build.ts';
import { packageFiles, systemPackages, type PackageSource } from './packages.ts';

const timeoutSeconds = 60;

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

/** Returns the changes of a unified diff to a tree. @throws PackError naming the file that it does not fit */
export function patchChanges(tree: Tree, patch: string): Changes {
  const changes: Record<string, string | null> = {};
  for (const file of parsePatch(patch)) {
    const [from, to] = [pathOf(file.oldFileName), pathOf(file.newFileName)];
    const after = applyPatch(from === nowhere ? '' : (tree[from] ?? ''), file);
    if (after === false || (from !== nowhere && tree[from] === undefined))
      throw new PackError(`has a patch that does not fit ${from === nowhere ? to : from}; make it again against base_commit`);
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

/** Builds the tasks of all instances. @throws PackError naming the instance and its fault */
async function buildInstances(folder: string, manifest: PackManifest, instances: readonly Instance[]): Promise<PackTask[]> {
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

/** Parses text as data of a known shape. @throws PackError naming the file, the member and the expected form */
function parse<T>(file: string, text: string, parser: (text: string) => unknown, validate: ValidateFunction<T>): T {
  const data = read(file, text, parser);
  if (validate(data)) return data;
  const faults = (validate.errors ?? []).map(({ instancePath, message, params }) => {
    const extra = (params as { additionalProperty?: string }).additionalProperty;
    return `${instancePath || 'the file'} ${message ?? 'is wrong'}${extra === undefined ? '' : `: ${extra}`}`;
  });
  throw new PackError(`${file}: ${faults.join('; ')}; the fields are described in test/packs/README.md`);
}

function read(file: string, text: string, parser: (text: string) => unknown): unknown {
  try {
    return parser(text);
  } catch (error) {
    if (error instanceof YAMLException || error instanceof SyntaxError) throw new PackError(`${file} cannot be read: ${error.message}`);
    throw error;
  }
}

function halfOf(manifest: PackManifest, family: string): Half {
  const found = halves.filter((half) => manifest.halves[half].includes(family));
  if (found.length > 1) throw new PackError(`${manifest.name}: ${family} lies in both halves; keep it in one list of pack.json`);
  if (found[0] === undefined) throw new PackError(`${manifest.name}: ${family} lies in no half; add it to a list of pack.json`);
  return found[0];
}

function refuseRepeats(tasks: readonly PackTask[]): void {
  const seen = new Set<string>();
  for (const { id } of tasks) {
    if (seen.has(id)) throw new PackError(`task ${id} is there twice; give one of them another id`);
    seen.add(id);
  }
}

/** The family with the files of its packages among its own. @throws PackError naming the file */
async function withPackages(file: string, data: TaskFile, source: PackageSource): Promise<TaskFile> {
  if (data.packages === undefined) return data;
  const kept = await packageFiles(data.packages, source).catch((error: unknown) => {
    throw error instanceof PackError ? new PackError(`${file}: ${error.message}`) : error;
  });
  const twice = Object.keys(data.files).find((path) => path in kept);
  if (twice !== undefined) throw new PackError(`${file}: ${twice} is in "files" and in a package; keep one`);
  return { ...data, files: { ...kept, ...data.files } };
}

/** Names of the packs in a folder. */
const packsIn = (folder: string): readonly string[] =>
  existsSync(folder) ? readdirSync(folder).filter((name) => existsSync(join(folder, name, 'pack.json'))) : [];

/**
 * Reads the pack in a folder; only one whose families have packages needs a registry, and only once. Faults that only a
 * run shows are left to the verifier.
 *
 * @throws PackError on the first fault, naming file or task, fault and cure
 */
export async function loadPack(folder: string, source: PackageSource = systemPackages()): Promise<Pack> {
  const ajv = new Ajv({ allErrors: true, strictTypes: false, allowUnionTypes: true });
  const about = join(folder, 'pack.json');
  const text = await readFile(about, 'utf8').catch(() => {
    const others = packsIn(dirname(folder)).join(', ');
    throw new PackError(
      `${folder} is no pack: it has no pack.json; ${others === '' ? 'name a folder of test/packs' : `beside it are ${others}`}`,
    );
  });
  const manifest = parse(about, text, (json) => JSON.parse(json) as unknown, ajv.compile<PackManifest>(PackManifest));
  const instances = join(folder, 'instances.jsonl');
  const tasks = existsSync(instances) ? await readInstances(ajv, folder, manifest) : await readFamilies(ajv, folder, manifest, source);
  if (tasks.length === 0) throw new PackError(`${folder} has no tasks; add files to its folder tasks`);
  refuseRepeats(tasks);
  return { manifest, tasks };
}

async function readFamilies(ajv: Ajv, folder: string, manifest: PackManifest, source: PackageSource): Promise<PackTask[]> {
  const validate = ajv.compile<TaskFile>(TaskFile);
  const names = (await readdir(join(folder, 'tasks'))).filter((name) => name.endsWith('.yaml')).sort();
  const families = names.map((name) => name.slice(0, -'.yaml'.length));
  const absent = halves.flatMap((half) => manifest.halves[half]).find((family) => !families.includes(family));
  if (absent !== undefined)
    throw new PackError(`${join(folder, 'pack.json')}: there is no tasks/${absent}.yaml; write it or take it out of "halves"`);
  const tasks: PackTask[] = [];
  for (const family of families) {
    const file = join(folder, 'tasks', `${family}.yaml`);
    const data = parse(file, await readFile(file, 'utf8'), (yaml) => load(yaml), validate);
    tasks.push(...buildTasks(await withPackages(file, data, source), { pack: manifest.name, family, half: halfOf(manifest, family) }));
  }
  return tasks;
}

async function readInstances(ajv: Ajv, folder: string, manifest: PackManifest): Promise<PackTask[]> {
  const file = join(folder, 'instances.jsonl');
  const validate = ajv.compile<Instance>(Instance);
  const lines = (await readFile(file, 'utf8')).split('\n').filter((line) => line.trim() !== '');
  const json = (text: string): unknown => JSON.parse(text) as unknown;
  return buildInstances(
    folder,
    manifest,
    lines.map((line, at) => parse(`${file}:${at + 1}`, line, json, validate)),
  );
}
