import { coded } from '@agentfleet/protocol/log';
import { type AgentTask, type Approval, maxMessagesTaken, type Directive } from '@agentfleet/protocol/api';
import type { AttemptContext, AttemptEngine, Outcome, Report, Restored, DecisionModels } from '../attempt/ports.ts';
import { failed } from '../attempt/closing.ts';
import { type Reporter, noUsage, usedSoFar, withinAssignment, withWallSeconds } from '../report/index.ts';
import { asError, Backoff, deadline, isApiError, KubeError, sleep, timestamp, type Random } from '@agentfleet/kube';
import { KeeperRefusal } from '@agentfleet/keeper/client';
import { AttemptFailure, causesOf, isConnectionLoss, isSuperseded } from '../base/failure.ts';
import { Waiters } from '../base/waiters.ts';
import type { Mirror } from '../shadow/index.ts';
import { Copies, type CopiesOptions } from './copies.ts';
import { rollbackTarget } from './decide.ts';
import { type Sandbox, type SandboxLink, floorOf, tooWeak, reportedWall, watchWall } from './sandbox/connect.ts';

/** The newest known state of one task, and a way to wait for the next one. */
export class Newest {
  #task: AgentTask;
  readonly #changed = new Waiters();

  constructor(task: AgentTask) {
    this.#task = task;
  }

  see(task: AgentTask): void {
    this.#task = task;
    this.#changed.wake();
  }

  get task(): AgentTask {
    return this.#task;
  }

  approvals(): readonly Approval[] {
    return this.#task.status?.approvals ?? [];
  }

  /** Resolves at the next change, or when the signal is aborted; never rejects. */
  changed(signal: AbortSignal): Promise<void> {
    return this.#changed.next(signal);
  }
}

