import type { WireUsage } from '@agentfleet/protocol/chat';
import { Redaction } from '@agentfleet/protocol/redact';
import { GatewayError, type GatewayErrorOptions } from './gatewayError.ts';
import type { Ask } from './provider.ts';

type Where = Pick<Ask, 'model' | 'url' | 'key' | 'body'>;
type Loose = Readonly<Record<string, unknown>>;

const contextWords = new RegExp(
  [
    'context_length_exceeded|context (?:length|window|size)|maximum context|maximum prompt length|too many (?:input )?tokens',
    '(?:prompt|input) is too long|exceeds? (?:the )?(?:available )?context|exceeds? the maximum number of tokens|prompt exceeds max',
    'exceeded model token limit|range of input length|`inputs` tokens \\+',
  ].join('|'),
  'i',
);
/** A request that is larger than what is allowed in a whole minute: it never passes, whatever its status. */
const sizeWords = /request too large for\b|tokens must be reduced/i;
/** Names of models have dots: only one before a space ends a sentence. */
const modelWords =
  /(?:model|deployment)(?:[^.]|\.(?=\S)){0,120}(?:not (?:be )?found|does not exist|not exist|unknown|not (?:supported|available|loaded))|^model: |no such model|unknown model|invalid model|model identifier is invalid|valid model id|no endpoints found for|model_not_found/i;
const keyWords = /\bapi key (?:is )?(?:not valid|invalid|not found|expired)|(?:incorrect|invalid) api key/i;
/** Codes and types of an account that cannot pay, and words that are about nothing else. */
const creditNames = /^(?:insufficient_quota|insufficient_balance|exceeded_current_quota_error|billing_\w+)$/i;
const creditWords = /insufficient_quota|credit balance|credits are depleted/i;
/** Codes, types and words of a limit that passes: many name the place where a higher one is sold. */
const rateNames = /rate_?limit|too_?many_?requests|resource_exhausted/i;
const rateWords = /rate limit|(?:retry|try again) in \d/i;
const quotaWords = /exceeded your current quota|billing/i;
/** Statuses below 500 of servers that fail or are full: of TGI and Bedrock 424, of Groq 498. */
const passing: ReadonlySet<number> = new Set([409, 424, 425, 498]);
const certificateWords = /CERT|SELF_SIGNED|UNABLE_TO_(?:VERIFY|GET_ISSUER)/;
const shownChars = 300;

/** Converts an error of a vendor's library to a failure of the gateway: fault and cure. A key that a provider quotes is removed. */
export function providerFailure(error: unknown, where: Where): GatewayError {
  if (error instanceof GatewayError) return error;
  if (error instanceof SyntaxError) return malformed(where, 'its answer is not JSON');
  const { status, error: reported } = error as { readonly status?: unknown; readonly error?: unknown };
  if (typeof status === 'number') return refused(status, error, where);
  if (reported !== undefined) return reportedFailure(reported, where);
  if (isOwn(error)) return ownFailure(error, where);
  const detail = detailOf(causesOf(error).at(-1), where);
  const code = codeOf(error);
  if (code !== null && certificateWords.test(code))
    return failure('ProviderUnreachable', where, `has a certificate that is not trusted (${code}): name its authority in caBundleRef`, {
      retryable: false,
    });
  if (code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE') return malformed(where, 'without an end', false);
  if (code === 'ERR_INVALID_URL')
    return failure('ProviderUnreachable', where, 'has none: baseURL is no address; write it like https://llm.example.com/v1', {
      retryable: false,
    });
  if (code === 'ENOTFOUND')
    return failure('ProviderUnreachable', where, 'has a host that no DNS server knows: correct the host of baseURL');
  return failure('ProviderUnreachable', where, `does not answer (${code ?? detail}): is it up, and does baseURL name its host and port?`);
}

/** Libraries throw errors with a cause or a code where there is no answer: one without is a fault of the code that reads it. */
function isOwn(error: unknown): error is Error {
  const isDefect = error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError;
  return isDefect && error.cause === undefined && codeOf(error) === null;
}

function ownFailure(error: Error, where: Where): GatewayError {
  const cause = new Error(detailOf(error, where));
  if (error.stack !== undefined) cause.stack = withoutKey(error.stack, where);
  return new GatewayError('Internal', `${where.model.name}: the gateway failed on an answer of ${placeOf(where.url)}: its log says why`, {
    cause,
  });
}

/** An answer that is of no use. */
export function malformed(where: Where, what: string, retryable = true, usage?: WireUsage): GatewayError {
  const cure = 'is baseURL that of an OpenAI-compatible or Anthropic API, with its path?';
  return failure('ProviderMalformed', where, `answers, but ${what}: ${cure}`, { retryable, usage });
}

/** The beginning of an answer of another form: some servers report in one of their own what they lack. */
export const shown = (answer: unknown, where: Where): string => detailOf({ message: JSON.stringify(answer) }, where);

/** Converts an error that an answer of status 200, or a stream, holds: as a refusal with the status that it names. */
export function reportedFailure(error: unknown, where: Where, usage?: WireUsage): GatewayError {
  return refused(statusOf(error), { error, message: JSON.stringify(error) }, where, usage);
}

const statuses: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  authentication_error: 401,
  permission_error: 403,
  not_found_error: 404,
  request_too_large: 413,
  rate_limit_error: 429,
  rate_limit_exceeded: 429,
};

