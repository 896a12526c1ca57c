import { coded } from '@agentfleet/protocol/log';
import {
  isApiError,
  isTooLarge,
  ApiError,
  asError,
  Backoff,
  deadline,
  sleep,
  type Clock,
  type Log,
  type Random,
  type ResourceClient,
} from '@agentfleet/kube';
import { Ajv, type ValidateFunction } from 'ajv';
import { ajvOptions, Run, type AgentTask } from '@agentfleet/protocol/api';
import type { Report } from '../attempt/ports.ts';
import { Waiters } from '../base/waiters.ts';
import { trim } from './shape.ts';

/** Meaning of a failed status write. */
export type Refusal =
  /** The task has gone, was made again, or is assigned to another worker or epoch: stop working on it. */
  'NotMine' | 'Invalid' | 'Retry';

/** Name of the admission policy that only lets the assigned pod write, under the current epoch. */
const fencePolicy = 'agenttask-worker-fence';

export function classify(error: unknown): Refusal {
  if (!isApiError(error)) return 'Retry';
  if (isTooLarge(error)) return 'Invalid';
  if (error.code === 404) return 'NotMine';
  if (error.code === 403 || error.code === 422) {
    if (error.message.includes(fencePolicy)) return 'NotMine';
    // A right that is missing may be granted yet; a body that is invalid stays so.
    return error.code === 422 ? 'Invalid' : 'Retry';
  }
  return error.code === 400 ? 'Invalid' : 'Retry';
}

/** Fields that carry the report; without them it is refused anyway. */
const required = new Set<string>(Run.required);

/** Fields that the operator acts on; of a task at rest its snapshots too. */
const actedOn = new Set([...required, 'usage', 'outcome', 'rollback', 'quiescedAt', 'pendingApproval', 'messagesTaken']);

interface ValidRun {
  readonly run: Run;
  /** Fields that the API server would refuse, with the reason. */
  readonly dropped: readonly string[];
}

/**
 * Returns a filter for fields that the API server would refuse: one wrong field must not cost the report of how the
 * attempt ended.
 */
export function runFilter(): (run: Run) => ValidRun {
  const ajv = new Ajv({ ...ajvOptions, useDefaults: false });
  const checks = new Map<string, ValidateFunction>(Object.entries(Run.properties).map(([field, schema]) => [field, ajv.compile(schema)]));
  return (run) => {
    const dropped: string[] = [];
    const kept = Object.entries(run).filter(([field, value]) => {
      const check = checks.get(field);
      if (value === undefined) return false;
      if (required.has(field) || check?.(value) === true) return true;
      const [error] = check?.errors ?? [];
      dropped.push(`${field}${error?.instancePath ?? ''}: ${error?.message ?? 'unknown field'}`);
      return false;
    });
    return { run: Object.fromEntries(kept) as Run, dropped };
  };
}

/** The constant manager of `status.run`: another worker that takes the task over owns the same fields. */
const workerManager = 'agentfleet-worker';

export type WriteResult = 'Written' | 'Retried' | 'Refused' | 'Invalid';

interface ReporterOptions {
  /** Fenced by the worker's lease. */
  readonly client: Pick<ResourceClient<AgentTask>, 'applyStatus' | 'find'>;
  readonly task: { readonly name: string; readonly namespace: string; readonly uid: string };
  /** The known part; attempt and epoch are those of the assignment. */
  readonly base: Run;
  readonly filter: (run: Run) => ValidRun;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly onWrite?: (result: WriteResult) => void;
  /** The API server shows that the task belongs to another worker. Called at most once. */
  readonly onNotMine: () => void;
}

/** Least interval between writes without urgency, ms. */
const progressMs = 3000;
/** Interval that long attempts come to, ms: at hundreds of running tasks these writes are most of what the API server does. */
const longestProgressMs = 15_000;
/** The interval is this share of the time since the first write. */
const progressShare = 1 / 20;
const writeMs = 10_000;
const retries = { baseMs: 300, factor: 2, capMs: 10_000, jitter: 0.5, resetMs: 60_000 };

/**
 * Keeps the report of one task under one epoch and writes it to `status.run`: urgent changes at once, others at most
 * every three seconds, and every fifteen after five minutes; never two writes at a time, always the newest state. Retries after conflicts, server errors and
 * broken connections until it is asked to stop.
 */
export class Reporter {
  readonly #options: ReporterOptions;
  readonly #backoff: Backoff;
  #run: Run;
  #changes = 0;
  #written = 0;
  #urgent = false;
  #minimal = false;
  #last = '';
  #firstSentAt = Infinity;
  #sentAt = -Infinity;
  #closed = false;
  readonly #moved = new Waiters();

  constructor(options: ReporterOptions) {
    this.#options = options;
    this.#run = options.base;
    this.#backoff = new Backoff(retries, options.clock, options.random);
  }

  /** The newest state, untrimmed. */
  get run(): Run {
    return this.#run;
  }

