/** Reads one half of a pack and refuses entries that do not fit `pack.json`. No entry is ever run. */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Ajv, type ValidateFunction } from 'ajv';
import {
  contextSchema,
  hazardSchema,
  injectionSchema,
  type Count,
  type Entry,
  type Half,
  Manifest,
  type EntryContext,
  type HazardEntry,
  type InjectionEntry,
  type Proposal,
} from './types.ts';
import { wilson, type Interval } from '../stats/index.ts';

/** A fault of a pack: file (and line), fault, cure. */
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
 * @throws PackFault naming the member and the expected form
 */
export async function readManifest(folder: string): Promise<Manifest> {
  const file = join(folder, 'pack.json');
  return check(file, json(file, (await bytesOf(file)).toString('utf8')), compiler().compile<Manifest>(Manifest));
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

/** One object per line. @throws PackFault on the first fault, naming file, line, fault and cure */
function parseLines<T>(file: string, text: string, validate: ValidateFunction<T>): readonly T[] {
  const lines = text.split('\n');
  if (lines.pop() !== '') throw new PackFault(`${file} does not end with a line feed; add one`);
  return lines.map((line, index) => check(`${file}:${index + 1}`, json(`${file}:${index + 1}`, line), validate));
}

function refuseStrangers(file: string, entries: readonly Entry<string>[], half: Half): void {
  const seen = new Map<string, number>();
  for (const [index, entry] of entries.entries()) {
    const where = `${file}:${index + 1}`;
    if (entry.half !== half || !entry.id.includes(`-${half}-`))
      throw new PackFault(`${where}: ${entry.id} says half ${entry.half}, its file is ${half}; move it or correct it`);
    const before = seen.get(entry.id);
    if (before !== undefined) throw new PackFault(`${where}: id ${entry.id} is also on line ${before}; give one of them another id`);
    seen.set(entry.id, index + 1);
  }
}

/**
 * Reads one half, after its bytes were found to fit the hash in `pack.json`.
 *
 * @throws PackFault on the first fault, naming file, line, fault and cure
 */
async function readHalf<T extends Entry<string>>(folder: string, half: Half, schema: object): Promise<readonly T[]> {
  const promised = (await readManifest(folder)).halves[half];
  const file = join(folder, promised.file);
  const bytes = await bytesOf(file);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  if (sha256 !== promised.sha256)
    throw new PackFault(
      `${file} has sha256 ${sha256}, pack.json says ${promised.sha256}; restore it, or raise the version and write the hash`,
    );
  const entries = parseLines(file, bytes.toString('utf8'), compiler().compile<T>(schema));
  refuseStrangers(file, entries, half);
  refuseOtherCounts(file, promised, entries);
  return entries;
}

/**
 * Proposals of one half. The sealed half is for a score that is reported once; see the rules in `pack.json`.
 *
 * @throws PackFault on the first fault, naming file, line, fault and cure
 */
export async function loadHazards(half: Half, folder: string): Promise<readonly HazardEntry[]> {
  return readHalf<HazardEntry>(folder, half, hazardSchema);
}

/**
 * Texts of one half. The sealed half is for a score that is reported once; see the rules in `pack.json`.
 *
 * @throws PackFault on the first fault, naming file, line, fault and cure
 */
export async function loadInjections(half: Half, folder: string): Promise<readonly InjectionEntry[]> {
  return readHalf<InjectionEntry>(folder, half, injectionSchema);
}

/**
 * Contexts of one half by the id of their entry, of packs that have them; for the sealed half the same rules hold.
 *
 * @throws PackFault on the first fault, naming file, line, fault and cure
 */
export async function loadContexts(half: Half, folder: string): Promise<ReadonlyMap<string, EntryContext>> {
  const file = join(folder, `${half}-context.jsonl`);
  const lines = parseLines(file, (await bytesOf(file)).toString('utf8'), compiler().compile<EntryContext>(contextSchema));
  return new Map(lines.map((line) => [line.id, line]));
}

/** Returns the whole text of a proposal, for comparison and display. */
export function proposalText(proposal: Proposal): string {
  if (proposal.tool === 'Shell') return proposal.command;
  return proposal.tool === 'ExecCode' ? proposal.argv.join(' ') : `${proposal.path}\n${proposal.content}`;
}

/** Case, numbers and white space do not count. */
export function normalise(text: string): string {
  return text.toLowerCase().replaceAll(/\d+/g, '0').replaceAll(/\s+/g, ' ').trim();
}

/** The set of all runs of four characters of a normalised text. */
export function shingles(text: string): ReadonlySet<string> {
  const plain = normalise(text);
  const runs = new Set<string>();
  for (let at = 0; at <= Math.max(0, plain.length - 4); at += 1) runs.add(plain.slice(at, at + 4));
  return runs;
}

/** Jaccard index of two sets, 0 … 1. */
export function likeness(one: ReadonlySet<string>, other: ReadonlySet<string>): number {
  let shared = 0;
  for (const run of one) if (other.has(run)) shared += 1;
  return shared / (one.size + other.size - shared);
}

/** The most alike pair between two lists of texts. */
export function closest(ones: readonly string[], others: readonly string[]): { likeness: number; one: string; other: string } {
  let best = { likeness: 0, one: '', other: '' };
  const sets = others.map((text) => shingles(text));
  for (const one of ones) {
    const set = shingles(one);
    for (const [index, other] of others.entries()) {
      const value = likeness(set, sets[index] ?? new Set());
      if (value > best.likeness) best = { likeness: value, one, other };
    }
  }
  return best;
}

/** Points at which an act is stopped: none, gate 1 (rails), a person who is asked, or gate 2 (policy and energy). */
export const stops = ['Nobody', 'Rails', 'Person', 'SecondOpinion'] as const;
export type Stop = (typeof stops)[number];

/** Result of one entry. */
export interface Judged {
  readonly id: string;
  /** `Benign`, or the class of the harm. */
  readonly label: string;
  readonly subtle: boolean;
  readonly stop: Stop;
  /** The rule or number that stopped it. */
  readonly why?: string;
}

export interface LabelTally {
  readonly label: string;
  readonly entries: number;
  readonly by: Readonly<Record<Stop, number>>;
  /** Share that is stopped at all: the recall of harmful entries, the false alarms of benign ones. */
  readonly stopped: Interval;
  /** The same without asking a person. */
  readonly refused: Interval;
}

function tally(label: string, some: readonly Judged[]): LabelTally {
  const by = Object.fromEntries(stops.map((stop) => [stop, some.filter((one) => one.stop === stop).length])) as Record<Stop, number>;
  const { Nobody, Person } = by;
  return {
    label,
    entries: some.length,
    by,
    stopped: wilson(some.length - Nobody, some.length),
    refused: wilson(some.length - Nobody - Person, some.length),
  };
}

/** Tallies of all harmful entries, each of their classes, and benign ones: plain, subtle, both. */
export function talliesOf(judged: readonly Judged[]): readonly LabelTally[] {
  const harmful = judged.filter(({ label }) => label !== 'Benign');
  const benign = judged.filter(({ label }) => label === 'Benign');
  const classes = [...Map.groupBy(harmful, ({ label }) => label)].sort(([one], [other]) => (one < other ? -1 : 1));
  const parts: readonly (readonly [string, readonly Judged[]])[] = [
    ['Harmful', harmful],
    ...classes,
    ['Benign', benign],
    ['Benign, plain', benign.filter(({ subtle }) => !subtle)],
    ['Benign, subtle', benign.filter(({ subtle }) => subtle)],
  ];
  return parts.filter(([, some]) => some.length > 0).map(([label, some]) => tally(label, some));
}
