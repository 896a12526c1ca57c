import { execBounds, type ExecEnd, type SessionAfter } from '@agentfleet/protocol/keeper';
import { timestamp, type Clock } from '../clock.ts';
import { errnoOf, messageOf } from '../failure.ts';
import type { CommandMessage, RunnerEnd, RunnerLink, ShellAfter, StreamBytes } from '../link/index.ts';
import type { Redacting } from '@agentfleet/protocol/redact';
import { interruptedEnd } from './archive.ts';
import { LiveInput, type SendInput } from './input.ts';
import type { Journal } from './journal.ts';
import { OutputEncoder, type OutputSink } from './output.ts';
import type { ExecPlan } from './plan.ts';
import { Silence } from './silence.ts';
import { RedactedOutput, type OutputTaker } from './redacted.ts';
import type { Spill } from './spill.ts';

export type KillReason = 'Cancelled' | 'QuotaExceeded' | 'Shutdown';

/** Everything but the sequence number: the journal gives it. */
export type EndFacts = Omit<ExecEnd, 'seq'>;

export interface CommandOptions {
  readonly plan: ExecPlan;
  readonly epoch: number;
  readonly clock: Clock;
  readonly link: RunnerLink;
  /** Of a command of a session: what became of its shell. */
  readonly onShell: (after: ShellAfter | null) => SessionAfter | undefined;
  /** Takes secrets out of the output before anything is kept; null: the caller asked for exact bytes. */
  readonly redacting: Redacting | null;
  /** The runner did not end it in time: the tools container has to go. */
  readonly onOverdue: () => void;
}

const backstopMs = 5000;

/**
 * One running command: sends it, turns the runner's messages into journal events, and knows how
 * it ended. `ended` resolves once, when no process of the command can be left.
 */
export class Command {
  readonly plan: ExecPlan;
  readonly epoch: number;
  readonly #options: CommandOptions;
  readonly #ended = Promise.withResolvers<EndFacts>();
  readonly #startedAt: number;
  /** Null unless its standard input is open. */
  readonly input: LiveInput | null;
  #output: OutputTaker | null = null;
  #journal: Journal | null = null;
  #spill: Spill | null = null;
  readonly #silence: Silence | null;
  #shell: ShellAfter | null = null;
  #sent = false;
  #killed: KillReason | null = null;
  #done = false;
  #stopBackstop: () => void = () => undefined;

  constructor(options: CommandOptions) {
    this.#options = options;
    this.plan = options.plan;
    this.epoch = options.epoch;
    this.#startedAt = options.clock.now();
    const { quietMs, interactive } = options.plan;
    const put: SendInput = (seq, bytes, eof) => options.link.send({ t: 'stdin', id: this.id, seq, eof }, bytes);
    this.input = interactive ? new LiveInput(this.id, options.clock, put) : null;
    const told = (silentMs: number): void => void this.#journal?.append({ type: 'quiet', silentMs });
    this.#silence = quietMs === null ? null : new Silence(quietMs, options.clock, told);
  }

  get id(): string {
    return this.plan.frame.id;
  }

  get ended(): Promise<EndFacts> {
    return this.#ended.promise;
  }

  /** Hands the command to the runner, unless it was cancelled before that. */
  start(journal: Journal, spill: Spill | null = null): void {
    const { clock, link } = this.#options;
    this.#journal = journal;
    this.#spill = spill;
    const sink: OutputSink = { emit: (output) => journal.append(output), overflow: (stream, bytes) => spill?.push(stream, bytes) };
    const output = new OutputEncoder(sink, clock, execBounds.outputLimitBytes);
    const { redacting } = this.#options;
    this.#output = redacting === null ? output : new RedactedOutput(output, redacting, clock);
    if (this.#killed !== null) return this.#end({ ...this.#nothing(), killed: this.#killed });
    if (!link.state.connected) return this.lost();
    this.#sent = true;
    link.send(this.plan.frame, this.plan.stdin);
    this.#armBackstop(this.plan.frame.timeoutMs + execBounds.graceMs + backstopMs);
  }

  kill(reason: KillReason): void {
    if (this.#killed !== null || this.#done) return;
    this.#killed = reason;
    if (!this.#sent) return;
    this.#options.link.send({ t: 'kill', id: this.id, reason });
    this.#armBackstop(execBounds.graceMs + backstopMs);
  }

  /** A message about this command. A returned promise asks the link to wait. */
  receive(message: CommandMessage): Promise<void> | undefined {
    if (this.#done) return undefined;
    if (message.t === 'out' || message.t === 'start') this.#silence?.heard();
    if (message.t === 'out') return this.#output?.push(message.stream, message.body);
    if (message.t === 'start') {
      return this.#journal?.append({ type: 'start', execId: this.id, pid: message.pid, at: timestamp(this.#options.clock) });
    }
    if (message.t === 'stdin') this.input?.answered(message.seq, message.code);
    else if (message.t === 'end') this.#end(this.#facts(message));
    else this.#end({ ...this.#nothing(), error: { code: message.code, message: message.message } });
    return undefined;
  }

  /** Sets the size of its terminal. */
  resize(rows: number, columns: number): void {
    if (this.#sent && !this.#done) this.#options.link.send({ t: 'resize', id: this.id, rows, columns });
  }

  /** SIGINT to what runs. */
  interrupt(): void {
    if (this.#sent && !this.#done) this.#options.link.send({ t: 'interrupt', id: this.id });
  }

  /** It could not begin. */
  refuse(code: string, message: string): void {
    this.#end({ ...this.#nothing(), exitCode: 126, error: { code, message } });
  }

  /** The tools container is gone, or the link to it. */
  lost(): void {
    this.#end(interruptedEnd('ToolsLost', this.#elapsed()));
  }

  /** Writes out held characters and adds what only the keeper knows. */
  async close(facts: EndFacts): Promise<EndFacts> {
    await this.#output?.finish();
    const dropped = add(add(facts.dropped, this.#output?.dropped), this.#journal?.lostBytes);
    const spilled = (await this.#spill?.finish()) ?? null;
    const redacted = this.#options.redacting?.counts ?? null;
    const whole = { ...facts, dropped, ...(spilled !== null && { spill: spilled }), ...(redacted !== null && { redacted }) };
    const fault = this.#journal?.fault ?? null;
    if (fault === null) return whole;
    const error = { code: errnoOf(fault) ?? 'EIO', message: `the journal took no more output: ${messageOf(fault)}` };
    return { ...whole, error };
  }

  #armBackstop(ms: number): void {
    this.#stopBackstop();
    this.#stopBackstop = this.#options.clock.after(ms, this.#options.onOverdue);
  }

  #end(facts: EndFacts): void {
    if (this.#done) return;
    this.#done = true;
    this.#silence?.end();
    this.#stopBackstop();
    this.input?.close();
    const session = this.#options.onShell(this.#shell);
    this.#ended.resolve(session === undefined ? facts : { ...facts, session });
  }

  #facts(end: RunnerEnd): EndFacts {
    const { t: _t, id: _id, session = null, ...facts } = end;
    this.#shell = session;
    return { type: 'end', ...facts };
  }

  #nothing(): EndFacts {
    const { interrupted: _interrupted, ...facts } = interruptedEnd('ToolsLost', this.#elapsed());
    return facts;
  }

  #elapsed(): number {
    return this.#options.clock.now() - this.#startedAt;
  }
}

function add(a: StreamBytes, b: StreamBytes | undefined): StreamBytes {
  return { stdout: a.stdout + (b?.stdout ?? 0), stderr: a.stderr + (b?.stderr ?? 0) };
}
