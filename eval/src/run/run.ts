/** Runs packs under variants: the same tasks with the same seeds for each, some at a time, and never one twice. */
import { createHash } from 'node:crypto';
import { ablations as parts, type Ablation, type ComputeBrief } from '@agentfleet/protocol/pool';
import { EvalError } from './failure.ts';
import type { PackTask, Half, Pack } from '../format/index.ts';
import { type Attempted, recordFormat, type EvalRecord, headFormat, type ResultsFile, type ResultsHead } from './results.ts';
import { seeded } from '../stats/index.ts';

/** Variants of a pool that are compared: the whole fleet, and the whole fleet without a part (agent reference, appendix H). */

export const learnedParts = ['Planner', 'Verifier', 'Embedder', 'Policy'] as const;
export type LearnedPart = (typeof learnedParts)[number];

export interface Variant {
  /** `full`, or the change. */
  readonly name: string;
  readonly change: string;
  /** Names of the ablations that the worker obeys; it is passed by an annotation of the task. */
  readonly ablations: readonly string[];
  /** Learned parts that are left. */
  readonly parts: readonly LearnedPart[];
  /** Steps: a snapshot of each better tree, to restore later. InitialOnly: they are remade from the first one. */
  readonly snapshots: 'Steps' | 'InitialOnly';
  /** For a pool of a cluster; absent: the one named default. */
  readonly profile?: string;
}

/** For local pools: the defaults of a pool. */
export const compute: ComputeBrief = { entropyFastNats: 2.5, margin: 1.5, riskThreshold: 0.6, kBase: 2, kMax: 8, earlyExitMargin: 1.5 };

/** The whole fleet with the defaults of a pool. */
export const full: Variant = { name: 'full', change: 'none', ablations: [], parts: learnedParts, snapshots: 'Steps' };

const snapshot: Omit<Variant, 'name'> = {
  ...full,
  change: 'no snapshots but the first: better trees are made again',
  snapshots: 'InitialOnly',
};

/** Ablations of appendix H that cannot be switched off: comparing one with itself would be misleading. */
const cannot: Readonly<Record<string, string>> = {
  Memory: 'nothing of a task outlives it but its artifacts, which no other task reads; a store of past attempts and its recall are missing',
  FreeForm: 'experts write edits under a grammar or by a search over trees; a free-form decoder with its repair loop is missing',
  SpecDecode: 'a Draft gives likelihoods and decodes for nobody; a speculative decoder is missing',
};

/** Names for `--ablate`. */
export const ablations: readonly string[] = [...Object.keys(parts), 'Snapshot'];

const without = ({ change, without: gone }: Ablation, name: string): Omit<Variant, 'name'> => ({
  ...full,
  change,
  ablations: [name],
  parts: learnedParts.filter((part) => !gone.includes(part)),
});

/** Returns the whole fleet, and one variant for each name. @throws EvalError for an unknown name */
export function variantsOf(names: readonly string[]): readonly Variant[] {
  const chosen = [...new Set(names)].map((name): Variant => {
    const found = Object.hasOwn(parts, name) ? parts[name] : undefined;
    const change = found === undefined ? (name === 'Snapshot' ? snapshot : undefined) : without(found, name);
    if (change !== undefined) return { ...change, name: /^K\d$/.test(name) ? name : `-${name}` };
    const why = Object.hasOwn(cannot, name) ? cannot[name] : undefined;
    throw new EvalError(
      why === undefined ? `there is no ablation ${name}; choose of ${ablations.join(', ')}` : `${name} cannot be ablated: ${why}`,
    );
  });
  return [full, ...chosen];
}

/** Returns one variant for each profile of a pool of a cluster. */
export const profileVariants = (profiles: readonly string[]): readonly Variant[] =>
  profiles.map((profile) => ({ ...full, name: profile, change: `profile ${profile}`, profile }));

/** Returns the digest of any plain value, by content. */
export function digestOf(value: unknown): string {
  return `sha256:${createHash('sha256').update(JSON.stringify(value)).digest('hex')}`;
}

/** Budget of an attempt. Commands are counted, so that a busy machine gives the same results as an idle one. */
export interface AttemptBudget {
  readonly toolCalls: number;
  readonly wallSeconds: number;
}

