import type { GenerateRequest, Edit, FocusFile, PriorRequest } from '@agentfleet/protocol/inference';
import type { Model, Token, Limits } from './likelihood.ts';
import { type Suspect, candidateId, editOf, type Generated, byEnergy, suspects, type Found } from '../../base/engine.ts';
import { Ajv } from 'ajv';
import { jsonOf } from '@agentfleet/protocol/text';

/** Lines that the model is shown around the one that it rewrites. */
const around = 10;
const maxLineChars = 200;
const maxWordsChars = 400;

/** Schema of a reply: one line of the file, rewritten. */
export const replySchema = {
  type: 'object',
  properties: { text: { type: 'string', maxLength: maxLineChars } },
  required: ['text'],
  additionalProperties: false,
} as const;

/**
 * Returns the prompt for one line, in the chat format of SmolLM2. Only the format's own marks are special tokens: text
 * of the request cannot end a turn.
 */
function promptTokens(model: Pick<Model, 'tokenize'>, request: GenerateRequest, suspect: Suspect): Token[] {
  const mark = (text: string): Token[] => model.tokenize(text, true);
  const plain = (text: string): Token[] => model.tokenize(text);
  return [
    ...mark('<|im_start|>system\n'),
    ...plain(
      'You repair programs. You are given a part of a file and one line of it that may be wrong. Answer with JSON: {"text": the corrected line}.',
    ),
    ...mark('<|im_end|>\n<|im_start|>user\n'),
    ...plain(question(request, suspect)),
    ...mark('<|im_end|>\n<|im_start|>assistant\n'),
  ];
}

function question({ goal, files, localisation }: GenerateRequest, { file, line }: Suspect): string {
  const { path = '', content = '' } = files[file] ?? {};
  const lines = content.split('\n').map((text) => text.slice(0, maxLineChars));
  const shown = lines.slice(Math.max(0, line - 1 - around), line + around).join('\n');
  const failing = localisation.failingTests[0]?.message.slice(0, maxWordsChars) ?? '';
  const failure = failing === '' ? '' : `A test fails: ${failing}\n`;
  return `${goal.slice(0, maxWordsChars)}\n${failure}${path}:\n${shown}\n\nThe line that may be wrong:\n${lines[line - 1] ?? ''}\n`;
}

/**
 * The edit that replaces one line by a reply; null when that changes nothing. A reply without indentation gets the
 * line's: a small model rarely keeps it.
 */
function lineEdit(file: FocusFile, line: number, reply: string): Edit | null {
  const lines = file.content.split('\n');
  const before = lines[line - 1];
  if (before === undefined) return null;
  const indent = /^\s*/.exec(before)?.[0] ?? '';
  const text = reply.replace(/\s+$/, '');
  if (text === '') return null;
  const after = /^\s/.test(text) ? text : indent + text;
  if (after === before.replace(/\s+$/, '')) return null;
  const start = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
  return editOf(file, start, start + before.length, after);
}

/** Writes one reply that fits the schema. */
export interface Writer {
  readonly tokenize: Model['tokenize'];
  /** The likeliest text that the grammar allows; null when it is not ended after `maxTokens` or at the deadline. */
  write(prompt: Token[], maxTokens: number, stop: () => boolean): Promise<Reply | null>;
  readonly contextTokens: number;
}

export interface Reply {
  readonly text: string;
  readonly tokens: number;
  /** ln p of the text after the prompt, nats, as the model sees it without the grammar. */
  readonly logLikelihood: number;
}

/** Tokens that one reply and one request may cost. */
const replyTokens = 96;
export const requestTokens = 1024;

const validate = new Ajv().compile<{ text: string }>(replySchema);

/**
 * Rewrites the most suspicious lines separately, each greedily: at most one candidate per line. A model of this size
 * seldom repairs anything; its proposals are judged like all candidates.
 */
export async function propose(request: GenerateRequest, writer: Writer, { now, signal }: Limits): Promise<Generated> {
  const started = now();
  const late = (): boolean => signal.aborted || now() - started >= request.budgetMillis;
  const found = new Map<string, Found>();
  const excluded = new Set(request.exclude);
  const open = (): readonly Found[] => [...found.values()].filter(({ id }) => !excluded.has(id));
  // Lines that answered with nothing new need others in their place.
  const lines = suspects(request, 2 * request.k + excluded.size);
  let [tokens, asked] = [0, 0];
  for (; asked < lines.length && open().length < request.k && !late() && tokens + replyTokens <= requestTokens; asked += 1) {
    const suspect = lines[asked] as Suspect;
    const prompt = promptTokens(writer, request, suspect);
    if (prompt.length + replyTokens > writer.contextTokens) continue;
    const reply = await writer.write(prompt, replyTokens, late);
    tokens += reply?.tokens ?? replyTokens;
    const candidate = reply === null ? null : candidateOf(request, suspect, reply);
    if (candidate !== null && !found.has(candidate.id)) found.set(candidate.id, candidate);
  }
  signal.throwIfAborted();
  const truncated = asked < lines.length && open().length < request.k;
  const { left, ...chosen } = byEnergy(found.values(), request);
  const exhausted = !truncated && left === 0 && chosen.candidates.length < request.k;
  return { ...chosen, exhausted, truncated, stats: { parsed: 0, considered: found.size, millis: Math.round(now() - started) } };
}

function candidateOf({ files }: GenerateRequest, { file, line }: Suspect, { text, logLikelihood }: Reply): Found | null {
  const focus = files[file];
  const value = jsonOf(text);
  const edit = focus === undefined || !validate(value) ? null : lineEdit(focus, line, value.text);
  if (edit === null) return null;
  const location = { path: edit.path, line, column: 0 };
  const rationale = `A small language model rewrote line ${line} of ${edit.path}.`;
  return { id: candidateId([edit]), energy: -logLikelihood, edits: [edit], operator: 'llama-line', rationale, location };
}

const content = 'def add(a, b):\n    """Return the sum of a and b."""\n    return a - b\n';

const sign = content.lastIndexOf('-');
const replace = (after: string): Edit => editOf({ path: 'add.py', content }, sign, sign + 1, after);

/** A request that any language model of code answers in one way: the sum is likelier than the power. */
export const example: PriorRequest = {
  requestId: 'prove',
  files: [{ path: 'add.py', content }],
  candidates: [
    { id: 'sum', edits: [replace('+')] },
    { id: 'power', edits: [replace('**')] },
  ],
  windowTokens: 8,
  budgetMillis: 60_000,
};
