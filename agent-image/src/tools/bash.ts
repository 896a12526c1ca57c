import { bashDefinition, commandSeconds, type CommandShell } from '@agentfleet/protocol/chat';
import type { ExecResult } from '@agentfleet/keeper/client';
import type { HandsCommand } from '../attempt/hands.ts';
import { effectJournal, reachOfActs } from '../attempt/acts/outward.ts';
import { background } from './background.ts';
import { forModel } from './paths.ts';
import { report } from './report.ts';
import { argvOf } from './shell.ts';
import { ArgumentError, type Observation, type Tool, type ToolContext } from './tool.ts';

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
      const { command, background } = args as BashArguments;
      const ends = background !== undefined && command?.trim() === 'kill';
      return Promise.resolve({ rewrites: [], acts: command === undefined || ends ? [] : [{ tool: 'Shell', command }] });
    },
    run: (args, context) => run({ shell, max }, args, context),
  };
}

interface Means {
  readonly shell: CommandShell;
  readonly max: number;
}

async function run({ shell, max }: Means, args: BashArguments, context: ToolContext): Promise<Observation> {
  const { command, stdin, background: name, timeout_seconds: timeoutSeconds = Math.min(commandSeconds.default, max) } = args;
  if (name !== undefined) {
    if (stdin !== undefined) throw new ArgumentError('stdin: a background process has none; leave it out');
    return background({ name, command, argv: (line) => argvOf(shell, line), wait: args.timeout_seconds }, context);
  }
  if (command === undefined) throw new ArgumentError('command: missing; a string is expected');
  const line = { argv: argvOf(shell, command), timeoutSeconds, execId: context.execId(0), ...(stdin !== undefined && { stdin }) };
  const { stdout, end } = await forModel('command', () => perform(context, command, line));
  return { text: report(stdout, end, { seconds: timeoutSeconds, max }), ok: end.exitCode === 0, changed: true };
}

/** Runs a command with what the task lets it reach; what it does outside of the sandbox is in the log before and after it. */
async function perform(context: ToolContext, command: string, line: HandsCommand): Promise<ExecResult> {
  const { scope, gate, approved, identity } = context;
  const reach = reachOfActs(scope.context);
  const act = identity === undefined ? {} : { act: identity };
  return effectJournal(scope).around({ command, approved, ...gate.outward(command) }, async () => {
    const result = await scope.hands.exec({ ...line, reach, ...act });
    return { ...result, ok: result.end.exitCode === 0 && result.end.interrupted === undefined };
  });
}
