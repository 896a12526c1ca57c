import { StoreFailure, S3Store, type S3StoreOptions } from '../store/index.ts';
import { WeightsFailure } from './failure.ts';
import { readFile } from 'node:fs/promises';
import type { Clock, Random } from '@agentfleet/kube';
import { retried, type Try } from '../base/requests.ts';

/** A file to fetch. */
export interface RemoteFile {
  /** Relative, with `/`, without `.` and `..`. */
  readonly path: string;
  readonly bytes: number;
  /** Another one for another content; undefined where the source names none. */
  readonly identity?: string;
}

/** A place that weights are fetched from. Both methods reject with a WeightsFailure. */
export interface WeightsSource {
  list(signal: AbortSignal): Promise<readonly RemoteFile[]>;
  /** Bytes of a file as it was listed, `end` excluded. */
  read(file: RemoteFile, start: number, end: number, signal: AbortSignal): Promise<Uint8Array>;
}

const wanted = /\.(safetensors|json|txt|model|jinja|tiktoken)$/;

/** The files that an engine reads: other formats of the same weights, pictures and words are left where they are. */
export function filesOf(files: readonly RemoteFile[]): readonly RemoteFile[] {
  return files.filter(({ path }) => wanted.test(path) && safe(path)).sort((a, b) => (a.path < b.path ? -1 : 1));
}

function safe(path: string): boolean {
  return /^[^\p{Cc}]+$/u.test(path) && path.split('/').every((part) => part !== '' && part !== '.' && part !== '..');
}

/** Weights below a prefix of a bucket. @throws StoreFailure when the uri names no bucket */
export function bucketSource(options: S3StoreOptions): WeightsSource {
  const store = new S3Store(options);
  return {
    list: async (signal) => {
      const entries = await store.entries('', signal).catch(refuse);
      return entries.map(({ key, bytes, etag }) => ({ path: key, bytes, ...(etag === undefined ? {} : { identity: etag }) }));
    },
    read: ({ path, identity }, start, end, signal) => store.part(path, start, end, identity, signal).catch(refuse),
  };
}

const faults = { NotFound: 'NotFound', Refused: 'Refused', Credential: 'Refused' } as const;

function refuse(error: unknown): never {
  if (!(error instanceof StoreFailure)) throw error;
  const fault = faults[error.code as keyof typeof faults] ?? 'Unreachable';
  throw new WeightsFailure(fault, error.message, { cause: error });
}

interface HubOptions {
  /** `https://host`. */
  readonly origin: string;
  /** `organisation/model`. */
  readonly model: string;
  readonly revision: string;
  /** File with a token; absent: none is sent. */
  readonly tokenFile?: string;
  readonly clock: Clock;
  readonly random: Random;
  /** Longest time of retries while it is busy or not there, ms. */
  readonly maxWaitMs: number;
}

interface HubFile {
  readonly rfilename?: unknown;
  readonly size?: unknown;
  readonly blobId?: unknown;
  readonly lfs?: { readonly sha256?: unknown } | null;
}

const tryMs = 120_000;

/** Weights in a hub that speaks the API of Hugging Face: `/api/models/<model>/revision/<revision>` and `/<model>/resolve/…`. */
export function hubSource(options: HubOptions): WeightsSource {
  const { model, revision } = options;
  /** The commit that was listed. */
  let commit: string | undefined;
  const get = (path: string, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Uint8Array> =>
    retried(() => tryToGet(options, path, headers, signal), { ...options, signal });
  return {
    list: async (signal) => {
      const body = await get(`/api/models/${model}/revision/${revision}?blobs=true`, {}, signal);
      const { sha, siblings } = JSON.parse(Buffer.from(body).toString()) as { readonly sha?: unknown; readonly siblings?: unknown };
      if (!Array.isArray(siblings)) throw new WeightsFailure('Unreadable', `${uriOf(options)}: the hub listed no files`);
      // A branch may move while it is fetched: everything is of one commit.
      if (typeof sha === 'string' && /^[0-9a-f]{40,64}$/.test(sha)) commit = sha;
      return siblings.flatMap((file: unknown) => {
        const { rfilename, size, blobId, lfs } = file as HubFile;
        const identity = [lfs?.sha256, blobId, sha].find((word) => typeof word === 'string');
        if (typeof rfilename !== 'string' || !Number.isSafeInteger(size)) return [];
        return [{ path: rfilename, bytes: size as number, ...(identity === undefined ? {} : { identity }) }];
      });
    },
    read: ({ path }, start, end, signal) => {
      const escaped = path.split('/').map(encodeURIComponent).join('/');
      return get(`/${model}/resolve/${commit ?? revision}/${escaped}`, { range: `bytes=${start}-${end - 1}` }, signal);
    },
  };
}

const uriOf = ({ model, revision }: HubOptions): string => `hf://${model}@${revision}`;

async function tryToGet(
  options: HubOptions,
  path: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Try<Uint8Array>> {
  const { origin, tokenFile } = options;
  // Read each time: the kubelet exchanges it. It is not sent on to another host that the hub redirects to.
  const token = tokenFile === undefined ? undefined : (await readFile(tokenFile, 'utf8')).trim();
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
  try {
    const response = await fetch(`${origin}${path}`, {
      headers: { ...headers, ...authorization },
      signal: AbortSignal.any([signal, AbortSignal.timeout(tryMs)]),
    });
    if (response.status === 200 || response.status === 206) return { value: new Uint8Array(await response.arrayBuffer()) };
    await response.body?.cancel();
    const failure = refusal(`${uriOf(options)}: GET ${path} was answered with ${response.status}`, response.status);
    return { failure, retryMs: failure.fault === 'Unreachable' ? 0 : undefined };
  } catch (error) {
    signal.throwIfAborted();
    const why = `${uriOf(options)}: ${origin} does not answer: ${(error as Error).message}`;
    return { failure: new WeightsFailure('Unreachable', why, { cause: error }), retryMs: 0 };
  }
}

function refusal(answered: string, status: number): WeightsFailure {
  if (status === 404) return new WeightsFailure('NotFound', `${answered}: correct the model or the revision`);
  if (status === 401 || status === 403)
    return new WeightsFailure('Refused', `${answered}: give spec.modelCache.hub.credential a token that may read it`);
  return new WeightsFailure('Unreachable', answered);
}
