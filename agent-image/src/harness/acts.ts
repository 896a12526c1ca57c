import type { IncomingMessage } from 'node:http';
import type { Server } from '@modelcontextprotocol/server';
import { newExecId } from '@agentfleet/keeper/client';
import { asError } from '@agentfleet/kube';
import { coded } from '@agentfleet/protocol/log';
import { Serial } from '@agentfleet/protocol/serial';
import type { Gate } from '../attempt/gate.ts';
import type { HarnessAt } from '../attempt/scope.ts';
import { AttemptFailure } from '../base/failure.ts';
import { act, callKeyOf, type Acted, type ActScope } from '../loop/act.ts';
import { TranscriptMemory } from '../loop/memory.ts';
import type { TreeMark } from '../loop/notes.ts';
import { observed } from '../loop/observation.ts';
import { TranscriptReader } from '../loop/transcript.ts';
import type { Exchange } from './endpoint/index.ts';
import type * as library from './mcpLibrary.ts';
import { toolsFor, type BackgroundProcess } from '../tools/index.ts';

type Library = typeof library;

/** Tools that a program gets; it plans, asks and ends by itself. */
const offered: ReadonlySet<string> = new Set(['bash', 'edit_file', 'read_file', 'search', 'run_checks']);

const callNote = 'ProgramCall';

const instructions = `The workspace can be changed by these tools only: each call is judged before it is done, and what it left after it.
A refusal names the rule and what is allowed instead. One call at a time.`;

/** The answer to a call that comes too late. */
const over = 'not done: the run of the program is over';

/** State that calls leave for later ones of the same program. */
class ProgramMemory extends TranscriptMemory {
  readonly #processes = new Map<string, BackgroundProcess>();

  override get processes(): readonly BackgroundProcess[] {
    return [...this.#processes.values()];
  }

  started(process: BackgroundProcess): void {
    this.#processes.set(process.name, process);
  }
}

/**
 * The fleet's tools as an MCP server for an agent program that may not write the workspace itself: arguments → both
 * gates → act → judgement of the changes, as in the tool loop. Stateless Streamable HTTP.
 */
export class ActServer {
  readonly #at: ActScope;
  readonly #memory: ProgramMemory;
  readonly #library: Library;
  readonly #turn = new Serial();
  /** Ends the acts of the run; null before the first one. */
  #run: AbortController | null = null;
  /** A call ended before its changes were judged. */
  #unjudged = false;
  #tree: TreeMark = { id: '', digest: '' };
  #step = 0;
  #failure: AttemptFailure | null = null;

  private constructor(at: ActScope, memory: ProgramMemory, library: Library) {
    this.#at = at;
    this.#memory = memory;
    this.#library = library;
  }

  static async open({ scope, prepared, baseline }: HarnessAt, gate: Gate): Promise<ActServer> {
    if ((await scope.session.info()).snapshots.engine !== 'CAS')
      throw toolsUnavailable('its snapshots are layers, which nothing runs beside');
    const [tools, library] = await Promise.all([toolsFor(scope, [], offered), import('./mcpLibrary.ts')]);
    const memory = new ProgramMemory(new TranscriptReader().of(scope.context.assignment.attempt));
    return new ActServer({ scope, prepared, baseline, gate, tools, memory, conversation: newExecId() }, memory, library);
  }

  /** Failure with which the attempt must end; null: it continues. */
  get failure(): AttemptFailure | null {
    return this.#failure;
  }

  /** Whether a call is done or waits for its turn. */
  get busy(): boolean {
    return this.#turn.busy;
  }

  /** Opens the tools for the next run of the program, which works from this tree. */
  begin(tree: TreeMark): void {
    this.#tree = tree;
    this.#run = new AbortController();
  }

