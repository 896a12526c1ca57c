import type { FailureClass, Reason } from '@agentfleet/protocol/api';
import { asError, deadline, type Clock } from '@agentfleet/kube';
import { routes, type InferenceErrorCode } from '@agentfleet/protocol/inference';
import { fieldsOf, textOf } from '@agentfleet/protocol/text';
import type { Bearer } from '@agentfleet/protocol/tokens';
import { handOn, inSpan, outgoingHeaders, spanHeader, spanOfHeader } from '@agentfleet/protocol/tracing';
import { request as send, type Dispatcher } from 'undici';
import { AttemptFailure } from '../base/failure.ts';
import { type Try, retryAfterMs, textWithin } from '../base/requests.ts';
import { jsonIn } from '../base/text.ts';
import { answerReader, type Capability, type Exchanges } from './answers.ts';

/** Meaning of an expert's refusal for the attempt, and its reason; Retry: another try may be answered. */
const meaning: Readonly<Record<InferenceErrorCode, readonly [FailureClass | 'Retry', Reason]>> = {
  AF_INVALID: ['AgentError', 'Invalid'],
  // The server's copy of the signing keys may be older than the token, and the token older than its file.
  AF_UNAUTHENTICATED: ['Retry', 'Unauthenticated'],
  AF_FORBIDDEN: ['Infrastructure', 'Forbidden'],
  AF_ROLE_UNSUPPORTED: ['Infrastructure', 'RoleUnsupported'],
  AF_CAPABILITY_UNSUPPORTED: ['Infrastructure', 'CapabilityUnsupported'],
  AF_LANGUAGE_UNSUPPORTED: ['AgentError', 'LanguageUnsupported'],
  AF_SPECTRUM_MISMATCH: ['AgentError', 'SpectrumMismatch'],
  AF_NOT_FOUND: ['Infrastructure', 'NotFound'],
  AF_RECORD_UNKNOWN: ['AgentError', 'RecordUnknown'],
  AF_RECORD_ENDED: ['AgentError', 'RecordEnded'],
  AF_RECORD_MISMATCH: ['AgentError', 'RecordMismatch'],
  AF_TOO_LARGE: ['AgentError', 'TooLarge'],
  AF_QUEUE_FULL: ['Retry', 'QueueFull'],
  AF_CANCELLED: ['Retry', 'Cancelled'],
  AF_ENGINE_UNAVAILABLE: ['Retry', 'EngineUnavailable'],
  AF_STOPPING: ['Retry', 'Stopping'],
  AF_INTERNAL: ['Infrastructure', 'Internal'],
};

/** Answers of proxies before an expert, without an AgentFleet code. */
const passing: ReadonlySet<number> = new Set([429, 502, 503, 504]);

const maxAnswerBytes = 16 * 1024 * 1024;

/** Address of an inference server: an expert, a verifier or another learned part. */
export interface Part {
  /** In the pool, for messages. */
  readonly name: string;
  /** Origin, without a path. */
  readonly url: string;
}

/** One request to a server. */
export interface Question<C extends Capability> {
  readonly to: Part;
  readonly capability: C;
  readonly request: Exchanges[C]['request'];
  readonly timeoutMillis: number;
}

export interface AskOptions {
  readonly clock: Clock;
  readonly dispatcher?: Dispatcher | undefined;
  /** The token that servers take, asked for each request, as the kubelet renews it; absent: they are asked without one. */
  readonly bearer?: Bearer | undefined;
}

/** An answer; or why there is none, in short for a list of silent parts and in full. */
export type Asked<C extends Capability> = Try<Exchanges[C]['response'], { readonly failure: AttemptFailure; readonly why: string }>;

/** Asks inference servers, each question once. One instance serves all tasks of a worker. */
export class InferenceClient {
  readonly #options: AskOptions;
  readonly #read = answerReader();

  constructor(options: AskOptions) {
    this.#options = options;
  }

  /** Never rejects: a caller looks at its signal. */
  async ask<C extends Capability>(question: Question<C>, signal: AbortSignal): Promise<Asked<C>> {
    const { to, capability, timeoutMillis } = question;
    const called = `${capability === 'Score' ? 'verifier' : 'expert'} ${to.name}`;
    using limit = deadline(this.#options.clock, timeoutMillis, signal);
    try {
      const posted = await this.#post(question, limit.signal);
      return posted.status === 200 ? { value: this.#answer(question, called, posted.text) } : refusalOf(to.name, posted);
    } catch (error) {
      if (error instanceof AttemptFailure) return { failure: error, why: error.message, retryMs: undefined };
      const why = limit.expired() ? `no answer within ${timeoutMillis} ms` : asError(error).message;
      const message = `${called} at ${to.url}: ${why}; check its pod`;
      return { failure: new AttemptFailure('Infrastructure', 'ExpertUnreachable', message, { cause: error }), why, retryMs: 0 };
    }
  }

  #answer<C extends Capability>({ capability, request }: Question<C>, called: string, text: string): Exchanges[C]['response'] {
    try {
      return this.#read(capability, text, request);
    } catch (error) {
      const message = `${called} gave an answer that cannot be read: ${asError(error).message}; check its version`;
      throw new AttemptFailure('Infrastructure', 'ExpertMalformed', message, { cause: error });
    }
  }

  #post<C extends Capability>({ to: { name, url }, capability, request }: Question<C>, signal: AbortSignal): Promise<Posted> {
    const route = routes[capability];
    const attributes = { 'agentfleet.expert': name, 'http.route': route };
    return inSpan(`ask ${name}`, { kind: 'Client', attributes }, async (span) => {
      const { dispatcher, bearer } = this.#options;
      const authorization = await bearer?.();
      const response = await send(new URL(route, url), {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...outgoingHeaders(), ...(authorization !== undefined && { authorization }) },
        body: JSON.stringify(request),
        signal,
        headersTimeout: 0, // the deadline counts
        bodyTimeout: 0,
        ...(dispatcher !== undefined && { dispatcher }),
      });
      const text = await textWithin(maxAnswerBytes, response.body, () => {
        const message = `expert ${name} answered more than ${maxAnswerBytes} bytes; ask for fewer candidates`;
        return new AttemptFailure('Infrastructure', 'ExpertMalformed', message);
      });
      handOn('agentfleet-expert', (traceId) => spanOfHeader(response.headers[spanHeader], traceId));
      span.set({ 'http.response.status_code': response.statusCode });
      return { status: response.statusCode, text, retryMs: retryAfterMs(response.headers['retry-after']) };
    });
  }
}

interface Posted {
  readonly status: number;
  readonly text: string;
  readonly retryMs: number;
}

/** Reads a refusal; `expert` is its name in the pool. */
function refusalOf(expert: string, { status, text, retryMs }: Posted) {
  const { code, message, cure } = fieldsOf(fieldsOf(jsonIn(text))['error']);
  const known = typeof code === 'string' && Object.hasOwn(meaning, code) ? meaning[code as InferenceErrorCode] : undefined;
  const [then, reason] = known ?? [passing.has(status) ? 'Retry' : 'Infrastructure', 'ExpertFailed'];
  const why =
    known === undefined
      ? `expert ${expert} answered HTTP ${status}: ${text.slice(0, 200)}; see the log of the expert`
      : `expert ${expert}: ${textOf(message)} (${textOf(cure)})`;
  const failure = new AttemptFailure(then === 'Retry' ? 'Infrastructure' : then, reason, why);
  return { failure, why, retryMs: then === 'Retry' ? retryMs : undefined };
}
