import { coded } from '@agentfleet/protocol/log';
import { type AgentTask, type Approval, type TaskMessage, maxMessagesTaken, type Directive } from '@agentfleet/protocol/api';
import type { AttemptContext, AttemptEngine, Experts, Outcome, Report, Restored, DecisionModels } from '../attempt/ports.ts';
import { type Reporter, noUsage, usedSoFar, withinAssignment, withWallSeconds } from '../report/index.ts';
import { asError, Backoff, deadline, sleep, type Clock, type Log, type Random } from '@agentfleet/kube';
import type { PoolBrief } from '@agentfleet/protocol/pool';
import type { ChatModels } from '../models/index.ts';
import type { Mirror } from '../shadow/index.ts';
import type { ArtifactStore } from '../store/index.ts';
import { Copies, type CopiesOptions } from './copies.ts';
import { rollbackTarget } from './decide.ts';
import { isSuperseded, outcomeOf } from './sandbox/failures.ts';
import { type Sandbox, type SandboxLink, floorOf, tooWeak, reportedWall, watchWall } from './sandbox/connect.ts';

/** The newest known state of one task, and a way to wait for the next one. */
export class Newest {
  #task: AgentTask;
  readonly #waiters = new Set<() => void>();

  constructor(task: AgentTask) {
    this.#task = task;
  }

  see(task: AgentTask): void {
    this.#task = task;
    for (const resolve of this.#waiters) resolve();
    this.#waiters.clear();
  }

  get task(): AgentTask {
    return this.#task;
  }

  approvals(): readonly Approval[] {
    return this.#task.status?.approvals ?? [];
  }

  messages(): readonly TaskMessage[] {
    return this.#task.status?.messages ?? [];
  }

  /** Resolves at the next change, or when the signal is aborted; never rejects. */
  async changed(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiters.add(resolve);
    signal.addEventListener('abort', () => resolve(), { once: true });
    await promise;
    this.#waiters.delete(resolve);
  }
}

/** Returns the messages for the engine: those of `status.messages` that no report of this task has named as taken. */
export function messagesOf(
  newest: Pick<Newest, 'messages'>,
  reporter: Pick<Reporter, 'run' | 'report'>,
): Required<Pick<AttemptContext, 'messages' | 'messageTaken'>> {
  const taken = (): readonly string[] => reporter.run.messagesTaken ?? [];
  return {
    messages: () => {
      const known = new Set(taken());
      return newest
        .messages()
        .flatMap(({ id, text, requester, snapshot }) =>
          known.has(id) ? [] : [{ id, text, by: requester, ...(snapshot !== undefined && { snapshot }) }],
        );
    },
    messageTaken: (id) => {
      const known = taken();
      if (known.includes(id)) return;
      reporter.report({ messagesTaken: [...known, id].slice(-maxMessagesTaken) }, { urgent: true });
    },
  };
}

interface AssignmentRunnerOptions {
  readonly engine: AttemptEngine;
  /** The brief as of the assignment; later ones count for later attempts. */
  readonly pool: PoolBrief;
  readonly experts: Experts;
  /** Undefined: the pool has no chat model. */
  readonly models?: ChatModels | undefined;
  /** The learned parts for one run of the engine, until its signal. */
  readonly openDecisionModels: (task: AgentTask, signal: AbortSignal) => DecisionModels;
  /** Copies requests to a revision in shadow; undefined: the task is in no shadow phase. */
  readonly mirror?: Pick<Mirror, 'counts' | 'close'> | undefined;
  readonly store: ArtifactStore;
  readonly link: SandboxLink;
  readonly openDurability: CopiesOptions['open'];
  readonly onCopied: CopiesOptions['onCopied'];
  readonly reporter: Reporter;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly readConfigMap: AttemptContext['readConfigMap'];
  readonly onOutcome?: (outcome: Outcome) => void;
  readonly actedFirst?: () => void;
  /** The keeper knows a newer assignment. */
  readonly onSuperseded: () => void;
}

/** Longest wait of a stop for a sandbox that does not answer, before it is reported without trace and patch, ms. */
const stopMs = 60_000;
const rollbackTries = 5;
const retries = { baseMs: 1000, factor: 2, capMs: 15_000, jitter: 0.2, resetMs: 600_000 };

/** One task under one epoch: its report, the connection to its sandbox, and the execution of each directive. */
export class AssignmentRunner {
  readonly #options: AssignmentRunnerOptions;
  readonly #life = new AbortController();
  readonly #reporting: Promise<void>;
  readonly #used: ReturnType<typeof usedSoFar>;
  readonly #newest: Newest;
  readonly #copies: Copies;
  /** An engine of this assignment was asked to stop: it has stored what a stop stores. */
  #engineStopped = false;

