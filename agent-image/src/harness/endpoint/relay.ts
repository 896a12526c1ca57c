import type { IncomingMessage, ServerResponse } from 'node:http';
import { once } from 'node:events';
import { newExecId } from '@agentfleet/keeper/client';
import type { TokenUsage } from '@agentfleet/protocol/chat';
import { fieldsOf, textOf, type Fields } from '@agentfleet/protocol/text';
import type { Scope } from '../../attempt/scope.ts';
import { AttemptFailure } from '../../base/failure.ts';
import { textWithin } from '../../base/requests.ts';
import { jsonIn } from '../../base/text.ts';
import { asError } from '@agentfleet/kube';
import type { ChatExpert } from '../../loop/conversation.ts';
import { modelRefusal, type ChatModels, type ForwardedAnswer } from '../../models/index.ts';
import { count } from '../../models/convert.ts';
import { list, type Answered, type ProgramApi } from './apis.ts';
import type { Ledger, Reserved } from './ledger.ts';

const maxBytes = 16 * 1024 * 1024;
/** Longest time for which nothing may move on a connection, ms, unless an answer of the model is waited for. */
export const idleMs = 300_000;
/** A low value: an estimate should rather be too high than too low. */
const bytesPerToken = 3;
const nothing: TokenUsage = { input: 0, cachedInput: 0, output: 0, estimated: false };

interface RefusalOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** Body of the gateway's refusal; default: one in the form of the API. */
  readonly body?: unknown;
  /** Its effect on the attempt; default: none. */
  readonly failure?: AttemptFailure;
}

/** Error of a request that is not answered by the model. */
export class Refusal extends Error {
  readonly status: number;
  readonly code: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly failure: AttemptFailure | null;

  constructor(status: number, code: string, message: string, { headers = {}, body, failure }: RefusalOptions = {}) {
    super(message);
    this.name = 'Refusal';
    this.status = status;
    this.code = code;
    this.headers = headers;
    this.body = body;
    this.failure = failure ?? null;
  }
}

interface Relaying {
  readonly scope: Pick<Scope, 'context'>;
  readonly models: ChatModels;
  readonly expert: ChatExpert;
  readonly api: ProgramApi;
  readonly path: string;
  /** Null: the request costs nothing. */
  readonly ledger: Ledger | null;
}

export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Fires when the program disconnects. */
  readonly signal: AbortSignal;
}

/** The one model that a program may ask, as the lists of both vendors have it. Pure. */
export function modelList(id: string): unknown {
  const one = { id, object: 'model', type: 'model', created: 0, created_at: '1970-01-01T00:00:00Z', owned_by: 'agentfleet' };
  return { object: 'list', data: [{ ...one, display_name: id }], first_id: id, last_id: id, has_more: false };
}

/** Sends one request on and its answer back. @throws Refusal, AttemptFailure; the signal's reason */
export async function relay(relaying: Relaying, exchange: Exchange, sentBytes: Buffer): Promise<void> {
  const { api, expert, ledger } = relaying;
  const body = objectOf(sentBytes);
  const bytes = Buffer.byteLength(JSON.stringify(body));
  const rest = Object.entries(body).filter(([name]) => !api.bounds.includes(name));
  const sent = { ...Object.fromEntries(rest), model: expert.name };
  if (ledger === null) return passOn(await send(relaying, exchange, newExecId(), sent), exchange);
  const bound = api.bounds.map((name) => count(body[name])).find((tokens) => tokens > 0) ?? expert.chat.maxOutputTokens;
  const promptTokens = Math.min(Math.ceil(bytes / bytesPerToken), expert.chat.contextTokens);
  const n = Math.min(64, Math.max(1, count(body['n'])));
  const reserved = await ledger.reserve({ promptTokens, maxOutputTokens: Math.min(bound, expert.chat.maxOutputTokens), n });
  const outcome = outcomeOf(ledger, reserved, promptTokens);
  try {
    const bounded = { ...sent, ...(body['stream'] === true && api.metered), [api.bounds[0]]: reserved.maxOutputTokens };
    const answer = await send(relaying, exchange, reserved.request, bounded);
    const isStream = answer.headers.get('content-type')?.startsWith('text/event-stream') === true;
    if (!isStream) return await whole(relaying, answer, exchange, outcome);
    await stream(relaying, answer, exchange, { outcome, wantsUsage: wantsUsage(body) });
  } catch (error) {
    // A failure before an answer costs nothing, except when the program disconnected: then the provider may have
    // answered.
    await (error instanceof AttemptFailure ? outcome.released(null) : outcome.lost());
    throw error;
  }
}

