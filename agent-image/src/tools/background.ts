import { execBounds } from '@agentfleet/protocol/keeper';
import { KeeperRefusal } from '@agentfleet/keeper/client';
import { watch, type Watched } from '../attempt/watch.ts';
import { forModel } from './paths.ts';
import { report } from './report.ts';
import { count, plain } from './text.ts';
import { ArgumentError, type BackgroundProcess, type Observation, type ToolContext } from './tool.ts';

/** Processes that may run at one time, and how long a call waits for one by itself, seconds. */
const maxRunning = 4;
const defaultWait = 1;
const killSeconds = 5;
const limit = { seconds: execBounds.maxTimeoutSeconds, max: execBounds.maxTimeoutSeconds };

/** A command as the tool got it: its line for the gates, and the program that runs it. */
export interface BackgroundCall {
  readonly name: string;
  readonly command?: string | undefined;
  readonly argv: (command: string) => readonly string[];
  /** How long the call waits for the end, seconds. */
  readonly wait?: number | undefined;
}

/** Starts a process, ends it, or looks at it. */
export async function background(call: BackgroundCall, context: ToolContext): Promise<Observation> {
  const known = context.memory.processes.find(({ name }) => name === call.name);
  if (call.command === undefined || call.command.trim() === 'kill') {
    if (known === undefined) throw new ArgumentError(`background: nothing was started as ${call.name}; ${others(context)}`);
    if (call.command === undefined) return look(known, call, context);
    await context.scope.hands.call((keeper) => keeper.cancel(known.execId)).catch(ended);
    return look(known, { ...call, wait: killSeconds }, context);
  }
  const execId = context.execId(0);
  if (known?.execId !== execId) await assertRoom(call, known, context);
  const argv = call.argv(call.command);
  await forModel('background', () => context.scope.hands.start({ argv, execId, timeoutSeconds: execBounds.maxTimeoutSeconds }));
  const end = `; the command "kill" with background "${call.name}" ends it`;
  return look({ name: call.name, execId, seen: 0 }, call, context, end);
}

async function assertRoom(
  { name, command = '' }: BackgroundCall,
  known: BackgroundProcess | undefined,
  context: ToolContext,
): Promise<void> {
  const { scope, gate, memory } = context;
  if (gate.outward(command).external.length > 0)
    throw new ArgumentError('background: a command that reaches out of the sandbox runs in the foreground only; leave background out');
  if ((await scope.hands.info()).snapshots.engine !== 'CAS')
    throw new ArgumentError('background: this sandbox cannot keep a process; run it and what uses it in one command');
  const running = [];
  for (const one of memory.processes) if (await runs(one, context)) running.push(one.name);
  if (known !== undefined && running.includes(name))
    throw new ArgumentError(`background: ${name} runs already; end it first with the command "kill", or take another name`);
  if (running.length >= maxRunning)
    throw new ArgumentError(
      `background: ${count(running.length, 'process')} run already (${running.join(', ')}); end one first with "kill"`,
    );
}

async function runs({ execId }: BackgroundProcess, { scope }: ToolContext): Promise<boolean> {
  const isRunning = async (): Promise<boolean> => (await scope.hands.call((keeper) => keeper.waitFor(execId, 0))) === null;
  return (await isRunning().catch(ended)) === true;
}

/** A sandbox that was rebuilt knows none of the processes of the one before. */
function ended(error: unknown): null {
  if (error instanceof KeeperRefusal && error.code === 'AF_EXEC_UNKNOWN') return null;
  throw error;
}

/** @param hint for a process that runs */
async function look(
  process: BackgroundProcess,
  { wait = defaultWait }: BackgroundCall,
  { scope }: ToolContext,
  hint = '',
): Promise<Observation> {
  const { name, execId, seen: after } = process;
  const { clock, signal } = scope.context;
  const look = (): Promise<Watched> =>
    scope.hands.call((keeper) => watch((over) => keeper.follow(execId, after + 1, over), { after, ms: wait * 1000, clock, signal }));
  const watched = await look().catch(ended);
  if (watched === null) return { ok: false, text: `[${name} is gone with the sandbox that it ran in; start it again]`, process };
  const { output, seen, end } = watched;
  const text = plain(output).replace(/\n$/, '');
  const running = `[${name} runs${text === '' ? ', no new output' : ''}${hint}]`;
  const state = end === null ? `${text}${text === '' ? '' : '\n'}${running}` : report(output, end, limit, name);
  return { text: state, ok: end === null || end.exitCode === 0, process: { name, execId, seen } };
}

function others({ memory }: ToolContext): string {
  const names = memory.processes.map(({ name }) => name);
  return names.length === 0 ? 'start it with a command' : `there are: ${names.join(', ')}`;
}