  constructor(options: AssignmentRunnerOptions, task: AgentTask) {
    this.#options = options;
    this.#used = usedSoFar(task);
    this.#newest = new Newest(task);
    options.link.see(task);
    this.#copies = new Copies({ ...options, open: options.openDurability }, task);
    this.#reporting = options.reporter.follow(this.#life.signal);
  }

  see(task: AgentTask): void {
    this.#newest.see(task);
    this.#options.link.see(task);
  }

  /**
   * Follows one directive to its end, and until its report is written. The signal's reason is the next directive, or
   * `'Lost'`. Never two calls at a time.
   */
  async follow(directive: Directive, task: AgentTask, signal: AbortSignal): Promise<void> {
    const stop = new AbortController();
    const onSignal = (): void => stop.abort(signal.reason);
    const onLost = (): void => stop.abort('Lost');
    signal.addEventListener('abort', onSignal, { once: true });
    this.#options.link.lost.addEventListener('abort', onLost, { once: true });
    if (signal.aborted) onSignal();
    if (this.#options.link.lost.aborted) onLost();
    try {
      await this.#act(directive, task, stop.signal);
    } catch (error) {
      if (isSuperseded(error)) this.#options.onSuperseded();
      else if (!stop.signal.aborted) throw error;
    } finally {
      signal.removeEventListener('abort', onSignal);
      this.#options.link.lost.removeEventListener('abort', onLost);
    }
    if (this.#options.link.lost.aborted) this.#sayLost();
    await this.#options.reporter.flush(this.#life.signal);
  }

  /** Nothing more is written about the task from here on. */
  drop(): void {
    this.#options.mirror?.close();
    this.#life.abort();
  }

  /** Ends reports and connections; call it when nothing runs any more. */
  async close(): Promise<void> {
    this.drop();
    await this.#options.link.close();
    await this.#reporting;
  }

  async #act(directive: Directive, task: AgentTask, stop: AbortSignal): Promise<void> {
    if (directive === 'Run') await this.#run(task, stop);
    else if (directive === 'Stop') await this.#stop(task, stop);
    else if (directive === 'Rollback') await this.#rollback(task, stop);
    else await this.#quiesce(stop);
  }

  async #run(task: AgentTask, stop: AbortSignal): Promise<void> {
    const began = this.#options.clock.monotonic();
    let outcome: Outcome | undefined;
    let called = false;
    const watching = new AbortController();
    try {
      const sandbox = await this.#open(stop);
      void this.#watchWall(sandbox, AbortSignal.any([watching.signal, stop, sandbox.lost]));
      const { minIsolation, allowUnenforcedNetwork } = this.#options.pool;
      const weak = tooWeak(sandbox.isolation, floorOf({ minIsolation }, task), allowUnenforcedNetwork);
      if (weak !== undefined) throw weak;
      const running = (): Promise<Outcome> => {
        called = true;
        return this.#options.engine.run(this.#context(task, sandbox, stop, began));
      };
      outcome = await this.#copies.during(task, sandbox, stop, running, ({ result }) => result === 'Succeeded');
    } catch (error) {
      if (isSuperseded(error)) throw error;
      this.#engineStopped = stop.aborted && stop.reason === 'Stop' && called;
      if (stop.aborted) throw error;
      this.#options.log.error('the attempt could not go on', coded('AF_ATTEMPT_BROKEN', { error: asError(error).stack }));
      outcome = outcomeOf(error);
    } finally {
      this.#options.mirror?.close();
      watching.abort();
    }
    // The outcome of an engine that was asked to stop counts only when stopping was the directive.
    if (!stop.aborted || stop.reason === 'Stop') this.#end(outcome, began);
  }

