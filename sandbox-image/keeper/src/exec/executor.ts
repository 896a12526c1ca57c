import type { ExecRequest } from '@agentfleet/protocol/keeper';
import type { EpochFence } from '../auth/index.ts';
import { timestamp, type Clock } from '../clock.ts';
import { errnoOf, isDiskFull, KeeperError } from '../failure.ts';
import type { Gate } from '../gate.ts';
import type { CommandMessage, RunnerLink } from '../link/index.ts';
import type { EventLog } from '../log/index.ts';
import type { Redaction } from '../redact/index.ts';
import { errorFields, type Logger } from '../logger.ts';
import type { JournalArchive } from './archive.ts';
import { Command, type EndFacts, type KillReason } from './command.ts';
import type { FollowSource } from './follow.ts';
import type { Journal } from './journal.ts';
import { planExec, type ExecDefaults, type ExecPlan } from './plan.ts';
import type { Quota } from './quota.ts';
import type { StoreReserve } from './reserve.ts';
import type { Spill, SpillStore } from './spill.ts';

export interface ExecutorOptions {
  readonly defaults: ExecDefaults;
  readonly archive: JournalArchive;
  readonly clock: Clock;
  readonly fence: EpochFence;
  readonly gate: Gate;
  readonly link: RunnerLink;
  readonly log: EventLog;
  readonly logger: Logger;
  readonly quota: Quota;
  readonly redaction: Redaction;
  readonly reserve: StoreReserve;
  readonly spills: SpillStore;
  /** Throws when the sandbox may not run commands now (network, tools). */
  readonly assertReady: () => void;
  readonly onEnded: (facts: EndFacts) => void;
}

/** The command that runs, before and after its journal exists. */
interface Running {
  readonly command: Command;
  readonly journal: Promise<Journal>;
  readonly finished: Promise<void>;
}

/** How long a lost tools container may take to be dead or back before its command counts as gone. */
const quiesceMs = 5000;
const quiesceStepMs = 50;

/** Runs commands, one at a time, each id once. */
export class Executor {
  readonly #options: ExecutorOptions;
  #running: Running | null = null;
  #stopping = false;

  constructor(options: ExecutorOptions) {
    this.#options = options;
  }

  /** Id of the command that runs. */
  get running(): string | null {
    return this.#running?.command.id ?? null;
  }

