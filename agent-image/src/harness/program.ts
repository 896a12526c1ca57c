import { KeeperRefusal, newExecId } from '@agentfleet/keeper/client';
import { asError, type Timer, type Clock } from '@agentfleet/kube';
import { execBounds, type ExecEnd, type ExecEvent, type ExecRequest } from '@agentfleet/protocol/keeper';
import { reachOfActs } from '../attempt/acts.ts';
import type { Scope } from '../attempt/scope.ts';
import { AttemptFailure, retryWhileUnavailable } from '../base/failure.ts';
import { noteIn } from '../base/notes.ts';
import { fieldsOf, listOf } from '@agentfleet/protocol/text';
import { toolsUnavailable, type ActServer } from './acts.ts';
import type { ModelEndpoint } from './endpoint/index.ts';
import { places, useless, type Filled, type RunEnd } from './words.ts';

/** The note with a program's output since the one before. */
const outputNote = 'ProgramOutput';

/** Characters of one note and of a run, and the interval of notes: longer once a run has used its characters. */
const bounds = { noteChars: 16_384, runChars: 262_144, everyMs: 2000, laterEveryMs: 60_000 } as const;

export interface OutputData {
  readonly text: string;
  /** Characters before `text` that found no room. */
  readonly omitted?: number;
  /** In the last note of a run: bytes after the 16 MiB that the keeper keeps. */
  readonly dropped?: number;
}

/**
 * Records a program's output in the event log while it runs: its newest lines at a bounded rate, and the amount left
 * out. The keeper has removed secrets.
 */
export class OutputNotes {
  readonly #write: (data: OutputData) => Promise<unknown>;
  readonly #clock: Pick<Clock, 'monotonic'>;
  #text = '';
  #omitted = 0;
  #spent = 0;
  #writtenAt: number;
  #writing: Promise<unknown> | null = null;

  constructor(clock: Pick<Clock, 'monotonic'>, write: (data: OutputData) => Promise<unknown>) {
    this.#clock = clock;
    this.#write = write;
    this.#writtenAt = clock.monotonic();
  }

  hear(text: string): void {
    const all = this.#text + text;
    this.#text = all.slice(-bounds.noteChars);
    this.#omitted += all.length - this.#text.length;
  }

