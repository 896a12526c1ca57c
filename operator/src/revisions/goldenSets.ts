import { type GoldenReport, goldenReportOf, type GoldenArm } from '@agentfleet/protocol/golden';
import { type Job, type Pod, type PodCondition, type Terminated, resources } from '../runtime/resources.ts';
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
import { fieldManagers, type RolloutPolicySpec, type RolloutStatus } from '@agentfleet/protocol/api';
import { goldenJobName } from '../pools/names.ts';
import type { GoldenEvidence, HeldOut } from '../rollout/index.ts';
import { lastWords, podlessBecause, podTrouble } from '../serving/index.ts';
import type { LedgerPlace, LedgerWriter } from './ledger.ts';
import { isOpen } from './progress.ts';
import { shortHash } from './arm.ts';
import { goldenJob, rolloutLabel, TemplateReader, type GoldenTemplate } from './goldenJob.ts';

/** Record of one revision's run of one golden set. */
export interface GoldenEntry {
  readonly revision: string;
  /** Hash of what is run. */
  readonly set: string;
  /** Number of the Job, from 0. */
  readonly run: number;
  /** Jobs in a row whose pod the cluster took away. */
  readonly lost: number;
  readonly report?: GoldenReport;
  /** Reason why there is no result until a person changes something. */
  readonly fault?: string;
  /** Value of the annotation that asks for another try, as it was when the Job ended. */
  readonly word?: string;
}

/** Key of the ConfigMap. */
const goldenKey = 'golden.json';

/** Entries that are kept: of the revisions and sets that were run last. */
const mostEntries = 24;

/** The entries of a text; none where it cannot be read, by which what is asked for is run again. Pure. */
export function goldenEntries(text: string | undefined): readonly GoldenEntry[] {
  try {
    const value: unknown = JSON.parse(text ?? '[]');
    return Array.isArray(value) ? (value as readonly GoldenEntry[]) : [];
  } catch {
    return [];
  }
}

const isOf =
  (revision: string, set: string) =>
  (entry: GoldenEntry): boolean =>
    entry.revision === revision && entry.set === set;

/** Returns the entry of a set and a revision. Pure. */
function findEntry(entries: readonly GoldenEntry[], revision: string, set: string): GoldenEntry | undefined {
  return entries.find(isOf(revision, set));
}

/** The text with one entry in place of what was known before. Pure. */
export function textWith(entries: readonly GoldenEntry[], entry: GoldenEntry): string {
  const others = entries.filter((other) => !isOf(entry.revision, entry.set)(other));
  return JSON.stringify([...others, entry].slice(-mostEntries));
}

/** Outcome of a Job. `Lost`: the cluster took its pod away, which is no result of the set. */
export type Outcome = 'Running' | 'Lost' | { readonly report: GoldenReport } | { readonly fault: string };

const mostWords = 200;

function ended({ status }: Job): PodCondition | undefined {
  return status?.conditions?.find(({ type, status }) => (type === 'Complete' || type === 'Failed') && status === 'True');
}

/** Reports whether a Job goes on. Pure. */
function isRunning(job: Job): boolean {
  return ended(job) === undefined;
}

/** Evicted, preempted, or refused by a kubelet: then the pod has the reason, or its condition. */
function takenAway({ status }: Pod): boolean {
  const disrupted = status?.conditions?.some(({ type, status }) => type === 'DisruptionTarget' && status === 'True') === true;
  return disrupted || status?.reason !== undefined;
}

function failed(name: string, pod: Pod, container: string, terminated: Terminated | undefined): Outcome {
  const log = `see the log of pod ${pod.metadata.name}, and change the PodTemplate`;
  if (terminated === undefined || terminated.exitCode === 0)
    return { fault: `Job ${name} failed, and not by container ${container}, which says the result; ${log}` };
  const { exitCode = '?', reason = 'Error', message } = terminated;
  return { fault: `container ${container} of Job ${name} ended with ${exitCode} (${reason})${lastWords(message, mostWords)}; ${log}` };
}

/**
 * Returns the outcome of a Job. A failure is never a result, and never run again unless it was the cluster's.
 * @param pods of the Job, as the server has them
 */
function outcomeOf(job: Job, pods: readonly Pod[], { container, timeoutSeconds }: GoldenTemplate): Outcome {
  const end = ended(job);
  const { name } = job.metadata;
  if (end === undefined) return 'Running';
  if (end.reason === 'DeadlineExceeded')
    return { fault: `Job ${name} did not end in ${timeoutSeconds} s; raise activeDeadlineSeconds of the PodTemplate, or shorten the set` };
  const [pod] = pods;
  const of = pod?.status?.containerStatuses?.find((status) => status.name === container)?.state?.terminated;
  if (pod === undefined) return 'Lost';
  if (end.type === 'Failed') return takenAway(pod) ? 'Lost' : failed(name, pod, container, of);
  const report = goldenReportOf(of?.message);
  if (!('fault' in report)) return { report };
  const say = 'its termination message has to be {"passed": n, "total": m}';
  return { fault: `container ${container} of Job ${name}: ${report.fault}; ${say}; change the PodTemplate` };
}

