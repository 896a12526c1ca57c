import type { FailureClass, Reason } from '@agentfleet/protocol/api';
import {
  gatewayErrorCodes,
  type GatewayErrorCode,
  ChatCompletion,
  chatHeaders,
  chatRoutes,
  type ChatRequest,
  type TokenUsage,
} from '@agentfleet/protocol/chat';
import { AttemptFailure, reasonOf } from '../base/failure.ts';
import { type Try, retried, retryAfterMs, textWithin } from '../base/requests.ts';
import { jsonIn } from '../base/text.ts';
import { Ajv } from 'ajv';
import { inSpan, outgoingHeaders } from '@agentfleet/protocol/tracing';
import { Agent, fetch, type Dispatcher } from 'undici';
import { asError, deadline, type Clock, type Log, type Random, type TokenSource } from '@agentfleet/kube';
import type { ExpertEndpoint } from '@agentfleet/protocol/pool';
import { fieldsOf, textOf } from '@agentfleet/protocol/text';
import { chatUsage, named, proposalOf, unreadUsage, usageOf, wireMessages, wireTools } from './convert.ts';
import { jsonConversation, jsonFormat } from './jsonProtocol.ts';
import { writtenProposal } from './writtenCalls.ts';
import {
  UselessAnswer,
  type ChatModels,
  type ForwardedAnswer,
  type ForwardedRequest,
  type ModelProposal,
  type ModelReply,
  type ModelRequest,
} from './models.ts';

interface Meaning {
  readonly failureClass: FailureClass;
  readonly reason: Reason;
}

/**
 * Meaning of the gateway's refusals for the attempt. Faults that the pool's owner or the provider must cure are
 * Infrastructure: the task waits and is not charged.
 */
const meaning: Readonly<Record<GatewayErrorCode, Meaning>> = {
  InvalidRequest: { failureClass: 'AgentError', reason: 'InvalidRequest' },
  Unauthenticated: { failureClass: 'Infrastructure', reason: 'Unauthenticated' },
  ModelUnknown: { failureClass: 'Infrastructure', reason: 'ModelUnknown' },
  ModelNotAtProvider: { failureClass: 'Infrastructure', reason: 'ModelNotAtProvider' },
  CredentialMissing: { failureClass: 'Infrastructure', reason: 'CredentialMissing' },
  CredentialRefused: { failureClass: 'Infrastructure', reason: 'CredentialRefused' },
  ContextExceeded: { failureClass: 'AgentError', reason: 'ContextExceeded' },
  RateLimited: { failureClass: 'Infrastructure', reason: 'RateLimited' },
  ProviderRefused: { failureClass: 'Infrastructure', reason: 'ProviderRefused' },
  ProviderUnreachable: { failureClass: 'Infrastructure', reason: 'ModelUnreachable' },
  ProviderTimeout: { failureClass: 'Infrastructure', reason: 'ModelUnreachable' },
  ProviderMalformed: { failureClass: 'Infrastructure', reason: 'ProviderMalformed' },
  RecordEnded: { failureClass: 'AgentError', reason: 'RecordEnded' },
  RecordMismatch: { failureClass: 'AgentError', reason: 'RecordMismatch' },
  Internal: { failureClass: 'Infrastructure', reason: 'ModelFailed' },
  Stopping: { failureClass: 'Infrastructure', reason: 'ModelUnreachable' },
};

/** Refusals after an answer of the model. */
const useless: ReadonlySet<GatewayErrorCode> = new Set(['ProviderMalformed', 'Internal']);

/** Answers of proxies before the gateway, without an AgentFleet code. */
const passing: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** A refusal: whether the request may be sent again, and its meaning otherwise. */
interface ModelRefusal {
  readonly retry: boolean;
  /** Null: not a gateway code. */
  readonly code: GatewayErrorCode | null;
  /** Usage billed for answers of no use; null: nothing is known of it. */
  readonly billed: TokenUsage | null;
  readonly failure: AttemptFailure;
}

/**
 * Reads a refusal of the gateway.
 *
 * @param expert its name in the pool
 * @param body `error` of the answer's body
 */
