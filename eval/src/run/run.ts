/** Runs packs under variants: the same tasks with the same seeds for each, some at a time, and never one twice. */
import type { Half, Pack, PackTask } from '../format/index.ts';
import { seeded } from '../stats/index.ts';
import { EvalError } from '../failure.ts';
import type { EvalPool } from './pool.ts';
import { recordFormat, type EvalRecord } from './record.ts';
import { headFormat, type ResultsFile, type ResultsHead } from './results.ts';
import { digestOf, type Variant } from './variant.ts';

export interface Selection {
  readonly half?: Half;
  /** Tasks with this in their id. */
  readonly only?: string;
  /** As many tasks of each pack, the same for the same seed. */
  readonly sample?: number;
  readonly seed: number;
}

/** The tasks of a pack that are run. The order is by the seed, so that a run that is cut off is a sample too. */
export function selected({ tasks }: Pack, { half, only = '', sample, seed }: Selection): readonly PackTask[] {
  const fitting = tasks.filter(
    (task) => (half === undefined || task.half === half) && only.split(',').some((part) => task.id.includes(part)),
  );
  const random = seeded(seed);
  const ranked = fitting.map((task) => ({ task, rank: random() })).toSorted((one, other) => one.rank - other.rank);
  return ranked.slice(0, sample).map(({ task }) => task);
}

/** Digest of a pack by what is in it, hidden checks too: another check is another pack. */
export const packDigest = (pack: Pack): string => digestOf([pack.manifest.version, pack.tasks]);

export interface Plan {
  readonly packs: readonly Pack[];
  readonly variants: readonly Variant[];
  readonly selection: Selection;
  /** How often each attempt is made with the same seed; 2 shows what flakes. */
  readonly rounds: number;
  readonly parallel: number;
}

/** What the results of a plan will depend on. */
export async function headOf({ packs, variants, selection }: Plan, pool: EvalPool): Promise<ResultsHead> {
  const digests = await Promise.all(variants.map(async (variant) => [variant.name, await pool.digest(variant)] as const));
  const { seed } = selection;
  return {
    format: headFormat,
    pool: pool.name,
    seed,
    packs: Object.fromEntries(packs.map((pack) => [pack.manifest.name, packDigest(pack)])),
    variants: Object.fromEntries(digests),
  };
}

export interface RunOptions {
  readonly pool: EvalPool;
  readonly results: ResultsFile;
  readonly head: ResultsHead;
  readonly signal: AbortSignal;
  readonly onRecord?: (record: EvalRecord, done: number, all: number) => void;
}

interface Job {
  readonly task: PackTask;
  readonly variant: Variant;
  readonly round: number;
}

/** All variants of a task follow each other, so that what else goes on in the machine meets them alike. */
function jobsOf({ packs, variants, selection, rounds }: Plan): readonly Job[] {
  const tasks = packs.flatMap((pack) => selected(pack, selection));
  const each = (task: PackTask): Job[] =>
    variants.flatMap((variant) => Array.from({ length: rounds }, (_, at) => ({ task, variant, round: at + 1 })));
  return tasks.flatMap(each);
}

/** The seed of an attempt: that of its task moved by that of the run, the same for all variants. */
export const seedFor = (task: Pick<PackTask, 'seed'>, seed: number): number => (task.seed + seed) % 2 ** 31;

/**
 * Makes every attempt of a plan that has no result yet. Resolves when all have one, rejects when the signal is aborted; what was done
 * until then is in the file.
 */
export async function runPlan(plan: Plan, { pool, results, head, signal, onRecord }: RunOptions): Promise<void> {
  const jobs = jobsOf(plan);
  if (jobs.length === 0) throw new EvalError('no task is chosen; look at --split, --only and --sample');
  let done = 0;
  const queue = jobs.values();
  const lane = async (): Promise<void> => {
    for (const { task, variant, round } of queue) {
      signal.throwIfAborted();
      const key = { task: task.id, variant: variant.name, seed: seedFor(task, plan.selection.seed), round };
      done += 1;
      if (results.has(key)) continue;
      const attempted = await pool.attempt(task, variant, { seed: key.seed, round, signal });
      const record = { format: recordFormat, ...key, ...described(task, variant, head), ...attempted } as const;
      await results.add(record);
      onRecord?.(record, done, jobs.length);
    }
  };
  await Promise.all(Array.from({ length: plan.parallel }, lane));
}

type Described = Pick<EvalRecord, 'pack' | 'packDigest' | 'variantDigest' | 'half' | 'kind' | 'languages' | 'tags'>;

function described({ pack, half, kind, languages, tags }: PackTask, variant: Variant, head: ResultsHead): Described {
  const packDigest = head.packs[pack] ?? '';
  return { pack, packDigest, variantDigest: head.variants[variant.name] ?? '', half, kind, languages, tags };
}
