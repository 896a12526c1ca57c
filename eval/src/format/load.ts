/** Reads packs from disk and refuses what is wrong with them. */
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Ajv, type ValidateFunction } from 'ajv';
import { load, YAMLException } from 'js-yaml';
import { buildTasks } from './build.ts';
import { PackError } from './failure.ts';
import { buildInstances } from './instances.ts';
import { packageFiles, systemPackages, type PackageSource } from './packages.ts';
import { instanceSchema, manifestSchema, taskFileSchema } from './schema.ts';
import { halves, type Half, type Instance, type Pack, type PackManifest, type PackTask, type TaskFile } from './types.ts';

/** Text as data of a known shape. @throws PackError naming the file, the member and what is expected there */
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

/**
 * Reads the pack in a folder; only one whose families have packages needs a registry, and that once. What can only be seen by running it
 * is the verifier's.
 *
 * @throws PackError on the first fault, naming file or task, fault and cure
 */
export async function loadPack(folder: string, source: PackageSource = systemPackages()): Promise<Pack> {
  const ajv = new Ajv({ allErrors: true, strictTypes: false, allowUnionTypes: true });
  const about = join(folder, 'pack.json');
  const text = await readFile(about, 'utf8').catch(() => {
    throw new PackError(`${folder} is no pack: it has no pack.json; name a folder of test/packs`);
  });
  const manifest = parse(about, text, (json) => JSON.parse(json) as unknown, ajv.compile<PackManifest>(manifestSchema));
  const instances = join(folder, 'instances.jsonl');
  const tasks = existsSync(instances) ? await readInstances(ajv, folder, manifest) : await readFamilies(ajv, folder, manifest, source);
  if (tasks.length === 0) throw new PackError(`${folder} has no tasks; add files to its folder tasks`);
  refuseRepeats(tasks);
  return { manifest, tasks };
}

async function readFamilies(ajv: Ajv, folder: string, manifest: PackManifest, source: PackageSource): Promise<PackTask[]> {
  const validate = ajv.compile<TaskFile>(taskFileSchema);
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
  const validate = ajv.compile<Instance>(instanceSchema);
  const lines = (await readFile(file, 'utf8')).split('\n').filter((line) => line.trim() !== '');
  const json = (text: string): unknown => JSON.parse(text) as unknown;
  return buildInstances(
    folder,
    manifest,
    lines.map((line, at) => parse(`${file}:${at + 1}`, line, json, validate)),
  );
}
