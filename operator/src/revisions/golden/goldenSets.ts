import {
  asError,
  isAlreadyExists,
  isApiError,
  isControlledBy,
  ResourceClient,
  type Clock,
  type Log,
  type Transport,
} from '@agentfleet/kube';
import { fieldManagers, type Rollout, type RolloutStatus } from '@agentfleet/protocol/api';
import type { GoldenArm } from '@agentfleet/protocol/golden';
import { goldenJobName } from '../../pools/names.ts';
import type { GoldenEvidence, HeldOut } from '../../rollout/index.ts';
import type { Job, Pod } from '../../runtime/objects.ts';
import { resources } from '../../runtime/resources.ts';
import { podTrouble } from '../../serving/index.ts';
import type { LedgerPlace, LedgerWriter } from '../ledgerWriter.ts';
import { isOpen } from '../progress.ts';
import { shortHash } from '../revision.ts';
import { findEntry, goldenEntries, goldenKey, textWith, type GoldenEntry } from './entry.ts';
import { goldenJob, rolloutLabel } from './job.ts';
import { isRunning, outcomeOf } from './outcome.ts';
import { TemplateReader, type GoldenTemplate } from './template.ts';

/** Whose golden sets are run. */
export interface GoldenQuestion {
  readonly place: LedgerPlace;
  readonly kind: 'pool' | 'model';
  /** Labels that name the owner. */
  readonly labels: Readonly<Record<string, string>>;
  readonly status: RolloutStatus | undefined;
  readonly spec: Rollout;
  /** Whether the engines of a revision answer. */
  readonly ready: (revision: string) => boolean;
  /** What the Job of a revision is told. */
  readonly arm: (revision: string, rollout: string) => GoldenArm | undefined;
  /** Jobs of the owner's namespace, as the cache shows them. */
  readonly jobs: readonly Job[];
  /** ServiceAccount of the pods where a template names none; undefined: that of the namespace. */
  readonly serviceAccount?: string;
  /** Pods of the owner, as the cache shows them. */
  readonly pods: readonly Pod[];
  /** The word that asks for another try of what failed. */
  readonly retry: string | undefined;
}

/** What is known of the golden sets of a rollout. */
export interface GoldenView {
  /** By the names of gates. */
  readonly evidence: (revision: string) => ReadonlyMap<string, GoldenEvidence>;
  /** What the sets measured of a verifier's heads; undefined while they have not, or where they say nothing of it. */
  readonly heldOut: (revision: string) => HeldOut | undefined;
  /** Names of Jobs that stay. */
  readonly keep: readonly string[];
}

type GoldenGate = Extract<NonNullable<Rollout['gates']>[number], { type: 'GoldenSet' }>;

/** One run of one set. */
interface Run {
  readonly question: GoldenQuestion;
  readonly gate: GoldenGate;
  readonly revision: string;
  readonly rollout: string;
  readonly role: 'stable' | 'canary';
  readonly template: GoldenTemplate;
  /** Hash of what is run. */
  readonly set: string;
}

type Found = GoldenEvidence & { readonly entry?: GoldenEntry };

/** Pods that a Job may lose in a row before somebody has to look. */
const mostLost = 3;

/** Ms after which a Job that the server refused is asked for again. */
const refusedMs = 15_000;

const waits = (lacks: string): Found => ({ lacks, stuck: false });
const stuck = (lacks: string): Found => ({ lacks, stuck: true });

/**
 * Runs golden sets: one Job for each revision and set. Its result goes into the book of the rollout and is never asked for
 * again, whatever becomes of the Job; another content of the template is another set.
 */
export class GoldenSets {
  readonly #books: LedgerWriter;
  readonly #jobs: ResourceClient<Job>;
  readonly #pods: ResourceClient<Pod>;
  readonly #templates: TemplateReader;
  readonly #clock: Clock;
  /** Refusals of the server by the keys of Jobs. */
  readonly #refused = new Map<string, { readonly at: number; readonly words: string }>();