  /**
   * Starts a command and returns where its events can be followed; a known id is not run again.
   *
   * @throws KeeperError for every reason not to run it; then nothing was run
   */
  async start(request: ExecRequest, epoch: number): Promise<FollowSource> {
    const plan = planExec(request, this.#options.defaults);
    const known = await this.#known(plan);
    if (known !== null) return known;
    await this.#admit();
    // From here to the assignment of #running nothing is awaited: two requests cannot both get in.
    if (this.#running?.command.id === plan.frame.id) return this.start(request, epoch);
    if (this.#stopping) throw new KeeperError('AF_TOOLS_UNAVAILABLE', 'the keeper stops');
    this.#options.assertReady();
    this.#options.fence.assert(epoch);
    const release = this.#options.gate.exclusive({ kind: 'command', name: plan.frame.id });
    return this.#run(plan, epoch, release).journal;
  }

  /** @throws KeeperError `AF_EXEC_UNKNOWN` */
  async find(execId: string): Promise<FollowSource> {
    if (this.#running?.command.id === execId) return this.#running.journal;
    const stored = await this.#options.archive.find(execId);
    if (stored === null) throw new KeeperError('AF_EXEC_UNKNOWN', `no command ${execId} was started here`);
    return stored.source;
  }

  /** Cancels a command; one that has ended is left as it is. @throws KeeperError `AF_EXEC_UNKNOWN` */
  async cancel(execId: string): Promise<void> {
    if (this.#running?.command.id === execId) this.#running.command.kill('Cancelled');
    else await this.find(execId);
  }

  /** Ends the running command if an older epoch started it, and waits until it is gone. */
  async supersede(epoch: number): Promise<void> {
    const running = this.#running;
    if (running !== null && running.command.epoch < epoch) await this.#end(running, 'Cancelled');
  }

  /** Ends whatever runs and waits until it is gone. */
  async shutdown(): Promise<void> {
    this.#stopping = true;
    if (this.#running !== null) await this.#end(this.#running, 'Shutdown');
  }

  /** From the link: a message about a command. */
  receive(message: CommandMessage): Promise<void> | undefined {
    const command = this.#running?.command;
    if (command !== undefined && message.id === command.id) return command.receive(message);
    this.#options.logger.warn('the runner spoke of a command that does not run', { t: message.t, execId: message.id });
    return undefined;
  }

  /** From the link: the tools container is gone. */
  toolsLost(): void {
    this.#running?.command.lost();
  }

  async #end(running: Running, reason: KillReason): Promise<void> {
    running.command.kill(reason);
    await running.finished;
  }

  async #known(plan: ExecPlan): Promise<FollowSource | null> {
    const { id } = plan.frame;
    const running = this.#running;
    if (running?.command.id === id) {
      assertSame(id, running.command.plan.digest, plan.digest);
      return running.journal;
    }
    const stored = await this.#options.archive.find(id);
    if (stored === null) return null;
    assertSame(id, stored.header.requestDigest, plan.digest);
    return stored.source;
  }

  async #admit(): Promise<void> {
    this.#options.log.assertWritable();
    if (this.#running !== null) return;
    if (!(await this.#options.reserve.ready())) throw new KeeperError('AF_STORE_FULL', 'the store has no room for the output of a command');
    await this.#options.quota.assertWithin();
  }

  #run(plan: ExecPlan, epoch: number, release: () => void): Running {
    const { clock, link, redaction } = this.#options;
    const onOverdue = (): void => this.#overdue(plan.frame.id);
    const command = new Command({ plan, epoch, clock, link, onOverdue, redacting: plan.raw ? null : redaction.open() });
    const journal = this.#open(command);
    const finished = this.#complete(command, journal)
      .catch((error: unknown) =>
        this.#options.logger.error('a command could not be completed', { execId: command.id, ...errorFields(error) }),
      )
      .finally(() => {
        this.#running = null;
        release();
      });
    const running = { command, journal, finished };
    this.#running = running;
    return running;
  }

  /** The intent is on disk before the journal exists, and the journal before the runner hears of it. */
  async #open(command: Command): Promise<Journal> {
    const { archive, clock, log, logger, redaction } = this.#options;
    const { intent, digest } = command.plan;
    const at = timestamp(clock);
    // What is in the log leaves the keeper as it stands there.
    await log.commit('ExecRequested', redaction.open().value(intent));
    const onFault = (error: unknown): void => {
      logger.error('the journal of a command takes no more', { execId: command.id, ...errorFields(error) });
      command.kill('Cancelled');
    };
    try {
      return await archive.create({ type: 'request', execId: command.id, requestDigest: digest, epoch: command.epoch, at }, onFault);
    } catch (error) {
      log.append('ExecEnded', { execId: command.id, started: false, error: errnoOf(error) ?? 'EIO' });
      throw isDiskFull(error) ? new KeeperError('AF_STORE_FULL', 'the store has no room for a journal', { cause: error }) : error;
    }
  }

  async #complete(command: Command, opening: Promise<Journal>): Promise<void> {
    const { log, quota, reserve } = this.#options;
    let journal: Journal;
    try {
      journal = await opening;
    } catch {
      return; // The caller of start() hears of it.
    }
    const watching = new AbortController();
    command.start(journal, this.#spillOf(command.plan));
    const watch = quota.watch(() => command.kill('QuotaExceeded'), watching.signal).catch(this.#unmeasured);
    let facts = await command.ended;
    watching.abort();
    if (facts.interrupted !== undefined) await this.#quiesce();
    await watch;
    facts = await command.close(facts);
    const summary = await journal.finish(facts, reserve.release).catch((error: unknown) => {
      this.#options.logger.error('the end of a command could not be written to its journal', { execId: command.id, ...errorFields(error) });
      return { sha256: null, bytes: journal.size, events: null };
    });
    const { type: _type, ...told } = facts;
    const lostEvents = journal.lost === 0 ? {} : { lostEvents: journal.lost };
    const kept = { journalSha256: summary.sha256, journalBytes: summary.bytes, events: summary.events };
    log.append('ExecEnded', { execId: command.id, ...told, ...lostEvents, ...kept });
    this.#options.onEnded(facts);
    quota.measureSoon(this.#unmeasured);
  }

  #spillOf({ frame, spillBytes }: ExecPlan): Spill | null {
    const { reserve, spills } = this.#options;
    return spillBytes === 0 ? null : spills.spill({ execId: frame.id, maxBytes: spillBytes, room: () => reserve.freeBytes(0) });
  }

  readonly #unmeasured = (error: unknown): void => {
    this.#options.logger.error('the roots could not be measured', errorFields(error));
  };

  /** Whoever lost the link kills its commands at once; only a runner that is back, or time, proves it. */
  async #quiesce(): Promise<void> {
    const { clock, link } = this.#options;
    const done = (): boolean => this.#stopping || link.state.connected;
    for (let waited = 0; waited < quiesceMs && !done(); waited += quiesceStepMs) await clock.sleep(quiesceStepMs);
  }

  #overdue(execId: string): void {
    this.#options.logger.error('the runner did not end a command in time', { execId });
    this.#options.log.append('ToolsRestartRequested', { why: 'overdue', execId });
    this.#options.link.retire(1, `the command ${execId} did not end in time`);
  }
}

function assertSame(execId: string, known: string, asked: string): void {
  if (known !== asked) throw new KeeperError('AF_EXEC_ID_REUSED', `the id ${execId} belongs to another request`);
}
