import { sessionBounds, type SessionInfo, type SessionRequest, type SessionRunRequest } from '@agentfleet/protocol/keeper';
import { KeeperError } from '../failure.ts';
import type { SessionMessage } from '../link/index.ts';
import { errorFields } from '../logger.ts';
import type { Executor, ExecutorOptions } from './executor.ts';
import type { FollowSource } from './follow.ts';
import { planRun, planSession, sessionDigest } from './plan.ts';
import { Session } from './session.ts';

export interface SessionsOptions extends Pick<
  ExecutorOptions,
  'assertReady' | 'clock' | 'defaults' | 'fence' | 'gate' | 'link' | 'log' | 'logger'
> {
  readonly executor: Executor;
}

/**
 * The long-lived shells of a sandbox. A session belongs to one assignment and to one tools
 * container: what a user left in a shell comes back in that session and nowhere else. It ends with
 * either, and with a restore, which takes back the time in which it lived.
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
    // What a shell remembers belongs to the assignment that opened it.
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

  /** Ends all sessions, or those of older assignments. Nothing of theirs runs when this resolves. */
  async closeAll(why: string, olderThan = Number.POSITIVE_INFINITY): Promise<void> {
    const chosen = [...this.#byId.values()].filter((session) => session.epoch < olderThan);
    await Promise.all(chosen.map((session) => this.close(session.id, why)));
  }

  /** Ends the shells and keeps the sessions: for what a frozen shell would hold on to. */
  async endShells(): Promise<void> {
    await Promise.all([...this.#byId.values()].map((session) => session.close()));
  }

  /** From the link. */
  receive(message: SessionMessage): void {
    this.#byId.get(message.id)?.receive(message);
  }

  /** From the link: the tools container is gone, and every shell with it. */
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
