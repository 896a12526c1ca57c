import { KeeperRefusal, newExecId } from '@agentfleet/keeper/client';
import { asError, type Timer } from '@agentfleet/kube';
import { execBounds, type AuditRecord, type ExecEnd, type ExecEvent, type ExecRequest } from '@agentfleet/protocol/keeper';
import { reachOfActs } from '../attempt/acts.ts';
import type { Scope } from '../attempt/scope.ts';
import { AttemptFailure, retryWhileUnavailable } from '../base/failure.ts';
import { toolsUnavailable, type ActServer } from './acts.ts';
import type { ModelEndpoint } from './endpoint/index.ts';
import { places, useless, type Filled, type RunEnd } from './words.ts';

/** How often a run is looked at, and how long one that was cancelled may take to end: the keeper's grace, and the way there; ms. */
const lookMs = 1000;
const cancelMs = 10_000;
/** Characters of output that are kept for messages, and that one run may put into the log of the worker. */
const keptChars = 65_536;
const loggedChars = 1024 * 1024;

/** A run that has ended. */
export interface ProgramRun extends RunEnd {
  readonly end: ExecEnd;
  /** Why it was ended; null: it ended by itself. */
  readonly stopped: AttemptFailure | null;
}

export interface Program {
  readonly scope: Scope;
  readonly endpoint: ModelEndpoint | null;
  /** What it changes the workspace by; null: itself. */
  readonly acts: Pick<ActServer, 'failure'> | null;
  readonly stallSeconds: number;
}

/**
 * Runs a program to its end, or ends it with all its processes: when the budget is spent, when it does nothing, when the attempt
 * has to end. A lost connection is taken up again, never run twice.
 *
 * @throws the signal's reason; AttemptFailure Infrastructure ToolsLost
 */
export async function runProgram(at: Program, filled: Filled): Promise<ProgramRun> {
  const { scope, endpoint } = at;
  await makePlaces(scope, filled);
  // What a program prints of its key is taken out, as other secrets are.
  if (endpoint !== null) await scope.session.call((keeper) => keeper.declareSecrets([{ name: 'AGENTFLEET_KEY', value: endpoint.key }]));
  const reach = reachOfActs(scope.context);
  const timeoutSeconds = Math.max(1, Math.min(execBounds.maxTimeoutSeconds, Math.ceil(scope.meter.secondsLeft())));
  const refusals = new RefusedHosts();
  const before = await refusals.seen(scope);
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
  return { ...run, refused: await refusals.since(scope, before) };
}

/** Lets the way out refuse what a program asks for by itself, with its reason, where nothing is open. */
function throughTheEndpoint(endpoint: ModelEndpoint | null): Readonly<Record<string, string>> {
  if (endpoint === null) return {};
  const names = ['HTTPS_PROXY', 'HTTP_PROXY', 'ALL_PROXY'].flatMap((name) => [name, name.toLowerCase()]);
  return Object.fromEntries(names.map((name) => [name, endpoint.url]));
}

/** Writes the goal where the program finds it, and makes it an empty home. */
async function makePlaces({ session }: Scope, { goal }: Filled): Promise<void> {
  const command = `mkdir -p ${places.home} && cat > ${places.goal}`;
  const { end, stderr } = await session.exec({ command, stdin: goal, timeoutSeconds: 60 });
  if (end.exitCode === 0) return;
  const why = end.error?.message ?? stderr.trim().slice(0, 300);
  throw new AttemptFailure(
    'InvalidInput',
    'HarnessMissing',
    `the goal could not be written to ${places.goal}: ${why}; the image needs sh and cat`,
  );
}

/** Follows one command. */
class Watch {
  readonly #at: Program;
  readonly #request: ExecRequest;
  readonly #program: string;
  readonly #giveUp = new AbortController();
  #seen = 0;
  #output = '';
  #logged = 0;
  #lastAt: number;
  #stopped: AttemptFailure | null = null;
  #stopAt: number | null = null;
  #timer: Timer | undefined;
  #end: ExecEnd | null = null;

  constructor(at: Program, request: ExecRequest, program: string) {
    this.#at = at;
    this.#request = request;
    this.#program = program;
    this.#lastAt = at.scope.context.clock.monotonic();
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
    }
    const end = this.#end;
    if (end === null)
      throw new AttemptFailure('Infrastructure', 'CommandNotEnded', 'the agent program did not end; the task is tried again');
    meter.add('cpuMillis', end.cpuMs);
    const dropped = end.dropped.stdout + end.dropped.stderr;
    return { end, exitCode: end.exitCode, output: this.#output, dropped, stopped: this.#stopped };
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

  /** Each piece goes to the log of the worker as it comes, up to a bound; the event log has more. */
  #hear(event: Extract<ExecEvent, { readonly type: 'out' }>): void {
    const { clock, log } = this.#at.scope.context;
    const text = 'text' in event ? event.text : Buffer.from(event.b64, 'base64').toString('utf8');
    this.#lastAt = clock.monotonic();
    this.#output = (this.#output + text).slice(-keptChars);
    if (this.#logged >= loggedChars) return;
    this.#logged += text.length;
    log.info('output of the agent program', { stream: event.stream, text: text.slice(0, 8192) });
    if (this.#logged >= loggedChars) log.info('more output of the agent program is not logged here', { characters: this.#logged });
    const line = text.trimEnd().split('\n').at(-1)?.trim() ?? '';
    if (line !== '') this.#at.scope.progress.say(`the program: ${line}`);
  }

  /** Ends it, again and again, once there is a reason to. */
  #look(): void {
    const { clock, keeper, signal, log } = this.#at.scope.context;
    this.#stopped ??= signal.aborted ? null : this.#reason();
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

/** Hosts that the way out refused, from the event log. */
class RefusedHosts {
  #found: string[] = [];

  async seen(scope: Scope): Promise<number> {
    this.#found = [];
    await scope.session.events((record) => this.#visit(record));
    return this.#found.length;
  }

  async since(scope: Scope, before: number): Promise<readonly string[]> {
    await this.seen(scope);
    return [...new Set(this.#found.slice(before))];
  }

  #visit({ type, body }: AuditRecord): void {
    const { kind, data } = body as { readonly kind?: unknown; readonly data?: { readonly requests?: unknown } };
    if (type !== 'Noted' || kind !== 'Egress' || !Array.isArray(data?.requests)) return;
    for (const { host, port, decision } of data.requests as readonly Readonly<Record<string, unknown>>[])
      if (decision !== 'Allowed') this.#found.push(`${String(host)}:${String(port)} (${String(decision)})`);
  }
}
