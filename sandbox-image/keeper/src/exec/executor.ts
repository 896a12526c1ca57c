import { execBounds, type ExecRequest, type StdinTaken } from '@agentfleet/protocol/keeper';
import { KeeperError, asKeeperError, errnoOf, isDiskFull, messageOf } from '../base/failure.ts';
import { Command, type CommandOptions, type EndFacts, type KillReason } from './command.ts';
import type { Journal, FollowSource } from './journal.ts';
import type { EpochFence } from '../auth/index.ts';
import { timestamp, type Clock } from '../base/clock.ts';
import type { Gate } from '../base/gate.ts';
import type { CommandMessage, RunnerInfo, RunnerLink } from '../link/index.ts';
import type { EventLog } from '../log/index.ts';
import type { Redaction } from '@agentfleet/protocol/redact';
import { errorFields, type Log } from '@agentfleet/protocol/log';
import type { JournalArchive } from './archive.ts';
import { closed } from './input.ts';
import { planExec, type ExecDefaults, type ExecPlan } from './plan.ts';
import type { OutputRoom, StoreReserve } from './outputRoom.ts';
import type { Quota } from './quota.ts';

interface Running {
  readonly command: Command;
  readonly journal: Promise<Journal>;
  readonly finished: Promise<void>;
}

export interface ExecutorOptions {
  readonly defaults: ExecDefaults;
  readonly archive: JournalArchive;
  readonly clock: Clock;
  readonly fence: EpochFence;
  readonly gate: Gate;
  readonly link: RunnerLink;
  readonly log: EventLog;
  readonly logger: Log;
  readonly quota: Quota;
  readonly redaction: Redaction;
  readonly reserve: StoreReserve;
  readonly room: OutputRoom;
  /** Throws when the sandbox may not run commands now (network, tools). */
  readonly assertReady: () => void;
  readonly onEnded: (facts: EndFacts) => void;
}

interface InSession {
  /** Sees to it that the shell is there. A rejection ends the command. */
  readonly prepare: () => Promise<void>;
  readonly onShell: CommandOptions['onShell'];
}

/** Time that the end of a command waits for a reconnected runner, ms. */
const quiesceMs = 5000;
const quiesceStepMs = 50;
/** The first version of Landlock that knows truncation. */
const readersABI = 3;

/** Runs commands, each id once: one that writes, and beside it some that only read. */
export class Executor {
  readonly #options: ExecutorOptions;
  /** The commands that run, by id: at most one that writes, and some that read. */
  readonly #running = new Map<string, Running>();
  #stopping = false;

  constructor(options: ExecutorOptions) {
    this.#options = options;
  }

