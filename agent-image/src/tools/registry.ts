import type { ToolDefinition } from '@agentfleet/protocol/chat';
import type { Scope } from '../attempt/scope.ts';
import { argumentReader, type Arguments } from './arguments.ts';
import { askHuman } from './askHuman.ts';
import { bash, findShell } from './bash.ts';
import { editFile } from './editFile.ts';
import { fetchPage } from './fetch.ts';
import { boundOf, isAllowed, plain, ArgumentError, type Tool } from './tool.ts';
import { proposeRepairs } from './proposeRepairs.ts';
import { readFile } from './readFile.ts';
import { runChecks } from './runChecks.ts';
import { search } from './search.ts';
import { submit } from './submit.ts';
import { undo } from './undo.ts';
import { updatePlan } from './updatePlan.ts';

/** All tools but `bash`, which depends on the image; in the order in which models see them, `bash` first. */
const tools: readonly Tool[] = [editFile, runChecks, submit, readFile, search, updatePlan, undo, askHuman, fetchPage, proposeRepairs];

/** The tools of one attempt. They are the same for every worker that runs it, as prompts are cached by them. */
export interface ToolSet {
  readonly definitions: readonly ToolDefinition[];
  /** Returns the tool of a call, and its arguments as JSON text. @throws ArgumentError naming the fault, and the expected form */
  resolve(name: string, argumentsText: string): { readonly tool: Tool; readonly args: Arguments };
}

/**
 * The tools that sandbox, policy and pool of an attempt allow. Runs one command, which finds the shell.
 *
 * @param more those of MCP servers
 * @param wanted the names of which no others are offered; absent: all may be
 */
export async function toolsFor(scope: Scope, more: readonly Tool[] = [], wanted?: ReadonlySet<string>): Promise<ToolSet> {
  const shell = await findShell(scope.session);
  const all = shell === null ? tools : [bash(shell, boundOf(scope.context, 'bash')), ...tools];
  const allowed = [...all, ...more].filter(({ definition }) => isAllowed(scope.context, definition.name));
  const asked = wanted === undefined ? allowed : allowed.filter(({ definition }) => wanted.has(definition.name));
  return toolSet(asked.filter((tool) => tool.offered?.(scope) !== false));
}

/** Makes a set of these tools. */
export function toolSet(offered: readonly Tool[]): ToolSet {
  const byName = new Map(offered.map((tool) => [tool.definition.name, { tool, read: argumentReader(tool) }]));
  return {
    definitions: offered.map(({ definition }) => definition),
    resolve: (name, argumentsText) => {
      const found = byName.get(name);
      if (found === undefined)
        throw new ArgumentError(`there is no tool ${plain(name).slice(0, 64)}; the tools are: ${[...byName.keys()].join(', ')}`);
      return { tool: found.tool, args: found.read(argumentsText) };
    },
  };
}