/** Returns the messages for the engine: those of `status.messages` that no report of this task has named as taken. */
export function messagesOf(
  newest: Pick<Newest, 'task'>,
  reporter: Pick<Reporter, 'run' | 'report'>,
): Required<Pick<AttemptContext, 'messages' | 'messageTaken'>> {
  const taken = (): readonly string[] => reporter.run.messagesTaken ?? [];
  return {
    messages: () => {
      const known = new Set(taken());
      return (newest.task.status?.messages ?? []).flatMap(({ id, text, requester, snapshot }) =>
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
  /** Members of the context that attempts get unchanged. The brief is that of the assignment; later ones count for later attempts. */
  readonly given: Pick<AttemptContext, 'pool' | 'experts' | 'models' | 'store' | 'clock' | 'log' | 'readConfigMap' | 'actedFirst'>;
  /** The learned parts for one run of the engine, until its signal. */
  readonly openDecisionModels: (task: AgentTask, signal: AbortSignal) => DecisionModels;
  /** Copies requests to a revision in shadow; undefined: the task is in no shadow phase. */
  readonly mirror?: Pick<Mirror, 'counts' | 'close'> | undefined;
  readonly link: SandboxLink;
  readonly openDurability: CopiesOptions['open'];
  readonly onCopied: CopiesOptions['onCopied'];
  readonly reporter: Reporter;
  readonly random: Random;
  readonly onOutcome?: (outcome: Outcome) => void;
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
    this.#copies = new Copies({ ...options, ...options.given, open: options.openDurability }, task);
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
    const { lost } = this.#options.link;
    const isLost = new AbortController();
    const onLost = (): void => isLost.abort('Lost');
    lost.addEventListener('abort', onLost, { once: true });
    if (lost.aborted) onLost();
    const stop = AbortSignal.any([signal, isLost.signal]);
    try {
      await this.#act(directive, task, stop);
    } catch (error) {
      if (isSuperseded(error)) this.#options.onSuperseded();
      else if (!stop.aborted) throw error;
    } finally {
      lost.removeEventListener('abort', onLost);
    }
    if (lost.aborted) this.#sayLost();
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
    const began = this.#options.given.clock.monotonic();
    let outcome: Outcome | undefined;
    let called = false;
    const watching = new AbortController();
    try {
      const sandbox = await this.#open(stop);
      void this.#watchWall(sandbox, AbortSignal.any([watching.signal, stop, sandbox.lost]));
      const { minIsolation, allowUnenforcedNetwork } = this.#options.given.pool;
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
      this.#options.given.log.error('the attempt could not go on', coded('AF_ATTEMPT_BROKEN', { error: asError(error).stack }));
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
    const began = this.#options.given.clock.monotonic();
    const outcome = this.#engineStopped ? undefined : await this.#stopEngine(task, stop, began);
    if (stop.aborted) return;
    const stopped: Outcome = { result: 'Stopped', reason: 'Stopped', message: 'stopped as directed' };
    this.#end(outcome?.result === 'Stopped' ? outcome : stopped, began);
  }

  /** Nothing runs here: an engine that is called with a signal whose reason is already Stop stores trace and patch. */
  async #stopEngine(task: AgentTask, stop: AbortSignal, began: number): Promise<Outcome | undefined> {
    using limit = deadline(this.#options.given.clock, stopMs, stop);
    try {
      const sandbox = await this.#open(limit.signal);
      await this.#endCommand(sandbox, limit.signal);
      return await this.#options.engine.run(this.#context(task, sandbox, AbortSignal.abort('Stop'), began));
    } catch (error) {
      if (stop.aborted || isSuperseded(error)) throw error;
      if (error !== 'Stop') this.#options.given.log.warn('stopped without trace and patch', { error: asError(error).message });
      return undefined;
    }
  }

  async #rollback(task: AgentTask, stop: AbortSignal): Promise<void> {
    const { engine, reporter, given } = this.#options;
    const began = given.clock.monotonic();
    const rollBack = async (): Promise<void> => {
      const sandbox = await this.#open(stop);
      const rolling = (): Promise<Restored> => engine.rollback(this.#context(task, sandbox, stop, began), rollbackTarget(task));
      const rollback = await this.#copies.during(task, sandbox, stop, rolling);
      if (!stop.aborted)
        reporter.report({ rollback, ...this.#left, progress: this.#progress('rolled back'), pendingApproval: undefined }, { urgent: true });
    };
    await this.#repeat(stop, rollBack, (message, tries) => {
      given.log.error('the rollback failed', coded('AF_ROLLBACK_FAILED', { error: message, tries }));
      if (tries === rollbackTries) this.#notRestored(message);
      return tries === rollbackTries;
    });
  }

  /** Repeats work until it is done, or until `onFailure` returns that it is given up. */
  async #repeat(stop: AbortSignal, work: () => Promise<void>, onFailure: (message: string, tries: number) => boolean): Promise<void> {
    const { random, given } = this.#options;
    const backoff = new Backoff(retries, given.clock, random);
    for (let tries = 1; ; tries += 1) {
      try {
        return await work();
      } catch (error) {
        if (stop.aborted || isSuperseded(error)) throw error;
        if (onFailure(asError(error).message, tries)) return;
        await sleep(given.clock, backoff.next(), stop);
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

  async #endCommand({ keeper }: Sandbox, signal: AbortSignal): Promise<void> {
    const { running } = await keeper.info(signal);
    if (running !== null) await keeper.cancel(running);
  }

  /** Ends the command, keeps the tree as a snapshot, copies everything, and reports it. Without a copy the sandbox must stay. */
  async #quiesce(stop: AbortSignal): Promise<void> {
    const { link, reporter, given } = this.#options;
    const rest = async (): Promise<void> => {
      const sandbox = await link.open(stop);
      await this.#endCommand(sandbox, stop);
      await this.#copies.rest(sandbox, stop);
      reporter.report({ quiescedAt: timestamp(given.clock.now()) }, { urgent: true });
    };
    await this.#repeat(stop, rest, (message) => {
      given.log.warn('the task could not be brought to rest', { error: message });
      reporter.report({ progress: this.#progress(`not at rest yet: ${message}`.slice(0, 256)) });
      return false;
    });
  }

  #progress(message: string): NonNullable<Report['progress']> {
    const { done, total } = this.#options.reporter.run.progress ?? { done: 0, total: 0 };
    return { done, total, message };
  }

  async #open(signal: AbortSignal): Promise<Sandbox> {
    const { link, reporter } = this.#options;
    const sandbox = await link.open(signal);
    const isolation = reportedWall(sandbox.isolation, this.#newest.task);
    reporter.report({ isolation }, { urgent: true });
    return { ...sandbox, isolation };
  }

  #watchWall({ keeper, isolation: found }: Sandbox, signal: AbortSignal): Promise<void> {
    const { reporter, given } = this.#options;
    const { clock, log } = given;
    const report = (isolation: Sandbox['isolation']): void => reporter.report({ isolation }, { urgent: true });
    return watchWall({ keeper, found, task: () => this.#newest.task, report, clock, log }, signal);
  }

  #context(task: AgentTask, sandbox: Sandbox, signal: AbortSignal, began: number): AttemptContext {
    const { given, openDecisionModels, reporter } = this.#options;
    const assignment = task.status?.assignment;
    if (assignment === undefined) throw new Error('the task has no assignment');
    const report = (change: Report, options?: { readonly urgent?: boolean }): void => {
      // The outcome and the snapshot of a Rollback are reported once, by this runtime: the operator acts on them.
      const { outcome: _, rollback: __, quiescedAt: ___, ...rest } = change;
      const usage = rest.usage && withWallSeconds(rest.usage, this.#used.before, given.clock.monotonic() - began);
      const snapshots = rest.snapshots && { snapshots: this.#copies.named(rest.snapshots) };
      reporter.report({ ...rest, ...snapshots, ...this.#shadowed, ...(usage === undefined ? {} : { usage }) }, options);
    };
    return {
      ...given,
      ...messagesOf(this.#newest, reporter),
      task: withinAssignment(task),
      assignment,
      keeper: sandbox.keeper,
      decisionModels: openDecisionModels(task, signal),
      used: this.#used,
      intentDurable: () => this.#copies.intent(signal),
      approvals: () => this.#newest.approvals(),
      taskChanged: (until) => this.#newest.changed(until),
      signal,
      report,
    };
  }

  #end(outcome: Outcome | undefined, began: number): void {
    if (outcome === undefined) return;
    const { reporter, given, onOutcome } = this.#options;
    const usage = withWallSeconds(reporter.run.usage ?? noUsage, this.#used.before, given.clock.monotonic() - began);
    const progress = this.#progress(inBrief(outcome));
    reporter.report({ outcome, usage, progress, ...this.#left, ...this.#shadowed, pendingApproval: undefined }, { urgent: true });
    onOutcome?.(outcome);
    given.log.info('the attempt has ended', { result: outcome.result, class: outcome.class, reason: outcome.reason });
  }

  /** The plan without what an engine that was cut off left open. */
  get #left(): Report {
    const { plan } = this.#options.reporter.run;
    if (plan === undefined) return {};
    return {
      plan: plan.map((node) => (node.state === 'Pending' || node.state === 'Running' ? { ...node, state: 'Dropped' as const } : node)),
    };
  }

  /** Results of copies; reported with the next write, so that they cost none. */
  get #shadowed(): Report {
    const shadow = this.#options.mirror?.counts;
    return shadow === undefined ? {} : { shadow };
  }

  #sayLost(): void {
    const { reporter, link } = this.#options;
    reporter.report({ progress: this.#progress(asError(link.lost.reason).message) }, { urgent: true });
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

function isOutside(error: unknown): boolean {
  const known = causesOf(error).some((one) => one instanceof KeeperRefusal || one instanceof KubeError || isApiError(one));
  return known || isConnectionLoss(error);
}

/** Returns the outcome of an attempt whose engine threw. External failures are Infrastructure, the rest are internal. */
function outcomeOf(error: unknown): Outcome {
  if (error instanceof AttemptFailure || !isOutside(error)) return failed(error);
  return { result: 'Failed', class: 'Infrastructure', reason: 'SandboxUnreachable', message: asError(error).message };
}
