import type { MessageCreateParamsNonStreaming } from '@anthropic-ai/sdk/resources/messages';
import { levelFor, levelInstead, type Levels } from './effort.ts';
import { refusedMembers, refusing } from './spare.ts';

type Request = MessageCreateParamsNonStreaming;

/** A form of requests that a model takes; its refusals name the next one. */
export interface MessagesForm {
  /** Members that the model does not take, as newer ones a temperature. */
  readonly without: ReadonlySet<string>;
  /** Members that it refuses with this one value: the next request has them again. */
  readonly once: ReadonlySet<string>;
  readonly levels: Levels;
  /** It decides itself how long it thinks, and takes no budget. */
  readonly isAdaptive: boolean;
}

const none: ReadonlySet<string> = new Set();

/** The form of the first request to a model. */
export const firstMessagesForm: MessagesForm = { without: none, once: none, levels: new Map(), isAdaptive: false };

/** The form to ask in after a refusal; null: no other one would cure it. Pure. */
export function nextMessagesForm(error: unknown, form: MessagesForm, sent: Request): MessagesForm | null {
  const level = sent.output_config?.effort;
  const instead = typeof level === 'string' ? levelInstead(error, level, form.levels) : null;
  if (typeof level === 'string' && instead !== null) return { ...form, levels: new Map([...form.levels, [level, instead]]) };
  if (sent.thinking?.type === 'enabled' && isForAdaptive(error)) return { ...form, isAdaptive: true };
  const refused = refusedMembers(error, spareOf(sent));
  if (refused === null) return null;
  const member = refused.isLasting ? 'without' : 'once';
  return { ...form, [member]: new Set([...form[member], ...refused.names]) };
}

function isForAdaptive(error: unknown): boolean {
  const { status, message = '' } = error as { readonly status?: number; readonly message?: string };
  return refusing.has(status) && /enabled/.test(message) && /adaptive/.test(message);
}

const spareMembers = ['temperature', 'top_p', 'top_k', 'thinking', 'metadata'];

/** The members of a request, `effort` among them, without which it asks for the same. */
function spareOf(request: Request): ReadonlySet<string> {
  return new Set(
    [...spareMembers.filter((name) => name in request), ...Object.keys(request.output_config ?? {})].filter((name) => name !== 'format'),
  );
}

/** A request in a form. Pure. */
export function formed(request: Request, { without, once, levels, isAdaptive }: MessagesForm): Request {
  const kept = (value: object): object =>
    Object.fromEntries(Object.entries(value).filter(([name]) => !without.has(name) && !once.has(name)));
  const { output_config: output, thinking, ...rest } = kept(request) as Request;
  const { effort, ...config } = kept(output ?? {}) as NonNullable<Request['output_config']>;
  const whole = { ...config, ...(typeof effort === 'string' && { effort: levelFor(effort, levels) as typeof effort }) };
  return {
    ...rest,
    ...(thinking !== undefined && { thinking: isAdaptive ? adaptive(thinking) : thinking }),
    ...(Object.keys(whole).length > 0 && { output_config: whole }),
  };
}

function adaptive(thinking: NonNullable<Request['thinking']>): NonNullable<Request['thinking']> {
  if (thinking.type !== 'enabled') return thinking;
  const { budget_tokens: _budget, ...rest } = thinking;
  return { ...rest, type: 'adaptive' };
}