  async #stop(task: AgentTask, stop: AbortSignal): Promise<void> {
    if (this.#options.reporter.run.outcome !== undefined) return;
    const began = this.#options.clock.monotonic();
    const outcome = this.#engineStopped ? undefined : await this.#stopEngine(task, stop, began);
    if (stop.aborted) return;
    const stopped: Outcome = { result: 'Stopped', reason: 'Stopped', message: 'stopped as directed' };
    this.#end(outcome?.result === 'Stopped' ? outcome : stopped, began);
  }

  /** Nothing runs here: an engine that is called with a signal whose reason is already Stop stores trace and patch. */
  async #stopEngine(task: AgentTask, stop: AbortSignal, began: number): Promise<Outcome | undefined> {
    const limit = deadline(this.#options.clock, stopMs, stop);
    try {
      const sandbox = await this.#open(limit.signal);
      await this.#endCommand(sandbox, limit.signal);
      return await this.#options.engine.run(this.#context(task, sandbox, AbortSignal.abort('Stop'), began));
    } catch (error) {
      if (stop.aborted || isSuperseded(error)) throw error;
      if (error !== 'Stop') this.#options.log.warn('stopped without trace and patch', { error: asError(error).message });
      return undefined;
    } finally {
      limit.dispose();
    }
  }

  async #rollback(task: AgentTask, stop: AbortSignal): Promise<void> {
    const { clock, random, log, engine, reporter } = this.#options;
    const backoff = new Backoff(retries, clock, random);
    const began = clock.monotonic();
    for (let tries = 1; ; tries += 1) {
      try {
        const sandbox = await this.#open(stop);
        const rolling = (): Promise<Restored> => engine.rollback(this.#context(task, sandbox, stop, began), rollbackTarget(task));
        const rollback = await this.#copies.during(task, sandbox, stop, rolling);
        if (!stop.aborted) reporter.report({ rollback }, { urgent: true });
        return;
      } catch (error) {
        if (stop.aborted || isSuperseded(error)) throw error;
        const { message } = asError(error);
        log.error('the rollback failed', coded('AF_ROLLBACK_FAILED', { error: message, tries }));
        if (tries === rollbackTries) return this.#notRestored(message);
        await sleep(clock, backoff.next(), stop);
        stop.throwIfAborted();
      }
    }
  }

  /** The operator decides the next step; it must not wait for ever. */
  #notRestored(message: string): void {
    const { reporter } = this.#options;
    const snapshot = reporter.run.snapshots?.initial;
    const outcome: Outcome = { result: 'Failed', class: 'Infrastructure', reason: 'RollbackFailed', message };
    const rollback = snapshot === undefined ? {} : { rollback: { snapshot, verified: false, irreversible: [message] } };
    reporter.report({ outcome, ...rollback }, { urgent: true });
  }

