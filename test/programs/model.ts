// test, programs: chat model by script, for agent programs under test. May import any package.
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One answer of the model: a command that the program runs by its own tool, recorded calls, or text. */
export interface Step {
  readonly command?: string;
  readonly calls?: readonly { readonly name: string; readonly arguments: object }[];
  readonly text?: string;
  /** Seconds that the first request for this step is delayed, so that a kill meanwhile hits the middle of a run. */
  readonly heldSeconds?: number;
}

/** Answers to the conversation of the goal that holds these words, one a step. */
export interface Script {
  readonly goal: string;
  readonly steps: readonly Step[];
}

export interface ChatAsked {
  readonly stream?: boolean;
  readonly messages: readonly { readonly role: string; readonly content?: unknown; readonly tool_calls?: readonly unknown[] }[];
  readonly tools?: readonly { readonly function: { readonly name: string } }[];
}

/** Call of each program for a command, by the name of its tool. */
const shells: Readonly<Record<string, (command: string) => object>> = {
  bash: (command) => ({ command }),
  Bash: (command) => ({ command, description: 'Runs it' }),
  shell: (command) => ({ command }),
  shell_command: (command) => ({ command }),
  exec_command: (cmd) => ({ cmd }),
  mcp__fleet__bash: (command) => ({ command }),
};

/** mini-swe-agent ends by a command. */
const submit: Step = { command: 'echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT' };

/** The message that answers a request: the step after those that were answered; words where no step is left or no tool is offered. Pure. */
export function answerTo(
  { messages, tools = [] }: ChatAsked,
  scripts: readonly Script[],
): { readonly message: object; readonly step: Step | null } {
  const text = JSON.stringify(messages);
  const script = scripts.find(({ goal }) => text.includes(JSON.stringify(goal).slice(1, -1)));
  const names = tools.map(({ function: { name } }) => name);
  const shell = names.find((name) => Object.hasOwn(shells, name));
  const at = messages.filter(({ role, tool_calls: calls = [] }) => role === 'assistant' && calls.length > 0).length;
  const steps = [...(script?.steps ?? []), ...(shell === 'bash' ? [submit] : [])];
  const step = names.length === 0 ? null : (steps[at] ?? null);
  const calls = step === null ? [] : callsOf(step, shell);
  const made = calls.map(({ name, arguments: args }, index) => ({
    id: `call_${at}_${index}`,
    type: 'function',
    function: { name, arguments: JSON.stringify(args) },
  }));
  const content = step?.text ?? (made.length > 0 ? 'I go on.' : 'Done.');
  return { message: { role: 'assistant', content, ...(made.length > 0 && { tool_calls: made }) }, step };
}

function callsOf({ command, calls = [] }: Step, shell: string | undefined): NonNullable<Step['calls']> {
  if (command === undefined) return calls;
  if (shell === undefined) return [];
  return [{ name: shell, arguments: shells[shell]?.(command) ?? {} }];
}

const usage = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 };

/** Sends one message of the model, as the chat API does. */
export function sendMessage(response: ServerResponse, message: object, isStream: boolean): void {
  const calls = 'tool_calls' in message ? (message.tool_calls as readonly object[]) : [];
  const finish = calls.length > 0 ? 'tool_calls' : 'stop';
  const head = { id: 'chatcmpl-1', created: 1, model: 'scripted' };
  if (!isStream) {
    const choices = [{ index: 0, message, finish_reason: finish, logprobs: null }];
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ ...head, object: 'chat.completion', choices, usage }));
    return;
  }
  const delta = calls.length > 0 ? { ...message, tool_calls: calls.map((call, index) => ({ index, ...call })) } : message;
  const chunk = (more: object): object => ({ ...head, object: 'chat.completion.chunk', ...more });
  const events = [
    chunk({ choices: [{ index: 0, delta, finish_reason: null }] }),
    chunk({ choices: [{ index: 0, delta: {}, finish_reason: finish }] }),
    chunk({ choices: [], usage }),
  ];
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end(`${events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')}data: [DONE]\n\n`);
}

interface ModelServer {
  /** Its base URL, with the path. */
  readonly url: string;
  readonly requests: readonly ChatAsked[];
  close(): Promise<void>;
}

interface ServeOptions {
  /** Null: any client is served. */
  readonly key: string | null;
  readonly host?: string;
  readonly port?: number;
}

/** A server of the OpenAI chat API that answers agent programs by scripts. */
export async function serveScripts(scripts: readonly Script[], { key, host = '127.0.0.1', port = 0 }: ServeOptions): Promise<ModelServer> {
  const requests: ChatAsked[] = [];
  const held = new Set<Step>();
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      if (key !== null && request.headers.authorization !== `Bearer ${key}`) {
        response.writeHead(401, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ error: { message: 'no such key', type: 'invalid_request_error' } }));
        return;
      }
      const asked = JSON.parse(Buffer.concat(parts).toString('utf8')) as ChatAsked;
      requests.push(asked);
      const { message, step } = answerTo(asked, scripts);
      const isHeld = step?.heldSeconds !== undefined && !held.has(step);
      if (isHeld) {
        held.add(step);
        console.log(`a request is held: ${scripts.find(({ steps }) => steps.includes(step))?.goal}`);
      }
      setTimeout(() => sendMessage(response, message, asked.stream === true), isHeld ? (step.heldSeconds ?? 0) * 1000 : 0);
    });
  });
  await new Promise<void>((resolve) => server.listen(port, host, resolve));
  const { port: bound } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${bound}/v1`, requests, close: () => closed(server) };
}

async function closed(server: Server): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}
