import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Features, featureSet } from '@agentfleet/protocol/inference';
import { Ajv } from 'ajv';
import { exampleSchema, exampleSplits, strata, type Example } from './example.ts';
import { linesOf, manifestOf, type DataManifest } from './manifest.ts';
import { InvalidData } from './refuse.ts';

const validate = new Ajv({ allErrors: true, strictTypes: false }).compile<Example>({
  type: 'object',
  additionalProperties: false,
  required: ['id', 'problem', 'split', 'head', 'stratum', 'text', 'operator', 'features', 'replays'],
  properties: {
    id: { type: 'string', minLength: 1 },
    problem: { type: 'string', minLength: 1 },
    split: { enum: [...exampleSplits] },
    head: { enum: ['Code', 'Shell', 'Editor'] },
    stratum: { enum: [...strata] },
    text: { type: 'string' },
    operator: { type: 'string' },
    features: Features,
    replays: { type: 'array', items: { type: 'boolean' } },
  },
});

/** Writes a data set: a file of lines for each split, and `manifest.json`. */
export async function writeData(folder: string, examples: readonly Example[], seed: number): Promise<DataManifest> {
  const manifest = manifestOf(examples, seed);
  await mkdir(folder, { recursive: true });
  for (const split of exampleSplits) await writeFile(join(folder, `${split}.jsonl`), linesOf(examples, split));
  await writeFile(join(folder, 'manifest.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  return manifest;
}

async function textOf(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((cause: unknown) => {
    throw new InvalidData(`${file} cannot be read; generate the data set anew`, { cause });
  });
}

function exampleOf(line: string, where: string): Example {
  let found: unknown;
  try {
    found = JSON.parse(line);
  } catch (cause) {
    throw new InvalidData(`${where} is no JSON; generate the data set anew`, { cause });
  }
  if (validate(found)) return found;
  const [fault] = validate.errors ?? [];
  throw new InvalidData(`${where}: ${fault?.instancePath ?? ''} ${fault?.message ?? 'is wrong'}; generate the data set anew`);
}

/**
 * Reads a data set that `writeData` wrote.
 *
 * @throws InvalidData when it is of another schema or other features, or when its lines are not those of its manifest
 */
export async function readData(folder: string): Promise<{ readonly examples: readonly Example[]; readonly manifest: DataManifest }> {
  const file = join(folder, 'manifest.json');
  const manifest = JSON.parse(await textOf(file)) as DataManifest;
  if (manifest.schema !== exampleSchema)
    throw new InvalidData(`${file} is of schema ${manifest.schema}, not ${exampleSchema}; generate the data set anew`);
  if (manifest.featureSet !== featureSet)
    throw new InvalidData(`${file} has features ${manifest.featureSet}, not ${featureSet}; extract them anew`);
  const examples: Example[] = [];
  for (const split of exampleSplits) {
    const lines = (await textOf(join(folder, `${split}.jsonl`))).split('\n').filter((line) => line !== '');
    for (const [at, line] of lines.entries()) examples.push(exampleOf(line, `${join(folder, `${split}.jsonl`)}:${at + 1}`));
  }
  const found = manifestOf(examples, manifest.seed);
  if (found.digest !== manifest.digest)
    throw new InvalidData(`${folder} has ${found.digest}, its manifest says ${manifest.digest}; it was changed, generate it anew`);
  return { examples, manifest: found };
}
