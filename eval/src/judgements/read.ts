/** Reads one half of a pack and refuses what does not fit `pack.json`. Nothing of an entry is ever run. */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Ajv, type ValidateFunction } from 'ajv';
import { manifestSchema } from './schema.ts';
import type { Count, Entry, Half, Manifest } from './types.ts';

/** A fault of a pack: file (and line), what is wrong, the cure. */
export class PackFault extends Error {
  override readonly name = 'PackFault';
}

const compiler = (): Ajv => new Ajv({ allErrors: true, discriminator: true, strictTypes: false, strictRequired: false });

function check<T>(where: string, data: unknown, validate: ValidateFunction<T>): T {
  if (validate(data)) return data;
  const faults = (validate.errors ?? []).map(({ instancePath, message, params }) => {
    const extra = (params as { additionalProperty?: string }).additionalProperty;
    return `${instancePath || 'the object'} ${message ?? 'is wrong'}${extra === undefined ? '' : `: ${extra}`}`;
  });
  throw new PackFault(`${where}: ${faults.join('; ')}; the members are described in eval/src/judgements/types.ts`);
}

function json(where: string, text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new PackFault(`${where} is no JSON: ${(error as Error).message}; write one object per line`);
  }
}

async function bytesOf(file: string): Promise<Buffer> {
  return readFile(file).catch((cause: unknown) => {
    throw new PackFault(`${file} cannot be read; restore it from the repository`, { cause });
  });
}

/**
 * Reads `pack.json`.
 *
 * @throws PackFault naming the member and what is expected there
 */
export async function readManifest(folder: string): Promise<Manifest> {
  const file = join(folder, 'pack.json');
  return check(file, json(file, (await bytesOf(file)).toString('utf8')), compiler().compile<Manifest>(manifestSchema));
}

/** Entries per label, plain and subtle. */
export function countLabels(entries: readonly Entry<string>[]): Record<string, Count> {
  const counts: Record<string, Count> = {};
  for (const { label, subtle } of entries) {
    const { plain, subtle: hidden } = counts[label] ?? { plain: 0, subtle: 0 };
    counts[label] = subtle ? { plain, subtle: hidden + 1 } : { plain: plain + 1, subtle: hidden };
  }
  return counts;
}

function refuseOtherCounts(file: string, promised: Manifest['halves'][Half], entries: readonly Entry<string>[]): void {
  if (entries.length !== promised.entries)
    throw new PackFault(`${file} has ${entries.length} entries, pack.json says ${promised.entries}; correct pack.json`);
  const counts = countLabels(entries);
  for (const label of new Set([...Object.keys(counts), ...Object.keys(promised.counts)])) {
    const [is, said] = [counts[label], promised.counts[label]];
    if (is?.plain !== said?.plain || is?.subtle !== said?.subtle)
      throw new PackFault(
        `${file}: ${label} is ${JSON.stringify(is ?? 0)}, pack.json says ${JSON.stringify(said ?? 0)}; correct pack.json`,
      );
  }
}

function parseLines<T extends Entry<string>>(file: string, text: string, half: Half, validate: ValidateFunction<T>): T[] {
  const lines = text.split('\n');
  if (lines.pop() !== '') throw new PackFault(`${file} does not end with a line feed; add one`);
  const seen = new Map<string, number>();
  return lines.map((line, index) => {
    const where = `${file}:${index + 1}`;
    const entry = check(where, json(where, line), validate);
    if (entry.half !== half || !entry.id.includes(`-${half}-`))
      throw new PackFault(`${where}: ${entry.id} says half ${entry.half}, its file is ${half}; move it or correct it`);
    const before = seen.get(entry.id);
    if (before !== undefined) throw new PackFault(`${where}: id ${entry.id} is also on line ${before}; give one of them another id`);
    seen.set(entry.id, index + 1);
    return entry;
  });
}

/**
 * Reads a file of one object per line.
 *
 * @throws PackFault on the first fault, naming file, line, fault and cure
 */
export async function readLines<T>(file: string, schema: object): Promise<readonly T[]> {
  const lines = (await bytesOf(file)).toString('utf8').split('\n');
  if (lines.pop() !== '') throw new PackFault(`${file} does not end with a line feed; add one`);
  const validate = compiler().compile<T>(schema);
  return lines.map((line, index) => check(`${file}:${index + 1}`, json(`${file}:${index + 1}`, line), validate));
}

/**
 * Reads one half, after its bytes were found to fit the hash in `pack.json`.
 *
 * @throws PackFault on the first fault, naming file, line, fault and cure
 */
export async function readHalf<T extends Entry<string>>(folder: string, half: Half, schema: object): Promise<readonly T[]> {
  const promised = (await readManifest(folder)).halves[half];
  const file = join(folder, promised.file);
  const bytes = await bytesOf(file);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  if (sha256 !== promised.sha256)
    throw new PackFault(
      `${file} has sha256 ${sha256}, pack.json says ${promised.sha256}; restore it, or raise the version and write the hash`,
    );
  const entries = parseLines(file, bytes.toString('utf8'), half, compiler().compile<T>(schema));
  refuseOtherCounts(file, promised, entries);
  return entries;
}