/** A chat model that does the tasks, in place of the search for edits. */
export interface ModelOptions {
  /** Base URL of a server of the OpenAI chat API, as http://localhost:11434/v1, or of another API that `api` names. */
  readonly endpoint?: string;
  /** Default: OpenAI. */
  readonly api?: 'OpenAI' | 'Anthropic';
  /** Folder of recorded conversations that are played, in place of an endpoint. */
  readonly recordings?: string;
  /** The recorded answers are played although prompts may differ, and the resulting conversations are kept. */
  readonly again?: boolean;
  /** Its name at the endpoint. */
  readonly model: string;
  /** Variable of the environment that holds the key of the endpoint. */
  readonly keyEnv?: string;
  /** Of a request with its answer. */
  readonly contextTokens: number;
  readonly maxOutputTokens: number;
  /** Json: the model has no tool calls and answers with one JSON object. */
  readonly toolCalls: 'Native' | 'Json';
  /** Of one request. */
  readonly timeoutSeconds: number;
  /** The worker of each attempt is lost in this step of its conversation, and another one continues. */
  readonly loseWorkerAt?: number;
}

export const defaultBudget: AttemptBudget = { toolCalls: 150, wallSeconds: 600 };

export interface AttemptOptions {
  readonly seed: number;
  readonly round: number;
  /** Run that the results are for: it separates what two simultaneous runs make in one place. */
  readonly run?: string | undefined;
  readonly signal: AbortSignal;
  /** Called with the reason when the attempt waits for its model, once for each reason. */
  readonly onWait?: ((why: string) => void) | undefined;
}

/** Executor of attempts: processes of this machine, or a pool of a cluster. */
export interface EvalPool extends AsyncDisposable {
  /** `local`, or namespace/name. */
  readonly name: string;
  /** Returns the digest of what results under a variant depend on beside task and seed: programs, weights, settings. */
  digest(variant: Variant): Promise<string>;
  /** Rejects only for the signal: a failure is reported as a result. */
  attempt(task: PackTask, variant: Variant, options: AttemptOptions): Promise<Attempted>;
}

export interface Selection {
  readonly half?: Half;
  /** Tasks with this in their id. */
  readonly only?: string;
  /** Number of tasks of each pack, the same ones for the same seed. */
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

/** Digest of a pack by its content, hidden checks too: another check is another pack. */
export const packDigest = (pack: Pack): string => digestOf([pack.manifest.version, pack.tasks]);

export interface Plan {
  readonly packs: readonly Pack[];
  readonly variants: readonly Variant[];
  readonly selection: Selection;
  /** Times that each attempt is made with the same seed; 2 shows flakes. Tables count the first one. */
  readonly rounds: number;
  readonly parallel: number;
}

/** Returns everything that the results of a plan depend on. */
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
  readonly onWait?: (task: string, why: string) => void;
}

interface Job {
  readonly task: PackTask;
  readonly variant: Variant;
  readonly round: number;
}

/** All variants of a task follow each other, so that other load of the machine affects them alike. */
function jobsOf({ packs, variants, selection, rounds }: Plan): readonly Job[] {
  const tasks = packs.flatMap((pack) => selected(pack, selection));
  const each = (task: PackTask): Job[] =>
    variants.flatMap((variant) => Array.from({ length: rounds }, (_, at) => ({ task, variant, round: at + 1 })));
  return tasks.flatMap(each);
}

/** The seed of an attempt: that of its task moved by that of the run, the same for all variants. */
export const seedFor = (task: Pick<PackTask, 'seed'>, seed: number): number => (task.seed + seed) % 2 ** 31;

/**
 * Makes every attempt of a plan that has no result yet. Resolves when all have one, rejects when the signal is aborted;
 * finished ones are in the file.
 */
export async function runPlan(plan: Plan, { pool, results, head, signal, onRecord, onWait }: RunOptions): Promise<void> {
  const jobs = jobsOf(plan);
  if (jobs.length === 0) throw new EvalError('no task is chosen; look at --split, --only and --sample');
  let done = 0;
  const queue = jobs.values();
  const lane = async (): Promise<void> => {
    for (const { task, variant, round } of queue) {
      signal.throwIfAborted();
      const key = { task: task.id, variant: variant.name, seed: seedFor(task, plan.selection.seed), round };
      if (results.has(key)) {
        done += 1;
        continue;
      }
      const waits = onWait && { onWait: (why: string) => onWait(task.id, why) };
      const attempted = await pool.attempt(task, variant, { seed: key.seed, round, run: results.run, signal, ...waits });
      const record = { format: recordFormat, ...key, ...described(task, variant, head), ...attempted } as const;
      await results.add(record);
      done += 1;
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
