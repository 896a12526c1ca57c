import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { asError } from '@agentfleet/kube';
import type { AgentTask } from '@agentfleet/protocol/api';
import { workerPort } from '@agentfleet/protocol/pool';
import {
  artifactPlace,
  resultsAudience,
  storedIdentity,
  workerArtifactPath,
  workerLogPath,
  type TaskIdentity,
} from '@agentfleet/protocol/results';
import { workersName, workersOfPod } from '../pools/names.ts';
import { Refused } from './refused.ts';

/** The workers that read for us: those of the pool of a task. */
export interface Workers {
  readonly namespace: string;
  /** Their Service. */
  readonly name: string;
}

/** The workers of a task: those of the pool that it names, else of the one that it was assigned to. Undefined: it was never assigned. */
export function workersOf({ metadata, spec, status }: AgentTask): Workers | undefined {
  if (spec.poolRef !== undefined)
    return { namespace: spec.poolRef.namespace ?? metadata.namespace ?? '', name: workersName(spec.poolRef.name) };
  const { worker, workerNamespace } = status?.assignment ?? {};
  const name = worker === undefined ? undefined : workersOfPod(worker);
  return workerNamespace === undefined || name === undefined ? undefined : { namespace: workerNamespace, name };
}

export interface WorkersOptions {
  /** A token for this audience. */
  readonly token: (audience: string) => Promise<string>;
  /** Origin of workers; default: their Service. */
  readonly urlOf?: (workers: Workers) => string;
  readonly fetch?: typeof fetch;
}

const serviceUrl = ({ namespace, name }: Workers): string => `http://${name}.${namespace}.svc:${workerPort}`;

/** Answer of a worker. */
interface WorkerAnswer {
  readonly body: Readable;
  readonly bytes: number | undefined;
}

/** Client that asks the workers of pools for the contents of their storage. */
export class WorkersClient {
  readonly #options: WorkersOptions;

  constructor(options: WorkersOptions) {
    this.#options = options;
  }

  /** Lines of the event log after `since`; undefined when nothing of it is in the storage. @throws Refused */
  async log(task: AgentTask, since: number, signal: AbortSignal): Promise<Readable | undefined> {
    const workers = workersOf(task);
    if (workers === undefined) return undefined;
    return (await this.#ask(workers, workerLogPath(identityOf(task), since), signal))?.body;
  }

  /** The content of an artifact; undefined when it is gone. @throws Refused */
  async artifact(task: AgentTask, uri: string, signal: AbortSignal): Promise<WorkerAnswer | undefined> {
    const workers = workersOf(task);
    const place = artifactPlace(uri, identityOf(task));
    if (workers === undefined || place === undefined) return undefined;
    return this.#ask(workers, workerArtifactPath(identityOf(task), place.attempt, place.name), signal);
  }

  async #ask(workers: Workers, path: string, signal: AbortSignal): Promise<WorkerAnswer | undefined> {
    const { token, urlOf = serviceUrl, fetch: send = fetch } = this.#options;
    const authorization = `Bearer ${await token(resultsAudience(workers.namespace, workers.name))}`;
    const where = `the workers ${workers.namespace}/${workers.name}`;
    let response: Response;
    try {
      response = await send(urlOf(workers) + path, { headers: { authorization }, signal, redirect: 'error' });
    } catch (error) {
      signal.throwIfAborted();
      const cause = asError(error).cause;
      const why = cause === undefined ? asError(error).message : asError(cause).message;
      const cure = 'they read the storage of the pool: give it a ready worker (kubectl get expertpools -A), and try again';
      throw new Refused(503, `${where} cannot be reached (${why}); ${cure}`);
    }
    if (response.ok && response.body !== null) {
      const length = response.headers.get('content-length');
      const body = Readable.fromWeb(response.body as ReadableStream<Uint8Array>);
      return { body, bytes: length === null ? undefined : Number(length) };
    }
    const { code, message } = await refusalOf(response);
    // An older worker answers 404 without a code for a path of this API: it is replaced soon.
    if (response.status === 404 && code !== undefined) return undefined;
    if (response.status === 404)
      throw new Refused(503, `${where} are of an older version; upgrade them with the chart, or wait until they are replaced`);
    throw new Refused(response.status === 503 ? 503 : 502, `${where} cannot read the storage of the pool: ${message}`);
  }
}

async function refusalOf(response: Response): Promise<{ readonly code?: string; readonly message: string }> {
  const text = await response.text().catch(() => '');
  try {
    const { code, message } = JSON.parse(text) as { readonly code?: unknown; readonly message?: unknown };
    if (typeof code === 'string' && typeof message === 'string') return { code, message };
  } catch {
    // said below
  }
  return { message: `they answered ${response.status}` };
}

function identityOf({ metadata: { namespace = '', name, uid = '' }, status }: AgentTask): TaskIdentity {
  const addresses = (status?.run?.artifacts ?? []).map(({ uri }) => uri);
  return storedIdentity({ namespace, name, uid }, addresses);
}
