import { fieldsOf, jsonOf, printable } from '@agentfleet/protocol/text';
import { CliError } from '../base/failure.ts';

/** APIs that a first pool may have. */
export type EndpointType = 'OpenAI' | 'Anthropic';

const like = 'write it like https://llm.example.com/v1';
const thisMachine = /^(?:localhost|0\.|127\.|169\.254\.|\[::1?\]$)/;
/** The end of an address that the gateway adds itself. */
const routes: Readonly<Record<EndpointType, RegExp>> = { OpenAI: /\/chat\/completions$/, Anthropic: /(?:\/v1)?(?:\/messages)?$/ };

/** Returns the address of a model as a pool has it. Pure. @throws CliError that names the fault and the cure, and shows no key */
export function endpointOf(written: string, type: EndpointType): URL {
  const url = URL.parse(written);
  if (url === null || !/^https?:$/.test(url.protocol)) throw new CliError(`--endpoint ${printable(written)} is no base URL; ${like}`);
  if (url.username !== '' || url.password !== '')
    throw new CliError(`--endpoint has a user or a key before ${url.host}; leave it out, and give the key with --key-file or --key-env`);
  const others = [...url.searchParams.keys()].filter((name) => name !== 'api-version');
  if (others.length > 0 || url.hash !== '' || !/^[-._~a-zA-Z0-9/]*$/.test(url.pathname))
    throw new CliError(`--endpoint ${url.host} has more than a host, a port and a path; ${like}`);
  if (thisMachine.test(url.hostname))
    throw new CliError(
      `--endpoint ${url.host} is an address that every machine has for itself, and the gateway has another one; name a host that the cluster reaches`,
    );
  url.pathname = url.pathname.replace(/\/+$/, '').replace(routes[type], '');
  return url;
}

/** Returns the text of an address, without a slash at its end. Pure. */
export const baseUrl = ({ origin, pathname, search }: URL): string => `${origin}${pathname.replace(/\/+$/, '')}${search}`;

interface Endpoint {
  readonly url: URL;
  readonly type: EndpointType;
  readonly model: string;
  /** Empty: it takes none. */
  readonly key: string;
}

/** A line about an endpoint; `isFault`: as it is written, the pool will not work, as far as can be seen from this machine. */
export interface Finding {
  readonly isFault: boolean;
  readonly text: string;
}

/** Names that only a cluster knows. */
const inCluster = /^[^.:]+$|[.]svc(?:[.]|$)/;
const patienceMs = 5000;
const mostBytes = 4 * 1024 * 1024;
const mostNames = 5;

/**
 * Asks an endpoint for the list of its models, which costs nothing, and returns what that shows. Never rejects. Undefined: nothing is to
 * be said, as a deployment of Azure has no list, and a Service is not reached from here.
 */
export async function findingOf(fetch: typeof globalThis.fetch, endpoint: Endpoint, stopped: AbortSignal): Promise<Finding | undefined> {
  const { url, type, key } = endpoint;
  if (url.search !== '' || url.pathname.includes('/deployments/') || inCluster.test(url.hostname)) return undefined;
  const path = type === 'Anthropic' ? '/v1/models?limit=1000' : '/models';
  const sent = type === 'Anthropic' ? { 'x-api-key': key, 'anthropic-version': '2023-06-01' } : { authorization: `Bearer ${key}` };
  const headers = key === '' ? {} : sent;
  const signal = AbortSignal.any([stopped, AbortSignal.timeout(patienceMs)]);
  try {
    // The key is for this host alone.
    const response = await fetch(`${baseUrl(url)}${path}`, { headers, redirect: 'manual', signal });
    return read(endpoint, response.status, response.status === 200 ? await bodyOf(response) : '');
  } catch (error) {
    return fault(endpoint, `does not answer this machine (${whyOf(error)}); that is no fault where only the cluster reaches it`);
  }
}

const fault = ({ url }: Endpoint, what: string): Finding => ({ isFault: true, text: `the endpoint ${url.host} ${what}` });

function read(endpoint: Endpoint, status: number, body: string): Finding {
  const { url, model, key } = endpoint;
  if (status === 401 || status === 403)
    return fault(
      endpoint,
      key === '' ? `wants a key (${status}); begin again with one` : `refuses the key (${status}); correct it in its Secret`,
    );
  if (status >= 300 && status < 400) return fault(endpoint, `redirects (${status}), which no key follows; correct the address`);
  const names = status === 200 ? namesIn(body) : [];
  if (names.length === 0)
    return fault(
      endpoint,
      `has no list of models at ${url.pathname} (${status}), so that the name was not tried; is its path right, as /v1?`,
    );
  const isServed = names.some((name) => name === model || name === `${model}:latest` || name.endsWith(`/${model}`));
  const taken = key === '' ? '' : 'takes the key and ';
  if (isServed) return { isFault: false, text: `the endpoint ${url.host} answers, ${taken}has the model ${model}` };
  const near = nearest(model, names).map(printable).join(', ');
  return fault(endpoint, `${taken}lists no model ${model}; of ${names.length} names these are next: ${near}`);
}

/** Names in the lists of servers: `{data: [{id}]}`, `{models: [{name}]}`, or a list alone. */
function namesIn(body: string): readonly string[] {
  const value = jsonOf(body);
  const { data, models } = fieldsOf(value);
  const list = [value, data, models].find((each) => Array.isArray(each)) ?? [];
  return (list as readonly unknown[]).flatMap((each) => {
    const { id, name } = fieldsOf(each);
    const found = id ?? name ?? each;
    return typeof found === 'string' && found.length <= 256 ? [found] : [];
  });
}

/** Returns the names that share the most pairs of letters with a name, the nearest first. Pure. */
function nearest(wanted: string, names: readonly string[]): readonly string[] {
  const pairs = (text: string): ReadonlySet<string> =>
    new Set(Array.from({ length: Math.max(0, text.length - 1) }, (_, at) => text.slice(at, at + 2).toLowerCase()));
  const of = pairs(wanted);
  const ranked = names.map((name) => {
    const own = pairs(name);
    return { name, likeness: [...own].filter((pair) => of.has(pair)).length / (own.size + of.size || 1) };
  });
  return ranked
    .sort((a, b) => b.likeness - a.likeness)
    .slice(0, mostNames)
    .map(({ name }) => name);
}

async function bodyOf({ body }: Response): Promise<string> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of (body ?? []) as AsyncIterable<Uint8Array>) {
    size += piece.length;
    if (size > mostBytes) break;
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString();
}

function whyOf(error: unknown): string {
  const { name, cause } = error as { readonly name?: unknown; readonly cause?: { readonly code?: unknown } };
  if (name === 'TimeoutError') return `nothing within ${patienceMs / 1000} s`;
  return typeof cause?.code === 'string' ? cause.code : 'no connection';
}
