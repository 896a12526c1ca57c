import {
  type SessionAfter,
  type SessionInfo,
  sessionBounds,
  type SessionRequest,
  type SessionRunRequest,
} from '@agentfleet/protocol/keeper';
import type { Clock } from '../base/clock.ts';
import { KeeperError } from '../base/failure.ts';
import type { RunnerLink, SessionFrame, SessionMessage, ShellAfter } from '../link/index.ts';
import { errorFields } from '@agentfleet/protocol/log';
import type { Executor, ExecutorOptions } from './executor.ts';
import type { FollowSource } from './journal.ts';
import { planRun, planSession, sessionDigest } from './plan.ts';

/** Longest time until a shell opens or closes, ms. */
const answerMs = 20_000;

interface SessionOptions {
  readonly frame: SessionFrame;
  readonly digest: string;
  readonly epoch: number;
  readonly clock: Clock;
  readonly link: RunnerLink;
}

/** State that a new shell gets from the one before. User text: only for a shell of the same session. */
interface Saved {
  readonly cwd: string;
  readonly exports: Buffer;
}

/**
 * One session: a shell in the tools container, or the state to recreate it. Between two commands the runner keeps the
 * shell frozen.
 */
class Session {
  readonly #options: SessionOptions;
  #shell = '';
  #state: 'None' | 'Opening' | 'Open' | 'Closing' = 'None';
  #saved: Saved | null = null;
  #restarted = false;
  #answer = Promise.withResolvers<SessionMessage>();
  #gone = Promise.withResolvers<void>();
  running: string | null = null;
  stopIdle: () => void = () => undefined;

  constructor(options: SessionOptions) {
    this.#options = options;
  }

  get id(): string {
    return this.#options.frame.id;
  }

  get digest(): string {
    return this.#options.digest;
  }

  get epoch(): number {
    return this.#options.epoch;
  }

  get info(): SessionInfo {
    const cwd = this.#saved?.cwd ?? this.#options.frame.cwd;
    return { sessionId: this.id, shell: this.#shell, cwd, running: this.running, alive: this.#state === 'Open' };
  }

  /** Opens the shell if there is none. @throws KeeperError `AF_SESSION_SHELL`, `AF_TOOLS_UNAVAILABLE` */
  async open(): Promise<void> {
    if (this.#state === 'Closing') await this.#bounded(this.#gone.promise);
    if (this.#state === 'Open') return;
    const again = this.#shell !== '';
    const opened = await this.#try(this.#saved);
    // The saved state may be useless: the folder is gone, or the user damaged the variables.
    const last = opened.t === 'closed' && this.#saved !== null ? await this.#try(null) : opened;
    if (last.t === 'closed')
      throw new KeeperError('AF_SESSION_SHELL', `no shell could be started: ${last.error?.message ?? 'it ended at once'}`);
    this.#shell = last.shell.split('/').at(-1) ?? last.shell;
    this.#restarted = again;
  }

  /** Ends the shell. Its saved state is kept for the next. */
  async close(): Promise<void> {
    if (this.#state === 'None') return;
    if (this.#state !== 'Closing') {
      this.#state = 'Closing';
      this.#gone = Promise.withResolvers<void>();
      this.#options.link.send({ t: 'close', id: this.id });
    }
    await this.#bounded(this.#gone.promise);
  }

  /** Updates the state after a command; null when the runner could not report it. */
  ran(after: ShellAfter | null): SessionAfter {
    const restarted = this.#restarted;
    this.#restarted = false;
    this.running = null;
    if (after !== null && after.cwd !== '') this.#saved = { cwd: after.cwd, exports: after.exports };
    const alive = after?.alive ?? false;
    if (!alive && this.#state === 'Open') {
      // The runner's confirmation that no process is left comes next.
      this.#state = 'Closing';
      this.#gone = Promise.withResolvers<void>();
    }
    return { sessionId: this.id, cwd: this.info.cwd, restarted, alive };
  }

  receive(message: SessionMessage): void {
    if (message.t === 'opened') this.#state = 'Open';
    else this.#state = 'None';
    this.#answer.resolve(message);
    if (message.t === 'closed') this.#gone.resolve();
  }

  /** The tools container is gone, and every process in it. */
  lost(): void {
    this.receive({ t: 'closed', id: this.id, error: { code: 'ToolsLost', message: 'the tools container is gone' } });
  }

  async #try(saved: Saved | null): Promise<SessionMessage> {
    const { frame, link } = this.#options;
    if (!link.state.connected) throw new KeeperError('AF_TOOLS_UNAVAILABLE', 'the tools container is not connected');
    this.#state = 'Opening';
    this.#answer = Promise.withResolvers<SessionMessage>();
    link.send(saved === null ? frame : { ...frame, cwd: saved.cwd }, saved?.exports);
    return this.#bounded(this.#answer.promise);
  }

  async #bounded<T>(promise: Promise<T>): Promise<T> {
    const late = Promise.withResolvers<never>();
    const stop = this.#options.clock.after(answerMs, () => {
      late.reject(new KeeperError('AF_TOOLS_UNAVAILABLE', `the runner did not answer for the session ${this.id}`));
    });
    try {
      return await Promise.race([promise, late.promise]);
    } finally {
      stop();
    }
  }
}