function statusOf(error: unknown): number | null {
  const { error: inner, code, status, status_code: groq, http_status_code: tgi, type } = (error ?? {}) as Loose;
  if (inner !== undefined) return statusOf(inner);
  const named = [code, status, groq, tgi].map(Number).find((one) => one >= 400 && one < 600);
  return named ?? statuses[String(code)] ?? statuses[String(type)] ?? null;
}

/** @param named status of the refusal; null: it names none */
function refused(named: number | null, error: unknown, where: Where, usage?: WireUsage): GatewayError {
  const detail = detailOf(error, where);
  const retryAfterMs = retryAfterOf(error);
  const status = named ?? ([contextWords, sizeWords, keyWords].some((words) => words.test(detail)) ? 400 : 500);
  const quoted = [named ?? '', detail].filter((part) => part !== '').join(': ');
  const fail = (code: Parameters<typeof failure>[0], what: string, options: GatewayErrorOptions = {}): GatewayError =>
    failure(code, where, what, { retryAfterMs, usage, ...options });
  if (status >= 300 && status < 400)
    return fail(
      'ProviderRefused',
      `redirects to ${redirectOf(error, where)}, which no key follows: write the address it means into baseURL`,
    );
  // An error about the limits of a minute is quoted with the address to buy more, which states nothing about credit.
  if (status === 413 || (status < 500 && sizeWords.test(detail))) return fail('ContextExceeded', tooLong(quoted));
  if (status === 402 || isUnpaid(error)) return fail('ProviderRefused', `has no credit left for this key (${quoted}): see its billing`);
  const isParameter = namesParameter(detail, where);
  if (status === 401 || (status === 403 && !isParameter) || (status < 429 && keyWords.test(detail)))
    return fail('CredentialRefused', `refuses the credential (${quoted}): renew the key in its Secret`);
  if (status === 408) return fail('ProviderTimeout', `took too long (${quoted}): ask again, or choose a faster model`);
  if (status === 429) return fail('RateLimited', `asks for fewer requests (${quoted}): lower requestsPerMinute or raise its quota`);
  if (passing.has(status) || status >= 500) return fail('ProviderUnreachable', `fails (${quoted}): see its status or its log`);
  if (contextWords.test(detail)) return fail('ContextExceeded', tooLong(quoted));
  if (modelWords.test(detail) && !isParameter)
    return fail('ModelNotAtProvider', `has no model ${where.model.model} (${quoted}): correct ${nameOf(where)}`);
  if (status === 404 || status === 405)
    return fail('ProviderRefused', `has no chat API there (${quoted}): correct the path of baseURL, as …/v1`);
  return fail('InvalidRequest', `refuses the request (${quoted}): correct what it names`);
}