type Outcome = ReturnType<typeof outcomeOf>;

/** Settles a reservation; the first call decides. */
function outcomeOf(ledger: Ledger, reserved: Reserved, promptTokens: number) {
  let isSettled = false;
  const answered = async (answer: Answered): Promise<void> => {
    if (isSettled) return;
    isSettled = true;
    await ledger.settle(reserved, answer);
  };
  return {
    answered,
    /** The answer was cut off: the prompt and the received part are charged. */
    cutOff: ({ proposals, usage, model }: Answered): Promise<void> => {
      const output = Math.ceil(JSON.stringify(proposals).length / bytesPerToken);
      const estimate: TokenUsage = { input: promptTokens, cachedInput: 0, output, estimated: true };
      return answered({ proposals, usage: usage ?? estimate, model });
    },
    /** The request was refused. @param billed for answers of no use; null: nothing */
    released: (billed: TokenUsage | null): Promise<void> => answered({ proposals: [], usage: billed ?? nothing, model: '' }),
    /** Nothing is known of the answer. */
    lost: (): Promise<void> => answered({ proposals: [], usage: null, model: '' }),
  };
}

/** Returns whether a program of the Chat API asks for the usage of a stream; it is requested in any case, to be charged. */
function wantsUsage(body: Fields): boolean {
  return fieldsOf(body['stream_options'])['include_usage'] === true;
}

/** The JSON object that a program sent. @throws Refusal */
export function objectOf(bytes: Buffer): Fields {
  const body = jsonIn(bytes.toString('utf8'));
  if (typeof body === 'object' && body !== null && !Array.isArray(body)) return body as Fields;
  throw new Refusal(400, 'InvalidRequest', 'the body is no JSON object');
}

async function send(
  { scope, models, expert, path }: Relaying,
  { signal }: Exchange,
  requestId: string,
  body: object,
): Promise<ForwardedAnswer> {
  if (models.forward === undefined) throw new Error('the models of the pool forward nothing; report this fault');
  const { namespace = '', name, uid = '' } = scope.context.task.metadata;
  const asked = { path, body: JSON.stringify(body), requestId, task: `${namespace}/${name}`, conversation: uid };
  const answer = await models.forward(expert, asked, signal);
  return { ...answer, body: unbroken(answer.body, expert.name, signal) };
}

/** The parts of an answer. @throws AttemptFailure Infrastructure where it breaks off; what was thrown where the signal is aborted */
async function* unbroken(body: AsyncIterable<Uint8Array>, expert: string, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (error) {
    if (signal.aborted) throw error;
    const message = `the answer of model ${expert} broke off (${asError(error).message}); it is asked again, look at the gateway when that stays`;
    throw new AttemptFailure('Infrastructure', 'ModelUnreachable', message, { cause: error });
  }
}

function bodyOf({ body }: ForwardedAnswer): Promise<string> {
  return textWithin(maxBytes, body, () => new Refusal(502, 'ProviderMalformed', `the model answered more than ${maxBytes} bytes`));
}

async function passOn(answer: ForwardedAnswer, { response }: Exchange): Promise<void> {
  const said = await bodyOf(answer);
  response.writeHead(answer.status, { 'content-type': 'application/json' }).end(said);
}

