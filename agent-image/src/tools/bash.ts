import { execBounds } from '@agentfleet/protocol/keeper';
import { KeeperRefusal, type ExecResult } from '@agentfleet/keeper/client';
import { watch, type Watched } from '../attempt/progress.ts';
import { forModel } from './arguments.ts';
import { report, count, plain, ArgumentError, type BackgroundProcess, type Observation, type ToolContext, type Tool } from './tool.ts';
import { type CommandShell, bashDefinition, commandSeconds } from '@agentfleet/protocol/chat';
import { tail } from '../attempt/checkRun.ts';
import { actEnvironment } from '../attempt/actEnvironment.ts';
import type { SandboxSession, SessionCommand } from '../attempt/sandboxSession.ts';
import { effectJournal, reachOfActs } from '../attempt/acts.ts';

/** Processes that may run at one time, and how long a call waits for one by itself, seconds. */
const maxRunning = 4;
const defaultWait = 1;
const killSeconds = 5;
/** Characters of unread output that are shown when a process is ended. */
const killShown = 1000;
const limit = { seconds: execBounds.maxTimeoutSeconds, max: execBounds.maxTimeoutSeconds };

/** A command as the tool got it: its line for the gates, and the program that runs it. */
interface BackgroundCall {
  readonly name: string;
  readonly command?: string | undefined;
  readonly argv: (command: string) => readonly string[];
  /** Time that the call waits for the end, seconds. */
  readonly wait?: number | undefined;
  /** Characters of its unread output that are shown, the last ones; absent: all. */
  readonly characters?: number;
}

async function background(call: BackgroundCall, context: ToolContext): Promise<Observation> {
  const known = context.memory.processes.find(({ name }) => name === call.name);
  if (call.command === undefined || call.command.trim() === 'kill') {
    if (known === undefined) throw new ArgumentError(`background: nothing was started as ${call.name}; ${others(context)}`);
    if (call.command === undefined) return look(known, call, context);
    await context.scope.session.call((keeper) => keeper.cancel(known.execId)).catch(ended);
    return look(known, { ...call, wait: killSeconds, characters: killShown }, context);
  }
  const execId = context.execId(0);
  if (known?.execId !== execId) await assertRoom(call, known, context);
  const argv = call.argv(call.command);
  const { session } = context.scope;
  await forModel('background', async () =>
    session.start({ argv, env: await actEnvironment(session), execId, timeoutSeconds: execBounds.maxTimeoutSeconds }),
  );
  const end = `; the command "kill" with background "${call.name}" ends it`;
  return look({ name: call.name, execId, seen: 0 }, call, context, end);
}

async function assertRoom(
  { name, command = '' }: BackgroundCall,
  known: BackgroundProcess | undefined,
  context: ToolContext,
): Promise<void> {
  const { scope, gate, memory } = context;
  const [out] = gate.outward({ command }).external;
  if (out !== undefined) {
    const program = plain(out.argv[0] ?? 'it');
    const own = program === 'npx' ? ', or name the program in node_modules/.bin' : '';
    throw new ArgumentError(
      `background: ${program} may reach out of the sandbox, and what does runs in the foreground only; leave background out${own}`,
    );
  }
  if ((await scope.session.info()).snapshots.engine !== 'CAS')
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
  const isRunning = async (): Promise<boolean> => (await scope.session.call((keeper) => keeper.waitFor(execId, 0))) === null;
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
  { wait = defaultWait, characters }: BackgroundCall,
  { scope }: ToolContext,
  hint = '',
): Promise<Observation> {
  const { name, execId, seen: after } = process;
  const { clock, signal } = scope.context;
  const look = (): Promise<Watched> =>
    scope.session.call((keeper) => watch((over) => keeper.follow(execId, after + 1, over), { after, ms: wait * 1000, clock, signal }));
  const watched = await look().catch(ended);
  if (watched === null) return { ok: false, text: `[${name} is gone with the sandbox that it ran in; start it again]`, process };
  const { seen, end } = watched;
  const output = characters === undefined ? watched.output : tail(watched.output, characters);
  const text = plain(output).replace(/\n$/, '');
  const running = `[${name} runs${text === '' ? ', no new output' : ''}${hint}]`;
  const state = end === null ? `${text}${text === '' ? '' : '\n'}${running}` : report(output, end, limit, name);
  return { text: state, ok: end === null || end.exitCode === 0, process: { name, execId, seen } };
}

function others({ memory }: ToolContext): string {
  const names = memory.processes.map(({ name }) => name);
  return names.length === 0 ? 'start it with a command' : `there are: ${names.join(', ')}`;
}

const programs = {
  bash: ['bash', '-o', 'pipefail', '-c'],
  sh: ['/bin/sh', '-o', 'pipefail', '-c'],
  'plain sh': ['/bin/sh', '-c'],
} as const satisfies Readonly<Record<CommandShell, readonly string[]>>;

/** Asks for the best shell that runs a pipeline; writes nothing. */
const question = `bash -o pipefail -c : 2>/dev/null && echo bash && exit
(set -o pipefail) 2>/dev/null && echo sh && exit
echo plain sh`;

/** The shell of the image of a sandbox; null where it has none, so that no command line can be run. */
export async function findShell(session: SandboxSession): Promise<CommandShell | null> {
  const { stdout, end } = await session.ask({ argv: ['/bin/sh', '-c', question], timeoutSeconds: 20 });
  const found = stdout.trim();
  return end.exitCode === 0 && Object.hasOwn(programs, found) ? (found as CommandShell) : null;
}