  constructor({ transport, clock, log }: { readonly transport: Transport; readonly clock: Clock; readonly log: Log }, books: LedgerWriter) {
    this.#books = books;
    this.#clock = clock;
    this.#jobs = new ResourceClient(transport, resources.jobs);
    this.#pods = new ResourceClient(transport, resources.pods);
    this.#templates = new TemplateReader({ transport, clock, log });
  }

  /** Starts what is due, and tells what is known. */
  async look(question: GoldenQuestion, signal: AbortSignal): Promise<GoldenView> {
    const { spec } = question;
    const arms = armsOf(question);
    const found = new Map<string, Map<string, Found>>();
    for (const gate of goldenGates(spec))
      for (const arm of arms) {
        const one = await this.#gate({ question, gate, ...arm }, signal);
        found.set(arm.revision, (found.get(arm.revision) ?? new Map<string, Found>()).set(gate.name, one));
      }
    return {
      evidence: (revision) => found.get(revision) ?? new Map(),
      heldOut: (revision) => measured([...(found.get(revision)?.values() ?? [])]),
      keep: kept(question, arms.length > 0),
    };
  }

  async #gate(asked: Omit<Run, 'template' | 'set'>, signal: AbortSignal): Promise<Found> {
    const { question, gate, revision } = asked;
    const { templateRef, timeoutSeconds } = gate.goldenSet;
    const template = await this.#templates.read(question.place.owner.metadata.namespace ?? '', templateRef.name, signal);
    if ('fault' in template) return stuck(template.fault);
    const run: Run = { ...asked, template, set: shortHash([template.hash, timeoutSeconds], 16) };
    const entry = this.#known(run);
    if (entry !== undefined && counts(run, entry)) {
      if (entry.report !== undefined) return { passed: entry.report.passed, total: entry.report.total, entry };
      if (entry.fault !== undefined) return stuck(entry.fault);
    }
    if (!question.ready(revision)) return waits('its engines are not ready');
    return this.#run(run, entry, signal);
  }

  #known({ question, revision, set }: Run): GoldenEntry | undefined {
    return findEntry(goldenEntries(this.#books.text(question.place, goldenKey)), revision, set);
  }

  async #run(run: Run, entry: GoldenEntry | undefined, signal: AbortSignal): Promise<Found> {
    const { question, revision, set } = run;
    const again = entry?.fault !== undefined || entry?.report !== undefined;
    const before = { revision, set, run: (entry?.run ?? 0) + Number(again), lost: again ? 0 : (entry?.lost ?? 0) };
    const { owner } = question.place;
    const name = goldenJobName(owner.metadata.name, question.kind, shortHash([revision, set], 10), before.run);
    const job = question.jobs.find(({ metadata }) => metadata.name === name);
    if (job === undefined) return this.#start(run, name, signal);
    if (!isControlledBy(job, owner)) return stuck(`the name ${name} belongs to another Job; delete it`);
    if (isRunning(job)) return waits(`Job ${name} runs${troubleOf(question.pods, job)}`);
    return this.#finish(run, before, job, signal);
  }

  async #start(run: Run, name: string, signal: AbortSignal): Promise<Found> {
    const { question, revision, rollout, role, template, gate } = run;
    const { place, labels, serviceAccount } = question;
    const arm = question.arm(revision, rollout);
    if (arm === undefined) return stuck(`revision ${revision} is not on record`);
    const key = `${place.owner.metadata.uid ?? ''} ${name} ${rollout}`;
    const refused = this.#refused.get(key);
    const now = this.#clock.monotonic();
    if (refused !== undefined && now - refused.at < refusedMs) return stuck(refused.words);
    const { timeoutSeconds } = gate.goldenSet;
    const job = goldenJob({ owner: place.owner, name, labels, template, arm, role, timeoutSeconds, serviceAccount });
    try {
      await this.#jobs.create(job, { fieldManager: fieldManagers.operator, signal });
    } catch (error) {
      signal.throwIfAborted();
      if (!isApiError(error)) throw error;
      if (!isAlreadyExists(error)) return this.#refuse(key, `Job ${name} was refused: ${asError(error).message}; change the PodTemplate`);
    }
    this.#refused.delete(key);
    return waits(`Job ${name} was made`);
  }

  #refuse(key: string, words: string): Found {
    const now = this.#clock.monotonic();
    for (const [other, { at }] of this.#refused) if (now - at >= 2 * refusedMs) this.#refused.delete(other);
    this.#refused.set(key, { at: now, words });
    return stuck(words);
  }

  /** Keeps what a Job that ended said. The server is asked for its pod: caches of Jobs and of pods do not move together. */
  async #finish(run: Run, before: GoldenEntry, job: Job, signal: AbortSignal): Promise<Found> {
    const { question, template, gate } = run;
    const { namespace = '', name } = job.metadata;
    const selector = `batch.kubernetes.io/job-name=${name}`;
    const pods = (await this.#pods.list({ namespace, labelSelector: selector, signal })).filter((pod) => isControlledBy(pod, job));
    const outcome = outcomeOf(job, pods, template.container, gate.goldenSet.timeoutSeconds);
    if (outcome === 'Running') return waits(`Job ${name} runs`);
    const word = question.retry === undefined ? {} : { word: question.retry };
    const lost = before.lost + 1;
    const next: GoldenEntry =
      outcome !== 'Lost'
        ? { ...before, ...outcome, ...word }
        : lost < mostLost
          ? { ...before, run: before.run + 1, lost }
          : { ...before, lost, ...word, fault: `the cluster took away the pod of Job ${name}, as of ${lost - 1} before it; see its nodes` };
    const entries = goldenEntries(this.#books.text(question.place, goldenKey));
    if (!(await this.#books.write(question.place, goldenKey, textWith(entries, next), signal)))
      return waits(`the result of Job ${name} is kept`);
    if (next.report !== undefined) return { passed: next.report.passed, total: next.report.total, entry: next };
    return next.fault === undefined ? waits(`the cluster took away the pod of Job ${name}; it is run again`) : stuck(next.fault);
  }
}

/** The revisions that are run: those of a rollout that is open. */
function armsOf({ status, spec }: GoldenQuestion): readonly Pick<Run, 'revision' | 'rollout' | 'role'>[] {
  const { id, stable, canary } = status ?? {};
  if (!isOpen(status) || spec.strategy === 'Recreate' || id === undefined || stable === undefined || canary === undefined) return [];
  return [
    { revision: canary, rollout: id, role: 'canary' },
    { revision: stable, rollout: id, role: 'stable' },
  ];
}

/** Whether what is kept still holds: a word that was not heard before asks for another run, but not of a result to compare with. */
function counts({ role, question }: Run, { report, word }: GoldenEntry): boolean {
  return word === question.retry || (role === 'stable' && report !== undefined);
}

function goldenGates({ gates }: Rollout): readonly GoldenGate[] {
  return (gates ?? []).filter((gate): gate is GoldenGate => gate.type === 'GoldenSet');
}

/** Jobs of this rollout: those that go on only as long as it does. */
function kept({ jobs, place, status }: GoldenQuestion, open: boolean): readonly string[] {
  const mine = jobs.filter((job) => isControlledBy(job, place.owner) && job.metadata.labels?.[rolloutLabel] === (status?.id ?? ''));
  return mine.filter((job) => open || !isRunning(job)).map(({ metadata }) => metadata.name);
}

/** Heads that the sets measured; of one that several did, the first. */
function measured(found: readonly Found[]): HeldOut | undefined {
  const heads = found.flatMap(({ entry }) => entry?.report?.heads ?? []);
  return heads.length === 0 ? undefined : { heads: [...new Map(heads.toReversed().map((head) => [head.name, head])).values()] };
}

function troubleOf(pods: readonly Pod[], job: Job): string {
  const own = pods.filter((pod) => isControlledBy(pod, job) && pod.status?.phase === 'Pending');
  const trouble = own.map(podTrouble).find((words) => words !== undefined);
  return trouble === undefined ? '' : `: ${trouble}`;
}