  /** Merges a change, field by field of `status.run`. After the end it is ignored. */
  report(change: Report, options: { readonly urgent?: boolean } = {}): void {
    if (this.#closed) return;
    const { attempt, epoch } = this.#options.base;
    const { pendingApproval: before, ...run } = this.#run;
    const { pendingApproval: now, ...rest } = change;
    const held = 'pendingApproval' in change ? now : before;
    this.#run = { ...run, ...rest, ...(held !== undefined && { pendingApproval: held }), attempt, epoch };
    this.#changes += 1;
    if (options.urgent === true) this.#urgent = true;
    this.#moved.wake();
  }

  /** Resolves with true when everything reported so far is written, with false when it never will be. */
  async flush(signal: AbortSignal): Promise<boolean> {
    const upTo = this.#changes;
    this.#urgent ||= this.#written < upTo;
    this.#moved.wake();
    while (this.#written < upTo && !this.#closed && !signal.aborted) await this.#moved.next(signal);
    return this.#written >= upTo;
  }

  /** Writes until the signal is aborted or the task belongs to another worker. Never rejects. */
  async follow(signal: AbortSignal): Promise<void> {
    signal.addEventListener('abort', () => this.#end(), { once: true });
    if (signal.aborted) this.#end();
    while (!this.#closed) {
      const wait = this.#dueIn();
      if (wait > 0) await this.#pause(wait, signal);
      else await this.#write(signal);
    }
  }

  /** Ms until the next write; infinite when there is nothing to report. */
  #dueIn(): number {
    if (this.#written === this.#changes) return Infinity;
    return this.#urgent ? 0 : this.#sentAt + this.#interval() - this.#options.clock.monotonic();
  }

  #interval(): number {
    const share = (this.#sentAt - this.#firstSentAt) * progressShare;
    return Math.max(progressMs, Math.min(longestProgressMs, share));
  }

  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    using limit = deadline(this.#options.clock, Math.min(ms, 2 ** 31 - 1), signal);
    await this.#moved.next(limit.signal);
  }

  async #write(signal: AbortSignal): Promise<void> {
    const { client, task, clock, onWrite } = this.#options;
    const upTo = this.#changes;
    const run = this.#body();
    const text = JSON.stringify(run);
    this.#urgent = false;
    if (text === this.#last) {
      this.#done(upTo, text);
      return;
    }
    this.#sentAt = clock.monotonic();
    this.#firstSentAt = Math.min(this.#firstSentAt, this.#sentAt);
    try {
      const decisive = run.outcome !== undefined || run.rollback !== undefined || run.quiescedAt !== undefined;
      const guard = decisive ? await this.#guard(signal) : {};
      const body = { metadata: { name: task.name, namespace: task.namespace, ...guard }, status: { run } };
      const written = await client.applyStatus(body, { fieldManager: workerManager, force: true, signal, timeoutMs: writeMs });
      if (written.metadata.uid !== task.uid) throw anew(task);
    } catch (error) {
      if (!signal.aborted) await this.#failed(error, signal);
      return;
    }
    onWrite?.('Written');
    this.#done(upTo, text);
  }

  /**
   * Fields that the operator acts on must not reach a task that was created again under the same name. The status
   * endpoint of a custom resource does not check a uid, so the version that was read with it is the condition.
   */
  async #guard(signal: AbortSignal): Promise<{ readonly resourceVersion: string }> {
    const { client, task } = this.#options;
    const present = await client.find({ namespace: task.namespace, name: task.name }, { signal, timeoutMs: writeMs });
    if (present?.metadata.uid !== task.uid) throw anew(task);
    return { resourceVersion: present.metadata.resourceVersion ?? '' };
  }

  #body(): Run {
    const rests = this.#run.quiescedAt !== undefined;
    const fields = Object.entries(this.#run).filter(([field]) => !this.#minimal || actedOn.has(field) || (rests && field === 'snapshots'));
    const { run, dropped } = this.#options.filter(trim(Object.fromEntries(fields) as Run));
    if (dropped.length > 0)
      this.#options.log.error('fields of the report are not what the API takes', coded('AF_REPORT_FIELDS', { dropped }));
    return run;
  }

  async #failed(error: unknown, signal: AbortSignal): Promise<void> {
    const { log, onWrite, onNotMine, clock } = this.#options;
    const refusal = classify(error);
    const { message } = asError(error);
    if (refusal === 'NotMine') {
      log.warn('the report was refused: the task is not ours any more', { error: message });
      onWrite?.('Refused');
      this.#end();
      onNotMine();
      return;
    }
    onWrite?.(refusal === 'Invalid' ? 'Invalid' : 'Retried');
    log.warn('the report was not written', { error: message, refusal });
    // What the operator acts on is tried alone, in case the server refuses the rest.
    this.#minimal ||= refusal === 'Invalid';
    this.#urgent = true;
    await sleep(clock, this.#backoff.next(), signal);
  }

  #done(upTo: number, text: string): void {
    this.#written = upTo;
    this.#last = text;
    this.#moved.wake();
  }

  #end(): void {
    this.#closed = true;
    this.#moved.wake();
  }
}

function anew({ namespace, name }: ReporterOptions['task']): ApiError {
  return new ApiError(
    404,
    { reason: 'NotFound', message: 'the task was deleted, or created again under its name' },
    `${namespace}/${name}`,
  );
}