/** Programs that work often needs; those that are there are named at the start. */
const usualPrograms =
  'git python3 pip node npm pnpm yarn go cargo java mvn gradle ruby php gcc g++ make cmake meson ninja curl jq yq sqlite3 bats shellcheck yamllint helm kubectl kustomize terraform';

/** Names the usual programs that the image has, with the versions of its interpreters; nothing where it has no shell. */
export async function programsOf(session: SandboxSession): Promise<readonly string[]> {
  const ask = `for p in ${usualPrograms}; do command -v $p >/dev/null && case $p in
python3|node|ruby|php) echo "$p $($p --version 2>&1 | grep -o '[0-9][0-9.]*' | head -n 1)";; *) echo $p;; esac; done; true`;
  const { stdout, end } = await session.ask({ argv: ['/bin/sh', '-c', ask], timeoutSeconds: 20 });
  const lines = end.exitCode === 0 ? plain(stdout).split('\n') : [];
  const found = lines.filter((line) => line !== '');
  return found.length === 0 ? [] : [`Programs: ${found.join(', ')}.`];
}

/** A command line as a program: both outputs are one stream, so that their order is that in which they were written. */
function argvOf(shell: CommandShell, command: string): readonly string[] {
  return ['/bin/sh', '-c', 'exec "$@" 2>&1', 'sh', ...programs[shell], command];
}

interface BashArguments {
  readonly command?: string;
  readonly timeout_seconds?: number;
  readonly background?: string;
  readonly stdin?: string;
}

/** Runs command lines by the shell that the image of the sandbox has. @param max most seconds of one */
export function bash(shell: CommandShell, max: number): Tool {
  return {
    definition: bashDefinition(shell, max),
    propose: (args) => {
      const { command, background, stdin } = named(args);
      const ends = background !== undefined && command?.trim() === 'kill';
      return Promise.resolve({
        rewrites: [],
        acts: command === undefined || ends ? [] : [{ tool: 'Shell', command, ...(stdin !== undefined && { stdin }) }],
      });
    },
    run: (args, context) => run(shell, max, named(args), context),
  };
}

/** Arguments in which `background` is a name: models that know it as a yes or no send `true` or `false`. */
function named({ background, ...args }: BashArguments): BashArguments {
  if (background === undefined || background === 'false') return args;
  return { ...args, background: background === 'true' ? 'job' : background };
}

/** One command that only shows files; its status answers no question, as that of `grep` or `diff` does. */
const onlyLooks = /^\s*(?:cat|ls|head|tail|stat|file|tree)\b[^;&|<>$`\n]*$/;
/** Interpreters that end at once without a program. */
const interpreter = /^\s*(?:python3?|node|bash|sh|ruby|php|irb)\s*$/;
/** Commands that fetch packages or pages. */
const fetching =
  /\b(?:(?:npm|pnpm|yarn|bun) (?:i|install|add|ci|update|create)|pip3? (?:install|download)|curl|wget|git (?:clone|fetch|pull|push)|apt(?:-get)?|apk|cargo (?:add|install|fetch|update)|go (?:get|install|mod)|gem install|bundle install|composer (?:install|require|update))\b/;

/** Words about a command that ended without what its author expected; empty: nothing is known. */
function remark({ command = '', stdin }: BashArguments, { end, stdout }: ExecResult, { scope }: ToolContext): string {
  const { mode } = scope.context.task.spec.policy.network;
  if (end.timedOut && mode !== 'Allowed' && fetching.test(command)) return 'there is no network to download from: do without';
  if (end.exitCode !== 0 || stdout !== '') return '';
  if (/^\s*cd\s[^;&|\n]*$/.test(command)) return 'cd holds for its own command only: write cd DIR && COMMAND, or name paths';
  return interpreter.test(command) && stdin === undefined ? 'it got no program: give one as stdin' : '';
}

async function run(shell: CommandShell, max: number, args: BashArguments, context: ToolContext): Promise<Observation> {
  const { command, stdin, background: name, timeout_seconds: timeoutSeconds = Math.min(commandSeconds.default, max) } = args;
  if (name !== undefined) {
    if (stdin !== undefined) throw new ArgumentError('stdin: a background process has none; leave it out');
    return background({ name, command, argv: (line) => argvOf(shell, line), wait: args.timeout_seconds }, context);
  }
  if (command === undefined) throw new ArgumentError('command: missing; a string is expected');
  const line = { argv: argvOf(shell, command), timeoutSeconds, execId: context.execId(0), ...(stdin !== undefined && { stdin }) };
  const result = await forModel('command', () => perform(context, command, line));
  const { stdout, end } = result;
  const more = remark(args, result, context);
  const text = report(stdout, end, { seconds: timeoutSeconds, max, ...(more !== '' && { remark: more }) });
  return { text, ok: end.exitCode === 0, changed: true, ...(onlyLooks.test(command) && { look: true }) };
}

/** Runs a command with the task's reach; its effects outside of the sandbox are in the log before and after it. */
async function perform(context: ToolContext, command: string, line: SessionCommand): Promise<ExecResult> {
  const { scope, gate, approved, identity } = context;
  const { stdin } = line;
  const reach = reachOfActs(scope.context);
  const act = identity === undefined ? {} : { act: identity };
  return effectJournal(scope).around(
    { command, approved, ...gate.outward({ command, ...(stdin !== undefined && { stdin }) }) },
    async () => {
      const result = await scope.session.exec({ ...line, env: await actEnvironment(scope.session), reach, ...act });
      return { ...result, ok: result.end.exitCode === 0 && result.end.interrupted === undefined };
    },
  );
}
