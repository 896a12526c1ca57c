import { asError, deadline, type Clock, type Log } from '@agentfleet/kube';
import type { AgentTask, Run } from '@agentfleet/protocol/api';
import type { PoolBrief } from '@agentfleet/protocol/pool';
import { traceName } from '@agentfleet/protocol/results';
import { isSuperseded, retryWhileUnavailable } from '../base/failure.ts';
import type { Durability, Written } from '../durable/index.ts';
import type { Reporter } from '../report/index.ts';
import type { Sandbox } from './sandbox/connect.ts';

export interface CopiesOptions {
  /** Opens the durable copies of the task; `onWritten` is called for each checkpoint. */
  readonly open: (onWritten: (written: Written) => void) => Durability;
  readonly onCopied: () => void;
  readonly pool: Pick<PoolBrief, 'maxRetentionSeconds'>;
  readonly reporter: Reporter;
  readonly clock: Clock;
  readonly log: Log;
}

/** Time limit of an attempt's last copy, and of one that is handed over, ms. */
const endMs = 120_000;
const handOverMs = 12_000;

/** Seconds for which the copies of a task are kept after its end: what it asks for, and never more than its pool allows. */
export function keepSeconds({ spec }: Pick<AgentTask, 'spec'>, { maxRetentionSeconds = Infinity }: CopiesOptions['pool']): number {
  return Math.min(spec.retention.snapshotsSeconds, maxRetentionSeconds);
}

/** Decides when the sandbox of a task is copied, and reports it. */
export class Copies {
  readonly #options: CopiesOptions;
  readonly #durability: Durability;
  /** Newest durable copy, of this assignment or an earlier one. */
  #uri: string | undefined;

  constructor(options: CopiesOptions, task: AgentTask) {
    this.#options = options;
    this.#uri = task.status?.run?.snapshots?.checkpointURI;
    this.#durability = options.open((written) => this.#written(written));
  }

  /** Summaries of snapshots are reported whole: each names the newest copy. */
  named(snapshots: NonNullable<Run['snapshots']>): NonNullable<Run['snapshots']> {
    return this.#uri === undefined ? snapshots : { ...snapshots, checkpointURI: this.#uri };
  }

  intent(signal: AbortSignal): Promise<void> {
    return this.#durability.intent(signal);
  }

  /**
   * Runs work in the sandbox while it is copied, and copies it once more at the end. An empty sandbox adopts the newest
   * copy first. A failed copy is reported, and is no failure of the task.
   */
  async during<T>(
    task: AgentTask,
    sandbox: Sandbox,
    stop: AbortSignal,
    work: () => Promise<T>,
    endsTask: (result: T) => boolean = () => false,
  ): Promise<T> {
    await this.#durability.attach(sandbox.keeper, stop);
    const done = new AbortController();
    const following = this.#durability.follow(AbortSignal.any([done.signal, sandbox.lost]));
    let isOver = false;
    try {
      const result = await work();
      isOver = endsTask(result);
      return result;
    } finally {
      done.abort();
      await following;
      await this.#atEnd(task, sandbox, stop, isOver);
    }
  }

  /** Keeps the tree as a snapshot and copies all there is. Nothing runs in the sandbox. */
  async rest({ keeper }: Sandbox, stop: AbortSignal): Promise<void> {
    const { clock, reporter } = this.#options;
    await this.#durability.attach(keeper, stop);
    const label = `at rest ${reporter.run.epoch}`;
    const retry = { clock, signal: stop };
    const newest = (await retryWhileUnavailable(() => keeper.snapshots(), retry)).at(-1);
    if (newest?.label !== label) await retryWhileUnavailable(() => keeper.takeSnapshot(label), retry);
    await this.#durability.checkpoint(stop);
  }

  async #atEnd({ spec }: AgentTask, { lost }: Sandbox, stop: AbortSignal, isOver: boolean): Promise<void> {
    if (lost.aborted || stop.reason === 'Lost') return;
    const { clock, log, pool } = this.#options;
    using limit = deadline(clock, stop.aborted ? handOverMs : endMs, lost);
    const goesOn = stop.aborted && stop.reason !== 'Stop';
    try {
      // While the task is active the expiry is unknown; at the end the spec has it. Attempts that follow need the copy, at most until the deadline.
      const seconds = keepSeconds({ spec }, pool) + (isOver ? 0 : spec.deadlineSeconds);
      await this.#durability.checkpoint(limit.signal, goesOn ? undefined : seconds * 1000);
      if (!goesOn) this.#options.onCopied();
    } catch (error) {
      if (!isSuperseded(error)) log.warn('the end could not be copied', { error: asError(error).message });
    }
  }

  #written({ uri, head }: Written): void {
    const { reporter } = this.#options;
    this.#uri = uri;
    const snapshots = { ...reporter.run.snapshots, checkpointURI: uri };
    // Who has the log of an attempt that has ended checks it by the head that it was stored with; the sandbox may have written more since.
    const isStored = reporter.run.artifacts?.some(({ name }) => name === traceName) === true;
    reporter.report({ snapshots, ...(isStored ? {} : { auditRoot: head.hash }) });
  }
}