interface SessionsOptions extends Pick<
  ExecutorOptions,
  'assertReady' | 'clock' | 'defaults' | 'fence' | 'gate' | 'link' | 'log' | 'logger'
> {
  readonly executor: Executor;
}

/**
 * The long-lived shells of a sandbox. A session belongs to one assignment and to one tools container: state that a user
 * left in a shell is restored in that session and nowhere else. It ends with either, and with a restore, which reverts
 * the time in which it lived.
 */
export class Sessions {
  readonly #options: SessionsOptions;
  readonly #byId = new Map<string, Session>();

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  get list(): readonly SessionInfo[] {
    return [...this.#byId.values()].map((session) => session.info);
  }

  /** Opens a session; a known id with the same request answers for it. @throws KeeperError */
  async open(request: SessionRequest, epoch: number): Promise<SessionInfo> {
    const { assertReady, clock, defaults, fence, gate, link, log } = this.#options;
    fence.assert(epoch);
    const digest = sessionDigest(request);
    const known = this.#byId.get(request.sessionId);
    if (known?.epoch === epoch) return known.digest === digest ? known.info : reused(request.sessionId);
    if (known !== undefined) await this.close(known.id, 'Superseded');
    if (this.#byId.size >= sessionBounds.sessions)
      throw new KeeperError('AF_SESSION_LIMIT', `${this.#byId.size} sessions are open, more are not let in`);
    log.assertWritable();
    assertReady();
    fence.assert(epoch);
    // A shell that opens is a command for a moment.
    const release = gate.writer({ kind: 'session', name: request.sessionId });
    const frame = planSession(request, defaults);
    const session = new Session({ frame, digest, epoch, clock, link });
    this.#byId.set(session.id, session);
    try {
      await log.commit('SessionRequested', { sessionId: session.id, shells: frame.argv, cwd: frame.cwd, network: frame.network });
      await session.open();
      this.#idleFromNow(session);
      return session.info;
    } catch (error) {
      this.#forget(session, 'Failed');
      throw error;
    } finally {
      release();
    }
  }

  /** Starts a command in a session. @throws KeeperError `AF_SESSION_UNKNOWN` and those of {@link Executor.start} */
  async run(sessionId: string, request: SessionRunRequest, epoch: number): Promise<FollowSource> {
    const { executor } = this.#options;
    const plan = planRun(sessionId, request);
    const known = await executor.knownPlan(plan);
    if (known !== null) return known;
    const session = this.#get(sessionId);
    // The state of a shell belongs to the assignment that opened it.
    if (session.epoch !== epoch) throw unknown(sessionId);
    return executor.startPlan(plan, epoch, {
      prepare: async () => {
        session.stopIdle();
        session.running = request.execId;
        await session.open();
      },
      onShell: (after) => {
        if (this.#byId.get(sessionId) === session) this.#idleFromNow(session);
        return session.ran(after);
      },
    });
  }

  /** Ends a session: when this resolves none of its processes is left. @throws KeeperError `AF_SESSION_UNKNOWN` */
  async close(sessionId: string, why = 'Asked'): Promise<void> {
    const session = this.#get(sessionId);
    await session.close();
    this.#forget(session, why);
  }

  /** Ends all sessions, or those of older assignments. None of their processes runs when this resolves. */
  async closeAll(why: string, olderThan = Number.POSITIVE_INFINITY): Promise<void> {
    const chosen = [...this.#byId.values()].filter((session) => session.epoch < olderThan);
    await Promise.all(chosen.map((session) => this.close(session.id, why)));
  }

  /** Ends the shells and keeps the sessions, to release what a frozen shell holds open. */
  async endShells(): Promise<void> {
    await Promise.all([...this.#byId.values()].map((session) => session.close()));
  }

  receive(message: SessionMessage): void {
    this.#byId.get(message.id)?.receive(message);
  }

  toolsLost(): void {
    for (const session of this.#byId.values()) {
      session.lost();
      this.#forget(session, 'ToolsLost');
    }
  }

  #get(sessionId: string): Session {
    const session = this.#byId.get(sessionId);
    if (session === undefined) throw unknown(sessionId);
    return session;
  }

  #forget(session: Session, why: string): void {
    session.stopIdle();
    if (this.#byId.delete(session.id)) this.#options.log.append('SessionEnded', { sessionId: session.id, why });
  }

  #idleFromNow(session: Session): void {
    session.stopIdle();
    session.stopIdle = this.#options.clock.after(sessionBounds.idleSeconds * 1000, () => {
      this.close(session.id, 'Idle').catch((error: unknown) =>
        this.#options.logger.error('an idle session could not be closed', { sessionId: session.id, ...errorFields(error) }),
      );
    });
  }
}

function unknown(sessionId: string): KeeperError {
  return new KeeperError('AF_SESSION_UNKNOWN', `no session ${sessionId} is open`);
}

function reused(sessionId: string): never {
  throw new KeeperError('AF_EXEC_ID_REUSED', `the session ${sessionId} was opened by another request`, {
    cure: 'use a new sessionId for a new request',
  });
}
