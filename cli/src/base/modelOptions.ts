import { InvalidArgumentError, Option, type Command } from 'commander';
import type { ModelOptions } from '@agentfleet/eval';
import { CliError } from './failure.ts';

/** Reads an option that is a whole number within bounds. */
export const wholeNumber =
  (least: number, most: number) =>
  (text: string): number => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < least || value > most)
      throw new InvalidArgumentError(`write a whole number from ${least} to ${most}`);
    return value;
  };

/** Options that name a chat model, as commander gives them. */
export interface ModelFlags {
  readonly endpoint?: string;
  readonly api?: 'OpenAI' | 'Anthropic';
  readonly recordings?: string;
  readonly again?: boolean;
  readonly model: string;
  readonly keyEnv?: string;
  readonly contextTokens: number;
  readonly maxOutputTokens: number;
  readonly jsonCalls?: boolean;
  readonly modelTimeout: number;
  readonly loseWorkerAt?: number;
}

/** Adds the options of a chat model that takes the place of the search for edits. */
export function addModelOptions(command: Command): Command {
  return command
    .option('--endpoint <url>', 'base URL of a server of the OpenAI chat API: its model does the tasks, in place of the search for edits')
    .addOption(new Option('--api <name>', 'API of the endpoint; default: OpenAI').choices(['OpenAI', 'Anthropic']))
    .option(
      '--recordings <folder>',
      'play recorded conversations in place of an endpoint; a differing prompt or observation fails the task',
    )
    .option('--again', 'with --recordings: give the recorded answers although prompts differ, and keep the conversations that come of it')
    .option('--model <name>', 'name of the model at the endpoint', 'default')
    .option('--key-env <variable>', 'variable of the environment that holds the key of the endpoint')
    .option('--context-tokens <n>', 'of a request with its answer', wholeNumber(1024, 100_000_000), 64_000)
    .option('--max-output-tokens <n>', 'of one answer', wholeNumber(1, 10_000_000), 4096)
    .option('--json-calls', 'the model has no tool calls and answers with one JSON object')
    .option('--model-timeout <seconds>', 'of one request', wholeNumber(1, 86_400), 600)
    .option(
      '--lose-worker-at <step>',
      'the worker is lost while it does what the model said in this step, and another one goes on',
      wholeNumber(1, 10_000),
    );
}

/** The chat model that flags name; undefined where they name none. @throws CliError */
export function modelOf(flags: ModelFlags): ModelOptions | undefined {
  const {
    endpoint,
    api,
    recordings,
    again = false,
    model,
    keyEnv,
    contextTokens,
    maxOutputTokens,
    jsonCalls = false,
    modelTimeout,
    loseWorkerAt,
  } = flags;
  if (again && recordings === undefined) throw new CliError('--again needs --recordings');
  if (endpoint === undefined && recordings === undefined) return undefined;
  if (endpoint !== undefined && recordings !== undefined)
    throw new CliError('--endpoint and --recordings do not go together; leave one out');
  if (endpoint !== undefined && !/^https?:\/\/[^/]/.test(endpoint))
    throw new CliError(`--endpoint ${endpoint} is no base URL; write it as http://localhost:11434/v1`);
  return {
    ...(endpoint !== undefined && { endpoint: endpoint.replace(/\/+$/, '') }),
    ...(recordings !== undefined && { recordings, again }),
    ...(api !== undefined && { api }),
    model,
    ...(keyEnv !== undefined && { keyEnv }),
    contextTokens,
    maxOutputTokens,
    toolCalls: jsonCalls ? 'Json' : 'Native',
    timeoutSeconds: modelTimeout,
    ...(loseWorkerAt !== undefined && { loseWorkerAt }),
  };
}