/** Owner and rollout whose golden sets are run. */
export interface GoldenQuestion {
  readonly place: LedgerPlace;
  readonly kind: 'pool' | 'model';
  /** Labels that name the owner. */
  readonly labels: Readonly<Record<string, string>>;
  readonly status: RolloutStatus | undefined;
  readonly spec: RolloutPolicySpec;
  /** Reports whether the engines of a revision answer. */
  readonly ready: (revision: string) => boolean;
  /** Returns the arm that the Job of a revision receives. */
  readonly arm: (revision: string, rollout: string) => GoldenArm | undefined;
  /** Jobs of the owner's namespace, as the cache shows them. */
  readonly jobs: readonly Job[];
  /** ServiceAccount of the pods where a template names none; undefined: that of the namespace. */
  readonly serviceAccount?: string;
  /** Pods of the owner, as the cache shows them. */
  readonly pods: readonly Pod[];
  /** Events about pods and Jobs, by their names. */
  readonly notes: ReadonlyMap<string, string>;
  /** The word that asks for another try of what failed. */
  readonly retry: string | undefined;
}

/** Facts that are known about the golden sets of a rollout. */
export interface GoldenView {
  /** By the names of gates. */
  readonly evidence: (revision: string) => ReadonlyMap<string, GoldenEvidence>;
  /** Returns what the sets measured of a verifier's heads; undefined while they have not, or where they report nothing of it. */
  readonly heldOut: (revision: string) => HeldOut | undefined;
  /** Names of Jobs that stay. */
  readonly keep: readonly string[];
}

interface GoldenGate {
  readonly name: string;
  readonly template: string;
}

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

/** Pods that a Job may lose in a row before a person has to look. */
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

  /** Starts what is due, and returns what is known. */
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
    const template = await this.#templates.read(question.place.owner.metadata.namespace ?? '', gate.template, signal);
    if ('fault' in template) return stuck(template.fault);
    const run: Run = { ...asked, template, set: template.hash };
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
    if (isRunning(job)) return waits(`Job ${name} runs${troubleOf(question, job)}`);
    return this.#finish(run, before, job, signal);
  }

  async #start(run: Run, name: string, signal: AbortSignal): Promise<Found> {
    const { question, revision, rollout, role, template } = run;
    const { place, labels, serviceAccount } = question;
    const arm = question.arm(revision, rollout);
    if (arm === undefined) return stuck(`revision ${revision} is not on record`);
    const key = `${place.owner.metadata.uid ?? ''} ${name} ${rollout}`;
    const refused = this.#refused.get(key);
    const now = this.#clock.monotonic();
    if (refused !== undefined && now - refused.at < refusedMs) return stuck(refused.words);
    const job = goldenJob({ owner: place.owner, name, labels, template, arm, role, serviceAccount });
    try {
      await this.#jobs.create(job, { fieldManager: fieldManagers.operator, signal });
    } catch (error) {
      signal.throwIfAborted();
      if (!isApiError(error)) throw error;
      if (!isAlreadyExists(error))
        return this.#refuse(key, `Job ${name} was refused: ${asError(error).message}; change the PodTemplate, or what that names`);
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
    const { question, template } = run;
    const { namespace = '', name } = job.metadata;
    const selector = `batch.kubernetes.io/job-name=${name}`;
    const pods = (await this.#pods.list({ namespace, labelSelector: selector, signal })).filter((pod) => isControlledBy(pod, job));
    const outcome = outcomeOf(job, pods, template);
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

/** Reports whether a kept entry still holds: a new value of the annotation asks for another run, but not of a result to compare with. */
function counts({ role, question }: Run, { report, word }: GoldenEntry): boolean {
  return word === question.retry || (role === 'stable' && report !== undefined);
}

function goldenGates({ gates }: RolloutPolicySpec): readonly GoldenGate[] {
  return (gates ?? []).flatMap(({ name, metric, templateRef }) =>
    metric === 'GoldenLoss' && templateRef !== undefined ? [{ name, template: templateRef.name }] : [],
  );
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

function troubleOf({ pods, notes }: GoldenQuestion, job: Job): string {
  const own = pods.filter((pod) => isControlledBy(pod, job) && pod.status?.phase === 'Pending');
  const trouble = own.map(podTrouble).find((words) => words !== undefined) ?? podlessBecause(job.metadata.name, notes);
  return trouble === undefined ? '' : `: ${trouble}`;
}
