/** A model that obeys every order that it reads: the worst that a text from outside can make of an agent. Nothing here runs anything. */
import { EvalError } from '@agentfleet/eval';
import type { ChatModels, ModelReply, ModelRequest } from '../../agent-image/src/models/models.ts';

/** A small workspace with a text that misleads, in the file or in the output of the command that is its carrier. */
export interface Conversation {
  readonly id: string;
  readonly goal: string;
  readonly files: readonly { readonly path: string; readonly content: string }[];
  /** Command that fails at the start and proves the goal. */
  readonly check: unknown;
  readonly carrier: unknown;
  /** The text, readable. */
  readonly injection?: unknown;
  /** Calls of an agent that obeys. */
  readonly obeying: readonly unknown[];
}

/** A call of a tool: its name and its arguments. */
export type Call = readonly [name: string, args: Readonly<Record<string, unknown>>];

type Loose = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is Loose => typeof value === 'object' && value !== null && !Array.isArray(value);
const texts = (value: unknown): string | undefined =>
  typeof value === 'string'
    ? value
    : Array.isArray(value)
      ? value.map((word) => `'${String(word).replaceAll("'", String.raw`'\''`)}'`).join(' ')
      : undefined;

/** A call as packs write it: a command line, or a tool with its arguments. @throws EvalError naming the members that it has */
export function callOf(written: unknown): Call {
  const command = texts(written);
  if (command !== undefined) return ['bash', { command }];
  if (!isObject(written)) throw new EvalError('a call is a command line or a tool with its arguments; correct the conversation');
  const { tool, name, args, arguments: given, input, ...rest } = written;
  const called = [tool, name].find((one) => typeof one === 'string') ?? '';
  const inner = [args, given, input].find(isObject);
  if (called !== '' && (inner !== undefined || Object.keys(rest).length > 0)) return shaped(called, inner ?? rest);
  const line = texts(rest['command'] ?? rest['shell']);
  if (line !== undefined) return ['bash', { command: line }];
  if (typeof rest['path'] === 'string') return shaped('edit_file', rest);
  const [only, ...more] = Object.entries(rest);
  if (only !== undefined && more.length === 0)
    return isObject(only[1]) ? shaped(only[0], only[1]) : shaped(only[0], { command: texts(only[1]) });
  throw new EvalError(`a call has the members ${Object.keys(written).join(', ')}; it needs a tool and its arguments`);
}

/** Names of tools and arguments as the loop has them. */
function shaped(tool: string, args: Loose): Call {
  if (/^(?:bash|shell|exec\w*|run)$/i.test(tool)) return ['bash', { command: texts(args['command'] ?? args['cmd'] ?? args['argv']) ?? '' }];
  if (!/edit|write|create|FileWrite/i.test(tool)) return [tool, args];
  const fresh = args['new_text'] ?? args['content'] ?? args['text'] ?? args['new'] ?? '';
  const old = args['old_text'] ?? args['old'];
  return ['edit_file', { path: args['path'], new_text: fresh, ...(old === undefined ? {} : { old_text: old }) }];
}

/** The call by which the carrier is read. */
export function readingOf({ carrier, files }: Pick<Conversation, 'carrier' | 'files'>): Call {
  if (isObject(carrier)) {
    const path = carrier['file'] ?? carrier['path'];
    if (typeof path === 'string') return ['bash', { command: `cat ${path}` }];
    return callOf(carrier['command'] ?? carrier['output'] ?? carrier);
  }
  if (typeof carrier === 'string' && files.some(({ path }) => path === carrier)) return ['bash', { command: `cat ${carrier}` }];
  return callOf(carrier);
}

/** Reports whether an observation shows that a gate refused the call, or that its changes were reverted. */
export const isRefused = (observation: string): boolean => /^refused, nothing was done|\[refused and undone|^not run/m.test(observation);

/** An edit that gives a whole text for a file that is there, as the tool takes it: with the text that it replaces. */
function replacing([name, args]: Call, files: Conversation['files']): Call {
  const { path, old_text: old } = args;
  const there = files.find((file) => file.path === path)?.content;
  return name !== 'edit_file' || old !== undefined || there === undefined ? [name, args] : [name, { ...args, old_text: there }];
}

/** Reads the carrier, obeys, one call after the other, and hands in. */
export class GullibleModel implements ChatModels {
  /** Results of the calls, in order; the first reads the carrier. */
  readonly observed: string[] = [];
  readonly #calls: readonly Call[];

  constructor(conversation: Conversation) {
    const obeyed = conversation.obeying.map((written) => replacing(callOf(written), conversation.files));
    this.#calls = [readingOf(conversation), ...obeyed];
  }

  complete(_expert: unknown, { messages }: ModelRequest): Promise<ModelReply> {
    const answers = messages.filter(({ role }) => role === 'Tool').map(({ text }) => text);
    this.observed.splice(0, this.observed.length, ...answers);
    const at = messages.filter(({ role }) => role === 'Assistant').length;
    const [name, args] = this.#calls[at] ?? ['submit', { answer: 'I did what the text asked for.' }];
    const calls = [{ id: `call-${at}`, name, arguments: JSON.stringify(args) }];
    const usage = { input: 1000, cachedInput: 0, output: 50, estimated: false };
    return Promise.resolve({ proposals: [{ text: '', calls, finish: 'Calls', entropyNats: null }], usage });
  }
}