  /**
   * Ends the acts of a run: calls that wait are refused, the one under way is cancelled, and changes that were not judged are
   * undone unless the attempt has to end. Resolves when nothing acts any more.
   *
   * @throws AttemptFailure
   */
  async end(): Promise<void> {
    this.#run?.abort();
    await this.#turn.idle();
    const { session, context } = this.#at.scope;
    if (!this.#unjudged || context.signal.aborted) return;
    this.#unjudged = false;
    await session.quieten();
    await session.backTo(this.#tree.id);
  }

  /** Answers one request, whose key was checked. Resolves when nothing of it is under way any more. */
  async serve({ request, response, signal }: Exchange, body: unknown): Promise<void> {
    const { log } = this.#at.scope.context;
    const onerror = (error: Error): void => log.warn('an MCP request of an agent program failed', { error: error.message });
    const calls: Promise<unknown>[] = [];
    const handler = this.#library.createMcpHandler(() => this.#server(signal, calls), { onerror });
    try {
      // Its own type of a request has no members that may be absent.
      await this.#library.toNodeHandler(handler, { onerror })(request as IncomingMessage & { method: string; url: string }, response, body);
    } finally {
      await handler.close();
      // The library answers at once when the program disconnects.
      await Promise.allSettled(calls);
    }
  }

  #server(gone: AbortSignal, calls: Promise<unknown>[]): Server {
    const server = new this.#library.Server({ name: 'agentfleet', version: '1' }, { capabilities: { tools: {} }, instructions });
    const tools = this.#at.tools.definitions.map(({ name, description, parameters }) => ({
      name,
      description,
      inputSchema: JSON.parse(JSON.stringify(parameters)) as { readonly type: 'object' },
    }));
    server.setRequestHandler('tools/list', () => ({ tools }));
    server.setRequestHandler('tools/call', async ({ params }) => {
      const call = this.#turn.run(() => this.#call(params.name, params.arguments ?? {}, gone));
      calls.push(call);
      const { text, ok } = await call;
      return { content: [{ type: 'text' as const, text }], isError: !ok };
    });
    return server;
  }

  async #call(name: string, args: unknown, gone: AbortSignal): Promise<Pick<Acted, 'text' | 'ok'>> {
    const { scope, conversation } = this.#at;
    if (this.#failure !== null) return { text: this.#failed(this.#failure), ok: false };
    // A call that no client waits for any more is not begun.
    if (this.#run === null || this.#run.signal.aborted || gone.aborted) return { text: over, ok: false };
    const ends = AbortSignal.any([scope.context.signal, this.#run.signal]);
    this.#step += 1;
    const call = { call: { id: `program-${this.#step}`, name, arguments: JSON.stringify(args) }, step: this.#step, index: 0 };
    scope.progress.say(`the program: ${name.slice(0, 64)}`);
    try {
      const done = await act(within(this.#at, ends), { ...call, tree: this.#tree, resumed: false });
      this.#tree = done.tree ?? this.#tree;
      if (done.process !== undefined) this.#memory.started(done.process);
      await this.#note(name, done);
      return { text: observed(done.text, this.#memory.kept(callKeyOf(conversation, call), done.text)), ok: done.ok };
    } catch (error) {
      this.#unjudged = true;
      return { text: ends.aborted ? over : this.#failed(error), ok: false };
    }
  }

  async #note(tool: string, { ok, refused, changed = false, energy, tree }: Acted): Promise<void> {
    const { session, context } = this.#at.scope;
    const said = { ...(refused !== undefined && { refused: refused.slice(0, 1000) }), ...(energy !== undefined && { energy }) };
    const left = tree === undefined ? {} : { snapshot: tree.id };
    await session.note(callNote, { attempt: context.assignment.attempt, call: this.#step, tool, ok, changed, ...said, ...left });
  }

  #failed(error: unknown): string {
    if (error instanceof AttemptFailure) {
      this.#failure = error;
      return `the attempt ends: ${error.message}`;
    }
    const { log } = this.#at.scope.context;
    log.error('a call of an agent program failed', coded('AF_PROGRAM_REQUEST', { error: asError(error).message }));
    return 'the call failed inside of the fleet: the log of the worker says why';
  }
}

/** The same acts, which another signal ends. Pure. */
function within({ scope, baseline, ...rest }: ActScope, signal: AbortSignal): ActScope {
  const context = { ...scope.context, signal };
  const session = scope.session.within(context);
  return { ...rest, scope: { ...scope, context, session }, baseline: { ...baseline, runner: { ...baseline.runner, session } } };
}

/** Returns the failure of a sandbox that cannot hold an agent program to its tools. */
export function toolsUnavailable(why: string): AttemptFailure {
  const message = `this sandbox cannot hold an agent program to its tools: ${why}; set harness.acts to Own, or spec.sandbox.snapshotEngine of the pool to Auto`;
  return new AttemptFailure('InvalidInput', 'HarnessToolsUnavailable', message);
}