  /** Ends what an earlier process of this pod left running. */
  async #endCommand({ keeper }: Sandbox, signal: AbortSignal): Promise<void> {
    const { running } = await keeper.info(signal);
    if (running !== null) await keeper.cancel(running);
  }

  /** Ends the command, keeps the tree as a snapshot, copies everything, and reports it. Without a copy the sandbox must stay. */
  async #quiesce(stop: AbortSignal): Promise<void> {
    const { clock, random, log, reporter } = this.#options;
    const backoff = new Backoff(retries, clock, random);
    for (;;) {
      try {
        const sandbox = await this.#options.link.open(stop);
        await this.#endCommand(sandbox, stop);
        await this.#copies.rest(sandbox, stop);
        reporter.report({ quiescedAt: new Date(clock.now()).toISOString().replace(/\.\d+Z$/, 'Z') }, { urgent: true });
        return;
      } catch (error) {
        if (stop.aborted || isSuperseded(error)) throw error;
        const { message } = asError(error);
        log.warn('the task could not be brought to rest', { error: message });
        const { done, total } = reporter.run.progress ?? { done: 0, total: 0 };
        reporter.report({ progress: { done, total, message: `not at rest yet: ${message}`.slice(0, 256) } });
        await sleep(clock, backoff.next(), stop);
        stop.throwIfAborted();
      }
    }
  }

  async #open(signal: AbortSignal): Promise<Sandbox> {
    const { link, reporter } = this.#options;
    const sandbox = await link.open(signal);
    const isolation = reportedWall(sandbox.isolation, this.#newest.task);
    reporter.report({ isolation }, { urgent: true });
    return { ...sandbox, isolation };
  }

  #watchWall({ keeper, isolation: found }: Sandbox, signal: AbortSignal): Promise<void> {
    const { clock, log, reporter } = this.#options;
    const report = (isolation: Sandbox['isolation']): void => reporter.report({ isolation }, { urgent: true });
    return watchWall({ keeper, found, task: () => this.#newest.task, report, clock, log }, signal);
  }

  #context(task: AgentTask, sandbox: Sandbox, signal: AbortSignal, began: number): AttemptContext {
    const { pool, experts, models, openDecisionModels, store, clock, log, readConfigMap, reporter, actedFirst } = this.#options;
    const assignment = task.status?.assignment;
    if (assignment === undefined) throw new Error('the task has no assignment');
    const { keeper } = sandbox;
    const decisionModels = openDecisionModels(task, signal);
    const report = (change: Report, options?: { readonly urgent?: boolean }): void => {
      // The outcome and the snapshot of a Rollback are reported once, by this runtime: the operator acts on them.
      const { outcome: _, rollback: __, quiescedAt: ___, ...rest } = change;
      const usage = rest.usage && withWallSeconds(rest.usage, this.#used.before, clock.monotonic() - began);
      const snapshots = rest.snapshots && { snapshots: this.#copies.named(rest.snapshots) };
      reporter.report({ ...rest, ...snapshots, ...this.#shadowed, ...(usage === undefined ? {} : { usage }) }, options);
    };
    const approvals = (): ReturnType<Newest['approvals']> => this.#newest.approvals();
    const taskChanged = (signal: AbortSignal): Promise<void> => this.#newest.changed(signal);
    const mine = {
      task: withinAssignment(task),
      assignment,
      pool,
      keeper,
      experts,
      models,
      decisionModels,
      store,
      clock,
      log,
      used: this.#used,
      ...(actedFirst !== undefined && { actedFirst }),
    };
    const intentDurable = (): Promise<void> => this.#copies.intent(signal);
    return { ...mine, ...messagesOf(this.#newest, reporter), readConfigMap, intentDurable, approvals, taskChanged, signal, report };
  }

  #end(outcome: Outcome | undefined, began: number): void {
    if (outcome === undefined) return;
    const { reporter, clock, onOutcome, log } = this.#options;
    const usage = withWallSeconds(reporter.run.usage ?? noUsage, this.#used.before, clock.monotonic() - began);
    const { done, total } = reporter.run.progress ?? { done: 0, total: 0 };
    const progress = { done, total, message: inBrief(outcome) };
    reporter.report({ outcome, usage, progress, ...this.#shadowed, pendingApproval: undefined }, { urgent: true });
    onOutcome?.(outcome);
    log.info('the attempt has ended', { result: outcome.result, class: outcome.class, reason: outcome.reason });
  }

  /** Results of copies; reported with the next write, so that they cost none. */
  get #shadowed(): Report {
    const shadow = this.#options.mirror?.counts;
    return shadow === undefined ? {} : { shadow };
  }

  #sayLost(): void {
    const { reporter, link } = this.#options;
    const { done, total } = reporter.run.progress ?? { done: 0, total: 0 };
    reporter.report({ progress: { done, total, message: asError(link.lost.reason).message } }, { urgent: true });
  }
}

const successes: Readonly<Record<string, string>> = {
  ReviewAccepted: 'a person accepted the result',
  AnswerAccepted: 'the answer is there',
};

/** Returns the short form for `kubectl get`. */
function inBrief({ result, reason }: Outcome): string {
  if (result === 'Succeeded') return `done: ${successes[reason] ?? 'all checks hold'}`;
  return result === 'Stopped' ? 'stopped as directed' : `ended: ${reason}`;
}