async function whole({ api, expert }: Relaying, answer: ForwardedAnswer, { response }: Exchange, outcome: Outcome): Promise<void> {
  const said = await bodyOf(answer).catch(async (error: unknown) => {
    await outcome.lost();
    throw error;
  });
  const body = fieldsOf(jsonIn(said));
  if (answer.status >= 400) {
    const { refusal, billed } = refused(expert, answer, body);
    await outcome.released(billed);
    throw refusal;
  }
  // It is in the log before the program acts on it.
  await outcome.answered(api.answered(body));
  response.writeHead(answer.status, { 'content-type': 'application/json' }).end(said);
}

/** The gateway's refusal as it is, and the usage that it bills, null where that is not known; 401 is about the worker's token, which programs would take for their key. */
function refused({ name }: ChatExpert, { status, headers }: ForwardedAnswer, body: Fields) {
  const error = fieldsOf(body['error']);
  const { failure, billed } = modelRefusal(name, status, error);
  const passed = ['retry-after', 'x-should-retry'].flatMap((header) => {
    const value = headers.get(header);
    return value === null ? [] : [[header, value] as const];
  });
  const code = textOf(error['code']) || 'Internal';
  const own = status !== 401 && error['message'] !== undefined ? { body } : {};
  const refusal = new Refusal(status === 401 ? 503 : status, code, failure.message, {
    headers: Object.fromEntries(passed),
    failure,
    ...own,
  });
  return { refusal, billed };
}

interface Streaming {
  readonly outcome: Outcome;
  readonly wantsUsage: boolean;
}

async function stream(
  { api, expert }: Relaying,
  answer: ForwardedAnswer,
  { response, signal }: Exchange,
  { outcome, wantsUsage: wanted }: Streaming,
): Promise<void> {
  const reader = api.reader();
  response.writeHead(answer.status, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  let failed: Fields | null = null;
  let held = '';
  try {
    for await (const event of eventsOf(answer.body)) {
      const read = eventData(event);
      if (read !== null) failed = reader.add(read) ?? failed;
      if (!wanted && isUsageOnly(read)) continue;
      // The end of an answer waits for the log.
      if (isLast(event)) held += event;
      else if (!response.write(event)) await once(response, 'drain', { signal });
    }
  } catch (error) {
    await outcome.cutOff(reader.answered());
    throw error;
  }
  const answered = reader.answered();
  const failure = failed === null ? null : refused(expert, { ...answer, status: 502 }, { error: failed });
  if (failure === null) await outcome.answered(answered);
  else await outcome.cutOff({ ...answered, usage: failure.billed ?? answered.usage });
  response.end(held);
  if (failure !== null) throw failure.refusal;
}

/** Marker by which programs know that an answer is complete. */
function isLast(event: string): boolean {
  return /^data: \[DONE\]|^event: (?:message_stop|response\.(?:completed|incomplete))$/m.test(event);
}

/** Server-sent events as they are, each with the empty line after it. */
async function* eventsOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let [rest, last] = ['', ''];
  for await (const part of body) {
    const piece = decoder.decode(part, { stream: true });
    const ends = `${last}${piece}`.includes('\n\n');
    last = piece.at(-1) ?? last;
    rest += piece;
    // A search in all of it would copy it for each part.
    if (!ends && rest.length <= maxBytes) continue;
    for (let end = rest.indexOf('\n\n'); end >= 0; end = rest.indexOf('\n\n')) {
      yield rest.slice(0, end + 2);
      rest = rest.slice(end + 2);
    }
    if (rest.length > maxBytes) throw new Refusal(502, 'ProviderMalformed', `an event of the model has more than ${maxBytes} characters`);
  }
  if (rest !== '') yield rest;
}

/** The data of an event; null where it is no JSON. */
function eventData(event: string): Fields | null {
  const lines = event.split('\n').filter((line) => line.startsWith('data: '));
  const value = fieldsOf(jsonIn(lines.map((line) => line.slice('data: '.length)).join('\n')));
  return Object.keys(value).length === 0 ? null : value;
}

function isUsageOnly(event: Fields | null): boolean {
  return event !== null && Array.isArray(event['choices']) && list(event['choices']).length === 0 && event['usage'] !== undefined;
}