  /** Writes whole lines where a note is due. Unwritten ones stay for the next one. */
  look(): void {
    const every = this.#spent < bounds.runChars ? bounds.everyMs : bounds.laterEveryMs;
    const now = this.#clock.monotonic();
    if (this.#writing !== null || this.#text === '' || now - this.#writtenAt < every) return;
    this.#writtenAt = now;
    const lines = this.#text.lastIndexOf('\n') + 1;
    const taken = this.#take(lines === 0 ? this.#text.length : lines);
    this.#writing = this.#write(taken)
      .catch(() => this.#putBack(taken))
      .finally(() => (this.#writing = null));
  }

  /** Returns the rest at the end, of which the keeper dropped bytes; null: none. */
  async rest(dropped: number): Promise<OutputData | null> {
    await this.#writing;
    if (this.#text === '' && dropped === 0) return null;
    return { ...this.#take(this.#text.length), ...(dropped > 0 && { dropped }) };
  }

  #take(characters: number): OutputData {
    const text = this.#text.slice(0, characters).toWellFormed();
    const omitted = this.#omitted;
    this.#text = this.#text.slice(characters);
    this.#omitted = 0;
    this.#spent += text.length;
    return { text, ...(omitted > 0 && { omitted }) };
  }

  #putBack({ text, omitted = 0 }: OutputData): void {
    const after = this.#text;
    this.#text = '';
    this.#omitted += omitted;
    this.#spent -= text.length;
    this.hear(text + after);
  }
}

/** Time between two checks of a run, and longest time for a cancelled one to end: the keeper's grace and the network; ms. */
const lookMs = 1000;
const cancelMs = 10_000;
const keptChars = 65_536;

/** A run that has ended. */
export interface ProgramRun extends RunEnd {
  readonly end: ExecEnd;
  /** Failure with which it was ended; null: it ended by itself. */
  readonly stopped: AttemptFailure | null;
}

export interface Program {
  readonly scope: Scope;
  readonly endpoint: ModelEndpoint | null;
  /** Its tools for the workspace; null: it writes itself. */
  readonly acts: Pick<ActServer, 'failure'> | null;
  readonly stallSeconds: number;
  readonly round: number;
}

/**
 * Runs a program to its end, or ends it with all its processes when the budget is spent, when it is idle, or when the
 * attempt must end. After a lost connection it is followed again, never run twice.
 *
 * @throws the signal's reason; AttemptFailure Infrastructure ToolsLost
 */
export async function runProgram(at: Program, filled: Filled): Promise<ProgramRun> {
  const { scope, endpoint } = at;
  await makePlaces(scope, filled);
  // Its key is redacted in a program's output, like other secrets.
  if (endpoint !== null) await scope.session.call((keeper) => keeper.declareSecrets([{ name: 'AGENTFLEET_KEY', value: endpoint.key }]));
  const reach = reachOfActs(scope.context);
  const timeoutSeconds = Math.max(1, Math.min(execBounds.maxTimeoutSeconds, Math.ceil(scope.meter.secondsLeft())));
  const before = await refusedHosts(scope);
  const command = {
    argv: filled.argv,
    env: { ...(reach === null && throughTheEndpoint(endpoint)), ...filled.env },
    timeoutSeconds,
    reach,
    execId: newExecId(),
    trace: true as const,
    // Beside the calls of its tools, which write.
    ...(at.acts !== null && { access: 'Scratch' as const }),
    ...(filled.stdin !== undefined && { stdin: filled.stdin }),
    ...(endpoint !== null && { own: endpoint.own }),
  };
  const run = await scope.session.connected(command, (request) => new Watch(at, request, filled.argv[0] ?? '').run());
  scope.context.signal.throwIfAborted();
  if (run.end.interrupted !== undefined) {
    const message = `the agent program was cut off (${run.end.interrupted}); the task is tried again from the last good snapshot`;
    throw new AttemptFailure('Infrastructure', 'ToolsLost', message);
  }
  return { ...run, refused: [...new Set((await refusedHosts(scope)).slice(before.length))] };
}

/** Makes the egress refuse a program's own requests, with its reason, where nothing is open. */
function throughTheEndpoint(endpoint: ModelEndpoint | null): Readonly<Record<string, string>> {
  if (endpoint === null) return {};
  const names = ['HTTPS_PROXY', 'HTTP_PROXY', 'ALL_PROXY'].flatMap((name) => [name, name.toLowerCase()]);
  return Object.fromEntries(names.map((name) => [name, endpoint.url]));
}

/** Writes the goal where the program finds it, and makes its home; later rounds find there what earlier ones left. */
async function makePlaces({ session }: Scope, { goal }: Filled): Promise<void> {
  const command = `mkdir -p ${places.home} && cat > ${places.goal}`;
  const { end, stderr } = await session.ask({ command, stdin: goal, timeoutSeconds: 60 });
  if (end.exitCode === 0) return;
  const why = end.error?.message ?? stderr.trim().slice(0, 300);
  throw new AttemptFailure(
    'InvalidInput',
    'HarnessMissing',
    `the goal could not be written to ${places.goal}: ${why}; the image needs sh and cat`,
  );
}

class Watch {
  readonly #at: Program;
  readonly #request: ExecRequest;
  readonly #program: string;
  readonly #giveUp = new AbortController();
  #seen = 0;
  readonly #notes: OutputNotes;
  #output = '';
  #lastAt: number;
  #stopped: AttemptFailure | null = null;
  #stopAt: number | null = null;
  #timer: Timer | undefined;
  #end: ExecEnd | null = null;

  constructor(at: Program, request: ExecRequest, program: string) {
    this.#at = at;
    this.#request = request;
    this.#program = program;
    const { clock, keeper } = at.scope.context;
    this.#lastAt = clock.monotonic();
    this.#notes = new OutputNotes(clock, (data) => keeper.note(outputNote, this.#noteOf(data)));
  }

  #noteOf(data: OutputData): Readonly<Record<string, unknown>> {
    return { attempt: this.#at.scope.context.assignment.attempt, round: this.#at.round, ...data };
  }

  async run(): Promise<Omit<ProgramRun, 'refused'>> {
    const { context, meter } = this.#at.scope;
    const { clock, signal } = context;
    meter.add('toolCalls');
    this.#look();
    try {
      await retryWhileUnavailable(() => this.#follow(), { clock, signal });
    } catch (error) {
      if (error instanceof KeeperRefusal && error.code === 'AF_READERS_UNAVAILABLE') throw toolsUnavailable(error.message);
      throw error;
    } finally {
      this.#timer?.cancel();
      await this.#noteRest();
    }
    const end = this.#end;
    if (end === null)
      throw new AttemptFailure('Infrastructure', 'CommandNotEnded', 'the agent program did not end; the task is tried again');
    meter.add('cpuMillis', end.cpuMs);
    return { end, exitCode: end.exitCode, output: this.#output, dropped: this.#dropped, stopped: this.#stopped };
  }

  get #dropped(): number {
    const { stdout = 0, stderr = 0 } = this.#end?.dropped ?? {};
    return stdout + stderr;
  }

  /** Reads all events; those that an earlier connection brought are known. */
  async #follow(): Promise<void> {
    for await (const event of this.#at.scope.context.keeper.exec(this.#request, this.#giveUp.signal)) {
      if (!('seq' in event) || event.seq <= this.#seen) continue;
      this.#seen = event.seq;
      if (event.type === 'end') this.#end = event;
      if (event.type === 'out') this.#hear(event);
    }
  }

  #hear(event: Extract<ExecEvent, { readonly type: 'out' }>): void {
    const text = 'text' in event ? event.text : Buffer.from(event.b64, 'base64').toString('utf8');
    this.#lastAt = this.#at.scope.context.clock.monotonic();
    this.#output = (this.#output + text).slice(-keptChars);
    this.#notes.hear(text);
    const line = text.trimEnd().split('\n').at(-1)?.trim() ?? '';
    if (line !== '') this.#at.scope.progress.say(`the program: ${line}`);
  }

  /** The log is for people: without its last lines the run continues. */
  async #noteRest(): Promise<void> {
    const { session, context } = this.#at.scope;
    const rest = await this.#notes.rest(this.#dropped);
    if (rest === null) return;
    const data = this.#noteOf(rest);
    // For a run that must end: one try.
    const written = context.signal.aborted ? context.keeper.note(outputNote, data) : session.note(outputNote, data);
    await written.catch((error: unknown) => context.log.warn('the last output is not in the log', { error: asError(error).message }));
  }

  /** Ends it, again and again, once there is a reason to. */
  #look(): void {
    const { clock, keeper, signal, log } = this.#at.scope.context;
    this.#stopped ??= signal.aborted ? null : this.#reason();
    this.#notes.look();
    if (this.#stopped !== null || signal.aborted) {
      this.#stopAt ??= clock.monotonic();
      keeper.cancel(this.#request.execId).catch((error: unknown) => log.debug('a cancel failed', { error: asError(error).message }));
      if (clock.monotonic() - this.#stopAt > cancelMs) this.#giveUp.abort();
    }
    this.#timer = clock.after(lookMs, () => this.#look());
  }

  #reason(): AttemptFailure | null {
    const { scope, endpoint, acts, stallSeconds } = this.#at;
    if (acts !== null && acts.failure !== null) return acts.failure;
    try {
      scope.meter.check();
    } catch (error) {
      if (error instanceof AttemptFailure) return error;
      throw error;
    }
    if (endpoint?.failure?.failureClass === 'BudgetExceeded') return endpoint.failure;
    const quietSince = Math.max(this.#lastAt, endpoint?.lastAt ?? 0);
    const quiet = endpoint?.busy !== true && scope.context.clock.monotonic() - quietSince >= stallSeconds * 1000;
    const run = { output: this.#output, exitCode: null, dropped: 0, refused: [] };
    return quiet ? useless(this.#program, run, stallSeconds) : null;
  }
}

async function refusedHosts({ session }: Scope): Promise<readonly string[]> {
  const found: string[] = [];
  await session.events((record) => {
    const { kind, data } = noteIn(record);
    if (kind !== 'Egress') return;
    for (const { host, port, decision } of listOf(data['requests']).map(fieldsOf))
      if (decision !== 'Allowed') found.push(`${String(host)}:${String(port)} (${String(decision)})`);
  });
  return found;
}