  /** Id of the command that runs; of several the one that writes. */
  get running(): string | null {
    const [oldest] = this.#running.values();
    return (this.#writer ?? oldest)?.command.id ?? null;
  }

  /**
   * Starts a command and returns where its events can be followed; a known id is not run again.
   *
   * @throws KeeperError for every reason not to run it; then nothing was run
   */
  start(request: ExecRequest, epoch: number): Promise<FollowSource> {
    return this.startPlan(planExec(request, this.#options.defaults), epoch);
  }

  async startPlan(plan: ExecPlan, epoch: number, session?: InSession): Promise<FollowSource> {
    const known = await this.knownPlan(plan);
    if (known !== null) return known;
    await this.#admit(plan);
    // No await from here to the entry in #running: two requests must not both be admitted.
    if (this.#running.get(plan.frame.id) !== undefined) return this.startPlan(plan, epoch, session);
    if (this.#stopping) throw new KeeperError('AF_TOOLS_UNAVAILABLE', 'the keeper stops');
    this.#options.assertReady();
    assertAble(plan, this.#options.link.state.info);
    this.#options.fence.assert(epoch);
    return this.#run(plan, epoch, this.#enter(plan), session).journal;
  }

  /** @throws KeeperError `AF_EXEC_UNKNOWN` */
  async find(execId: string): Promise<FollowSource> {
    const running = this.#running.get(execId);
    if (running !== undefined) return running.journal;
    const stored = await this.#options.archive.find(execId);
    if (stored === null) throw new KeeperError('AF_EXEC_UNKNOWN', `no command ${execId} was started here`);
    return stored.source;
  }

  /** Cancels a command; one that has ended is left as it is. @throws KeeperError `AF_EXEC_UNKNOWN` */
  async cancel(execId: string): Promise<void> {
    const running = this.#running.get(execId);
    if (running !== undefined) running.command.kill('Cancelled');
    else await this.find(execId);
  }

  /** The command with this id while it runs; null when it has ended. @throws KeeperError `AF_EXEC_UNKNOWN` */
  async runningCommand(execId: string): Promise<Command | null> {
    const running = this.#running.get(execId);
    if (running === undefined) await this.find(execId);
    return running?.command ?? null;
  }

  /** Writes a part of a command's standard input. @throws KeeperError `AF_EXEC_UNKNOWN` and those of {@link LiveInput.write} */
  async write(execId: string, part: { readonly seq: number; readonly bytes: Buffer; readonly eof: boolean }): Promise<StdinTaken> {
    const input = (await this.runningCommand(execId))?.input ?? null;
    if (input === null) throw closed(execId);
    const { seq, bytes, eof } = part;
    return input.write(seq, bytes, eof, (sha256) =>
      this.#options.log.commit('ExecInput', { execId, seq, bytes: bytes.length, sha256, eof }),
    );
  }

  /** Ends the running command if an older epoch started it, and waits until it is gone. */
  async supersede(epoch: number): Promise<void> {
    const older = [...this.#running.values()].filter(({ command }) => command.epoch < epoch);
    await Promise.all(older.map((running) => this.#end(running, 'Cancelled')));
  }

  async shutdown(): Promise<void> {
    this.#stopping = true;
    await Promise.all(Array.from(this.#running.values(), (running) => this.#end(running, 'Shutdown')));
  }

  receive(message: CommandMessage): Promise<void> | undefined {
    const command = this.#running.get(message.id ?? '')?.command;
    if (command !== undefined) return command.receive(message);
    this.#options.logger.warn('the runner spoke of a command that does not run', { t: message.t, execId: message.id });
    return undefined;
  }

  toolsLost(): void {
    for (const { command } of this.#running.values()) command.lost();
  }

  get #writer(): Running | undefined {
    return [...this.#running.values()].find(({ command }) => command.plan.access === 'Write');
  }

  async #end(running: Running, reason: KillReason): Promise<void> {
    running.command.kill(reason);
    await running.finished;
  }

  /** Returns the source for following an already started command; null for a new one. @throws KeeperError `AF_EXEC_ID_REUSED` */
  async knownPlan(plan: ExecPlan): Promise<FollowSource | null> {
    const { id } = plan.frame;
    const running = this.#running.get(id);
    if (running !== undefined) {
      assertSame(id, running.command.plan.digest, plan.digest);
      return running.journal;
    }
    const stored = await this.#options.archive.find(id);
    if (stored === null) return null;
    assertSame(id, stored.header.requestDigest, plan.digest);
    return stored.source;
  }

  async #admit({ access }: ExecPlan): Promise<void> {
    this.#options.log.assertWritable();
    if (access === 'Write' && this.#writer !== undefined) return; // the gate reports it
    await this.#options.room.admit();
    await this.#options.quota.assertWithin();
  }

  #enter({ frame, access }: ExecPlan): () => void {
    const { gate } = this.#options;
    if (access === 'Write') return gate.writer({ kind: 'command', name: frame.id });
    const readers = this.#running.size - (this.#writer === undefined ? 0 : 1);
    if (readers >= execBounds.readers) throw new KeeperError('AF_BUSY', `${readers} reading commands run, more are not let in`);
    return gate.reading({ kind: 'reading command', name: frame.id });
  }

  #run(plan: ExecPlan, epoch: number, release: () => void, session?: InSession): Running {
    const { clock, link, redaction } = this.#options;
    const onOverdue = (): void => this.#overdue(plan.frame.id);
    const onShell = session?.onShell ?? (() => undefined);
    const redacting = plan.raw ? null : redaction.open();
    const command = new Command({ plan, epoch, clock, link, onOverdue, onShell, redacting, redactingSeen: redacting ?? redaction.open() });
    const journal = this.#open(command);
    const finished = this.#complete(command, journal, session?.prepare)
      .catch((error: unknown) =>
        this.#options.logger.error('a command could not be completed', { execId: command.id, ...errorFields(error) }),
      )
      .finally(() => {
        this.#running.delete(command.id);
        release();
      });
    const running = { command, journal, finished };
    this.#running.set(command.id, running);
    return running;
  }

  /** The intent is on disk before the journal exists, and the journal before the runner gets the command. */
  async #open(command: Command): Promise<Journal> {
    const { archive, clock, log, logger, redaction, room } = this.#options;
    const { intent, digest } = command.plan;
    const at = timestamp(clock);
    // The log is exported unchanged, so secrets are removed here.
    await log.commit('ExecRequested', redaction.open().value(intent));
    const onFault = (error: unknown): void => {
      logger.error('the journal of a command takes no more', { execId: command.id, ...errorFields(error) });
      command.kill('Cancelled');
    };
    try {
      const header = { type: 'request', execId: command.id, requestDigest: digest, epoch: command.epoch, at } as const;
      return await archive.create(header, { onFault, maxBytes: await room.promise(command.id) });
    } catch (error) {
      room.ended(command.id, 0);
      log.append('ExecEnded', { execId: command.id, started: false, error: errnoOf(error) ?? 'EIO' });
      throw isDiskFull(error) ? new KeeperError('AF_STORE_FULL', 'the store has no room for a journal', { cause: error }) : error;
    }
  }

  async #complete(command: Command, opening: Promise<Journal>, prepare?: InSession['prepare']): Promise<void> {
    let journal: Journal;
    try {
      journal = await opening;
    } catch {
      return; // The caller of start() gets the error.
    }
    await prepare?.().catch((error: unknown) => command.refuse(asKeeperError(error).code, messageOf(error)));
    await this.#record(command, journal, await this.#watch(command, journal));
  }

  async #watch(command: Command, journal: Journal): Promise<EndFacts> {
    const watching = new AbortController();
    command.start(journal, this.#options.room.spill(command.id, command.plan.spillBytes));
    const over = (): void => command.kill('QuotaExceeded');
    const watch =
      command.plan.access === 'Read' ? null : this.#options.quota.watch(over, watching.signal).catch(this.#options.quota.unmeasured);
    const facts = await command.ended;
    watching.abort();
    if (facts.interrupted !== undefined) await this.#quiesce();
    await watch;
    return command.close(facts);
  }

  async #record(command: Command, journal: Journal, facts: EndFacts): Promise<void> {
    const { log, quota, reserve, room } = this.#options;
    const summary = await journal.finish(facts, reserve.release).catch((error: unknown) => {
      this.#options.logger.error('the end of a command could not be written to its journal', { execId: command.id, ...errorFields(error) });
      return { sha256: null, bytes: journal.size, events: null };
    });
    const { type: _type, ...reported } = facts;
    const lostEvents = journal.lost === 0 ? {} : { lostEvents: journal.lost };
    const kept = { journalSha256: summary.sha256, journalBytes: summary.bytes, events: summary.events };
    log.append('ExecEnded', { execId: command.id, ...reported, ...lostEvents, ...kept });
    room.ended(command.id, summary.bytes);
    this.#options.onEnded(facts);
    if (command.plan.access === 'Write') quota.measureSoon();
  }

  /**
   * A runner that lost the link kills its commands at once. Followers get the end soon; the gate stays shut until a
   * runner proves it.
   */
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

/** Refuses early what the runner would refuse. @throws KeeperError */
function assertAble({ frame, access }: ExecPlan, info: RunnerInfo | null): void {
  if (access !== 'Write' && (info?.landlockABI ?? 0) < readersABI)
    throw new KeeperError('AF_READERS_UNAVAILABLE', `the kernel has Landlock with ABI ${info?.landlockABI ?? 0}, ${readersABI} is needed`);
  if (frame.t === 'exec' && frame.pty !== undefined && info?.terminals !== true)
    throw new KeeperError('AF_TERMINAL_UNAVAILABLE', 'the tools container has no /dev/ptmx that it can open');
}

function assertSame(execId: string, known: string, asked: string): void {
  if (known !== asked) throw new KeeperError('AF_EXEC_ID_REUSED', `the id ${execId} belongs to another request`);
}