/** Azure takes the model from the address of a deployment. */
const nameOf = ({ url }: Where): string => (/\/deployments\//.test(url) ? 'the deployment in baseURL' : "the model's name");

/** Reports whether an account cannot pay: by code or type, where it names one that is known, else by words. */
function isUnpaid(error: unknown): boolean {
  const names = namesOf((error as Loose)['error']);
  const words = saidBy(error);
  if (names.some((name) => creditNames.test(name)) || creditWords.test(words)) return true;
  if (names.some((name) => rateNames.test(name)) || rateWords.test(words)) return false;
  return quotaWords.test(words.replaceAll(/https?:\/\/\S+/g, ''));
}

/** Codes, types and statuses in words of an error body and of the error in it. */
function namesOf(body: unknown): readonly string[] {
  if (Array.isArray(body)) return namesOf(body[0]);
  if (typeof body !== 'object' || body === null) return [];
  const { error, code, type, status } = body as Loose;
  return [...[code, type, status].filter((name) => typeof name === 'string'), ...namesOf(error)];
}

const tooLong = (quoted: string): string => `cannot take so long a conversation (${quoted}): shorten it, or raise its context`;

/** Reports whether words name a parameter of the request. Names that are words of their own, as `model` and `user`, prove nothing. */
function namesParameter(detail: string, { body }: Where): boolean {
  const words = new Set(detail.match(/\w+/g));
  return Object.keys(body).some((name) => /_|logprobs/.test(name) && words.has(name));
}

/** It has no cause: that may quote the request with its key. */
function failure(code: GatewayError['code'], { model, url }: Where, what: string, options: GatewayErrorOptions = {}): GatewayError {
  return new GatewayError(code, `${model.name}: the provider at ${placeOf(url)} ${what}`, options);
}

/** Host and path of a URL, without user and query. */
export function placeOf(url: string): string {
  const { host, pathname } = URL.parse(url) ?? { host: 'no valid URL', pathname: '' };
  return `${host}${pathname === '/' ? '' : pathname}`;
}

function withoutKey(text: string, { key }: Where): string {
  const bare = key === null ? text : text.replaceAll(key, '[key]');
  return new Redaction(() => undefined).open().text(bare);
}

/** All words of an error, which may quote the key. */
function saidBy(error: unknown): string {
  const { error: body, message } = error as { readonly error?: unknown; readonly message?: unknown };
  return wordsOf(body) ?? (typeof message === 'string' ? message : String(error));
}

function detailOf(error: unknown, where: Where): string {
  return withoutKey(saidBy(error), where).replaceAll(/\s+/g, ' ').slice(0, shownChars).trim();
}

/** The words of an error body: `{error: {message, code, param}}`, a list of them, `{message}`, `{detail}`; `metadata.raw` is what a broker got. */
function wordsOf(body: unknown): string | null {
  if (typeof body === 'string') return body;
  if (Array.isArray(body)) return wordsOf(body[0]);
  if (typeof body !== 'object' || body === null) return null;
  const { error, message, code, param, detail, metadata } = body as Loose;
  if (error !== undefined) return wordsOf(error);
  if (typeof message !== 'string') return detail === undefined ? null : JSON.stringify(detail);
  const more = [code, param].filter((one) => typeof one === 'string' && one !== '' && !message.includes(one));
  const { raw } = (metadata ?? {}) as Loose;
  return [message, ...(more.length > 0 ? [` (${more.join(', ')})`] : []), ...(typeof raw === 'string' ? [`: ${raw}`] : [])].join('');
}

/** An error and its causes: libraries wrap them in errors with less information. */
function causesOf(error: unknown): readonly unknown[] {
  const causes = [error];
  for (let at = error; at instanceof Error && at.cause !== undefined && causes.length < 8; at = at.cause) causes.push(at.cause);
  return causes;
}

function codeOf(error: unknown): string | null {
  const codes = causesOf(error).map((cause) => (cause instanceof Error ? (cause as { readonly code?: unknown }).code : undefined));
  return codes.find((code) => typeof code === 'string') ?? null;
}

function headerOf(error: unknown, name: string): string | null {
  return (error as { readonly headers?: Headers }).headers?.get(name) ?? null;
}

/** The place of a redirect, without what may be secret in it. */
function redirectOf(error: unknown, { url }: Where): string {
  const place = URL.parse(headerOf(error, 'location') ?? '', url);
  return place === null ? 'another place' : `${place.protocol}//${place.host}${place.pathname}`;
}

const waitWords = /(?:retry|try again) (?:in|after) ((?:\d+(?:\.\d+)? ?(?:ms|[hms])[a-z]*)+)/i;
const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

const longestWaitMs = 86_400_000;

/** Returns the provider's retry delay, ms, a day at most: `retry-after-ms`, or `retry-after` in seconds or as a date; else what its words name, as 7m12.5s. */
function retryAfterOf(error: unknown): number | undefined {
  const wait = namedWait(error);
  return wait === undefined || Number.isNaN(wait) ? undefined : Math.min(longestWaitMs, Math.max(0, wait));
}

function namedWait(error: unknown): number | undefined {
  const millis = Number(headerOf(error, 'retry-after-ms') ?? Number.NaN);
  if (millis >= 0) return millis;
  const text = headerOf(error, 'retry-after');
  if (text === null) {
    const [, named] = waitWords.exec(saidBy(error)) ?? [];
    const parts = [...(named ?? '').matchAll(/([\d.]+) ?(ms|[hms])/gi)];
    return named === undefined ? undefined : parts.reduce((sum, [, count, unit = '']) => sum + Number(count) * (unitMs[unit] ?? 0), 0);
  }
  return /^\d+(\.\d+)?$/.test(text.trim()) ? Number(text) * 1000 : Date.parse(text) - Date.now();
}
