import type { SessionAfter, SessionInfo } from '@agentfleet/protocol/keeper';
import type { Clock } from '../clock.ts';
import { KeeperError } from '../failure.ts';
import type { RunnerLink, SessionFrame, SessionMessage, ShellAfter } from '../link/index.ts';

/** How long a shell may take to open, or to be gone. */
const answerMs = 20_000;

interface SessionOptions {
  readonly frame: SessionFrame;
  readonly digest: string;
  readonly epoch: number;
  readonly clock: Clock;
  readonly link: RunnerLink;
}

/** What a new shell gets from the one before. The user's words: for a shell of the same session only. */
interface Saved {
  readonly cwd: string;
  readonly exports: Buffer;
}

/**
 * One session: a shell in the tools container, or what is needed to make it again. Between two
 * commands the runner keeps the shell frozen.
 */
export class Session {
  readonly #options: SessionOptions;
  #shell = '';
  #state: 'None' | 'Opening' | 'Open' | 'Closing' = 'None';
  #saved: Saved | null = null;
  #restarted = false;
  #answer = Promise.withResolvers<SessionMessage>();
  #gone = Promise.withResolvers<void>();
  running: string | null = null;
  /** Stops the idle timer. */
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
    // What was saved may be of no use any more: the folder is gone, or the user spoiled the variables.
    const last = opened.t === 'closed' && this.#saved !== null ? await this.#try(null) : opened;
    if (last.t === 'closed')
      throw new KeeperError('AF_SESSION_SHELL', `no shell could be started: ${last.error?.message ?? 'it ended at once'}`);
    this.#shell = last.shell.split('/').at(-1) ?? last.shell;
    this.#restarted = again;
  }

  /** Ends the shell. What it leaves for the next is kept. */
  async close(): Promise<void> {
    if (this.#state === 'None') return;
    if (this.#state !== 'Closing') {
      this.#state = 'Closing';
      this.#gone = Promise.withResolvers<void>();
      this.#options.link.send({ t: 'close', id: this.id });
    }
    await this.#bounded(this.#gone.promise);
  }

  /** After a command; null when the runner could not tell. */
  ran(after: ShellAfter | null): SessionAfter {
    const restarted = this.#restarted;
    this.#restarted = false;
    this.running = null;
    if (after !== null && after.cwd !== '') this.#saved = { cwd: after.cwd, exports: after.exports };
    const alive = after?.alive ?? false;
    if (!alive && this.#state === 'Open') {
      // The runner's word that nothing is left of it comes next.
      this.#state = 'Closing';
      this.#gone = Promise.withResolvers<void>();
    }
    return { sessionId: this.id, cwd: this.info.cwd, restarted, alive };
  }

  /** From the link. */
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