export function modelRefusal(expert: string, status: number, body: unknown): ModelRefusal {
  const { code, message, retryable } = fieldsOf(body);
  const known = gatewayErrorCodes.find((one) => one === code);
  if (known === undefined) {
    const said = typeof message === 'string' ? `: ${message.slice(0, 300)}` : '';
    const text = `the gateway of expert ${expert} answered HTTP ${status}${said}; see the log of the pool's gateway`;
    return { retry: passing.has(status), code: null, billed: null, failure: new AttemptFailure('Infrastructure', 'ModelFailed', text) };
  }
  const { failureClass, reason } = meaning[known];
  const text = `expert ${expert}: ${typeof message === 'string' ? message : 'no reason was given; see the log of its gateway'}`;
  const failure = useless.has(known) ? new UselessAnswer(reason, text) : new AttemptFailure(failureClass, reason, text);
  // The gateway's copy of the signing keys may be older than the token.
  return { retry: retryable === true || known === 'Unauthenticated', code: known, billed: chatUsage(fieldsOf(body)['usage']), failure };
}

interface ChatModelsOptions {
  readonly tokens: Pick<TokenSource, 'token' | 'forget'>;
  /** Audience of the gateway's tokens, of the brief; undefined: the pool has no gateway. */
  readonly audience: string | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Connections to the gateway; default: own ones, kept between requests. */
  readonly dispatcher?: Dispatcher;
}

const maxWaitMs = 30_000;
/** Shortest time limit of one try, ms: the gateway has its own limits, and retries a model. */
const leastTryMs = 900_000;

/** Time limit of one try, ms. The gateway gives the model its time, and then its fallback: a try that ended before would be paid twice. */
export function tryMs({ chat }: Pick<ExpertEndpoint, 'chat'>): number {
  return Math.max(leastTryMs, 2000 * (chat?.timeoutSeconds ?? 0) + 60_000);
}
const maxAnswerBytes = 16 * 1024 * 1024;

/** Replies without a call after which tools are looked for in the prompt, and the tokens of the answer to that request, the least of some servers. */
const callless = 2;
const countingTokens = 16;

/** Optional parameters of a request: some servers refuse them. A model without tools is asked by the Json protocol. */
type Extra = 'logprobs' | 'tools' | 'response_format';
const extraWords: Readonly<Record<Extra, RegExp>> = {
  logprobs: /logprob/i,
  // The last words are of templates that take no result of a tool, and of llama.cpp for schemas that it makes no grammar of.
  tools:
    /support (?:tools?|function)\b|tool choice requires|tools param|(?:tools|function calling) (?:is|are) not (?:supported|enabled)|roles? must alternate|only user and assistant roles|parse grammar/i,
  response_format: /response_format|json_schema|structured|guided|grammar/i,
};

const validate = new Ajv({ strict: false }).compile<ChatCompletion>(ChatCompletion);

type Tried = Try<ModelReply, Pick<ModelRefusal, 'code' | 'billed' | 'failure'>>;

/** Asks the chat models of a pool through its gateway. One instance serves one assignment. */
export class ChatModelsClient implements ChatModels {
  readonly #options: ChatModelsOptions;
  readonly #dispatcher: Dispatcher;
  readonly #refused = new Map<string, ReadonlySet<Extra>>();
  /** Replies without a call, one after the other, of each expert that is sent tools. */
  readonly #callless = new Map<string, number>();

  constructor(options: ChatModelsOptions) {
    this.#options = options;
    // The deadline of a try counts. Probes find out that a node is gone, where a long answer is silent.
    this.#dispatcher =
      options.dispatcher ?? new Agent({ headersTimeout: 0, bodyTimeout: 0, connect: { timeout: 5000, keepAliveInitialDelay: 15_000 } });
  }

  async close(): Promise<void> {
    await this.#dispatcher.destroy();
  }

  complete(expert: ExpertEndpoint, request: ModelRequest, signal: AbortSignal): Promise<ModelReply> {
    const attributes = { 'agentfleet.expert': expert.name, 'http.route': chatRoutes.completions };
    return inSpan(`ask ${expert.name}`, { kind: 'Client', attributes }, () => this.#complete(expert, request, signal));
  }

  #complete(expert: ExpertEndpoint, request: ModelRequest, signal: AbortSignal): Promise<ModelReply> {
    const { clock, random, log } = this.#options;
    const onRetry = (failure: Error, waitMs: number): void =>
      log.warn('a chat model is asked again', { expert: expert.name, error: failure.message, waitMs });
    return retried(() => this.#tryWithout(expert, request, signal), { clock, random, maxWaitMs, signal, onRetry });
  }

  /** One try, and more of them at once without parameters that the model's server refuses. */
  async #tryWithout(expert: ExpertEndpoint, request: ModelRequest, signal: AbortSignal): Promise<Try<ModelReply>> {
    for (;;) {
      signal.throwIfAborted();
      const tried = await this.#try(expert, request, signal);
      if (signal.aborted) return tried;
      if ('value' in tried) {
        if (!(await this.#leavesToolsOut(expert, request, tried.value, signal))) return tried;
        request.onBilled?.(tried.value.usage);
        this.#omit(expert, 'tools');
        continue;
      }
      if (tried.billed !== null) request.onBilled?.(tried.billed);
      if (!this.#doesWithout(expert, tried)) return tried;
    }
  }

  /**
   * Returns whether a server leaves tools out of its prompts without a word, as llama.cpp and vLLM do where the model's template has none: at
   * the second reply without a call, the prompt is counted once without them.
   */
  async #leavesToolsOut(expert: ExpertEndpoint, request: ModelRequest, reply: ModelReply, signal: AbortSignal): Promise<boolean> {
    const { name } = expert;
    if (request.tools.length === 0 || request.inWords === true || this.#byJson(expert) || reply.usage.estimated) return false;
    const before = this.#callless.get(name) ?? 0;
    this.#callless.set(name, reply.proposals.some(({ calls }) => calls.length > 0) ? 0 : before + 1);
    if (this.#callless.get(name) !== callless) return false;
    const counting = { ...request, tools: [], n: 1, maxOutputTokens: countingTokens, requestId: `${request.requestId}-count` };
    const counted = await this.#try(expert, counting, signal);
    if (!('value' in counted)) return false;
    const { usage } = counted.value;
    request.onBilled?.(usage);
    const isSame = !usage.estimated && usage.input >= reply.usage.input;
    if (isSame)
      this.#options.log.warn('the server of a chat model leaves tools out of its prompts: it is asked for JSON', { expert: name });
    return isSame;
  }

  async forward(expert: ExpertEndpoint, request: ForwardedRequest, signal: AbortSignal): Promise<ForwardedAnswer> {
    using limit = deadline(this.#options.clock, tryMs(expert), signal);
    try {
      const within = AbortSignal.any([signal, limit.signal]); // its body continues after the time limit
      const answer = await this.#send(expert, request, within);
      if (answer.status !== 401) return answer;
      // The token was refused, which is not the program's.
      const { audience } = this.#options;
      if (audience !== undefined) this.#options.tokens.forget(audience);
      return await this.#send(expert, request, within);
    } catch (error) {
      signal.throwIfAborted();
      throw error instanceof AttemptFailure ? error : unreachable(expert, limit.expired() ? null : error);
    }
  }

  async #send(
    expert: ExpertEndpoint,
    { path, body, requestId, task, conversation }: ForwardedRequest,
    signal: AbortSignal,
  ): Promise<ForwardedAnswer> {
    const answer = await fetch(new URL(path, expert.url), {
      method: 'POST',
      body,
      headers: {
        authorization: `Bearer ${await this.#token(expert)}`,
        'content-type': 'application/json',
        [chatHeaders.expert]: expert.name,
        [chatHeaders.request]: requestId,
        [chatHeaders.task]: task,
        [chatHeaders.conversation]: conversation,
        ...outgoingHeaders(),
      },
      redirect: 'manual',
      dispatcher: this.#dispatcher,
      signal,
    });
    return { status: answer.status, headers: answer.headers, body: (answer.body ?? []) as AsyncIterable<Uint8Array> };
  }

  async #try(expert: ExpertEndpoint, request: ModelRequest, signal: AbortSignal): Promise<Tried> {
    using limit = deadline(this.#options.clock, tryMs(expert), signal);
    let began = false;
    let answer: unknown;
    try {
      const body = JSON.stringify(this.#body(expert, request));
      const { status, headers, body: parts } = await this.#send(expert, { ...request, path: chatRoutes.completions, body }, limit.signal);
      began = status >= 200 && status < 300;
      const tooLong = `expert ${expert.name} answered more than ${maxAnswerBytes} bytes; lower its maxOutputTokens`;
      const text = await textWithin(maxAnswerBytes, parts, () => new UselessAnswer('ModelMalformed', tooLong));
      if (!began) return this.#refusal(expert, status, jsonIn(text), retryAfterMs(headers.get('retry-after')));
      answer = JSON.parse(text);
      return { value: this.#reply(expert, request, answer) };
    } catch (error) {
      // The gateway answers when it has the whole answer, which is billed.
      const billed = began ? (chatUsage(fieldsOf(answer)['usage']) ?? unreadUsage(request)) : null;
      if (error instanceof AttemptFailure) return { code: null, billed, failure: error, retryMs: undefined };
      return { code: null, billed, failure: unreachable(expert, limit.expired() ? null : error), retryMs: 0 };
    }
  }

  #refusal(expert: ExpertEndpoint, status: number, answer: unknown, afterMs: number): Tried {
    const { retry, ...refusal } = modelRefusal(expert.name, status, fieldsOf(answer)['error']);
    const { audience } = this.#options;
    if (status === 401 && audience !== undefined) this.#options.tokens.forget(audience);
    return { ...refusal, retryMs: retry ? afterMs : undefined };
  }

  async #token({ name }: ExpertEndpoint): Promise<string> {
    const { tokens, audience } = this.#options;
    if (audience !== undefined) {
      return tokens.token(audience).catch((cause: unknown) => {
        throw new Error(`no token for it was given: ${asError(cause).message}`);
      });
    }
    const message = `expert ${name} is a chat model, and the brief of the pool names no gateway; the operator writes both, so wait for it or see its log`;
    throw new AttemptFailure('Infrastructure', 'GatewayMissing', message);
  }

  #body(expert: ExpertEndpoint, { messages, tools, n, maxOutputTokens, inWords }: ModelRequest): ChatRequest {
    const without = this.#refused.get(expert.name);
    const common = {
      model: expert.name,
      ...(n > 1 && { n }),
      max_completion_tokens: maxOutputTokens,
      ...(without?.has('logprobs') !== true && { logprobs: true }),
    };
    if (!this.#byJson(expert) || tools.length === 0)
      return { ...common, messages: wireMessages(messages), ...(tools.length > 0 && { tools: wireTools(tools) }) };
    const format = inWords === true || without?.has('response_format') === true ? {} : { response_format: jsonFormat(tools) };
    return { ...common, messages: wireMessages(jsonConversation(messages, tools)), ...format };
  }

  #byJson({ name, chat }: ExpertEndpoint): boolean {
    return chat?.toolCalls === 'Json' || this.#refused.get(name)?.has('tools') === true;
  }

  /** Returns whether the request is sent again at once without the refused parameter. */
  #doesWithout(expert: ExpertEndpoint, { code, failure }: Pick<ModelRefusal, 'code' | 'failure'>): boolean {
    if (code !== 'InvalidRequest' && code !== 'ProviderRefused') return false;
    const before = this.#refused.get(expert.name) ?? new Set();
    const sent = (['logprobs', this.#byJson(expert) ? 'response_format' : 'tools'] as const).filter((one) => !before.has(one));
    const extra = sent.find((one) => extraWords[one].test(failure.message));
    if (extra === undefined) return false;
    this.#omit(expert, extra);
    return true;
  }

  #omit({ name }: ExpertEndpoint, extra: Extra): void {
    this.#refused.set(name, new Set([...(this.#refused.get(name) ?? []), extra]));
  }

  #reply(expert: ExpertEndpoint, request: ModelRequest, answer: unknown): ModelReply {
    if (!validate(answer)) {
      const [error] = validate.errors ?? [];
      const what = `${error?.instancePath ?? ''} ${error?.message ?? 'has another form'}`.trim();
      const message = `the gateway of expert ${expert.name} answered what is no chat completion: ${what}; check its version`;
      throw new UselessAnswer('ModelMalformed', message);
    }
    const tools = request.tools.map(({ name }) => name);
    const proposals = answer.choices.map((choice, at): ModelProposal => {
      const id = `${request.requestId}-${at}`;
      const proposal = proposalOf(choice, id);
      if (tools.length === 0) return proposal;
      const { reasoning_content: older, reasoning = older } = fieldsOf(choice.message);
      // In words, an object may be quoted.
      const callable = this.#byJson(expert) && request.inWords !== true ? null : tools;
      return named(writtenProposal(proposal, id, callable, textOf(reasoning)), tools);
    });
    const other = typeof answer.model === 'string' && answer.model !== expert.name ? { answeredBy: answer.model } : {};
    return { proposals, usage: usageOf(request, answer), ...other };
  }
}

/** @param error null: no answer came in time */
function unreachable(expert: ExpertEndpoint, error: unknown): AttemptFailure {
  const { name, url } = expert;
  const what = error === null ? `no answer within ${tryMs(expert) / 1000} s` : reasonOf(error);
  const message = `the gateway of expert ${name} at ${url}: ${what}; look at the pods of the pool's gateway`;
  return new AttemptFailure('Infrastructure', 'ModelUnreachable', message, { cause: error });
}
