import { StoreFailure, S3Client, S3Store, locate, type S3StoreOptions } from '../store/index.ts';
import { WeightsFailure } from './failure.ts';
import { constants } from 'node:fs';
import { readFile, mkdir, open, rename, stat, type FileHandle } from 'node:fs/promises';
import { sleep, type Clock } from '@agentfleet/kube';
import { dirname, join } from 'node:path';

/** A file to fetch. */
interface RemoteFile {
  /** Relative, with `/`, without `.` and `..`. */
  readonly path: string;
  readonly bytes: number;
}

/** A place that weights are fetched from. Both methods reject with a WeightsFailure. */
export interface WeightsSource {
  list(signal: AbortSignal): Promise<readonly RemoteFile[]>;
  /** Bytes of a file, `end` excluded. */
  read(path: string, start: number, end: number, signal: AbortSignal): Promise<Uint8Array>;
}

const wanted = /\.(safetensors|json|txt|model|jinja|tiktoken)$/;

/** The files that an engine reads: other formats of the same weights, pictures and words are left where they are. */
export function filesOf(files: readonly RemoteFile[]): readonly RemoteFile[] {
  return files.filter(({ path }) => wanted.test(path) && safe(path)).sort((a, b) => (a.path < b.path ? -1 : 1));
}

function safe(path: string): boolean {
  return /^[^\p{Cc}]+$/u.test(path) && path.split('/').every((part) => part !== '' && part !== '.' && part !== '..');
}

/** Weights below a prefix of a bucket. */
export class BucketSource implements WeightsSource {
  readonly #options: S3StoreOptions;
  readonly #store: S3Store;
  readonly #client: S3Client;

  /** @throws StoreFailure when the uri names no bucket */
  constructor(options: S3StoreOptions) {
    this.#options = options;
    this.#store = new S3Store(options);
    this.#client = new S3Client(options);
  }

  async list(signal: AbortSignal): Promise<readonly RemoteFile[]> {
    const entries = await this.#store.entries('', signal).catch(refuse);
    return entries.map(({ key, bytes }) => ({ path: key, bytes }));
  }

  async read(path: string, start: number, end: number, signal: AbortSignal): Promise<Uint8Array> {
    const location = locate(this.#options);
    const what = `get ${location.uri(path)}`;
    const headers = { range: `bytes=${start}-${end - 1}` };
    const { body } = await this.#client.request({ method: 'GET', url: location.keyUrl(path), what, headers }, signal).catch(refuse);
    return body;
  }
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
}

const tries = 5;
const firstWaitMs = 500;
const tryMs = 120_000;

/** Weights in a hub that speaks the API of Hugging Face: `/api/models/<model>/revision/<revision>` and `/<model>/resolve/…`. */
export class HubSource implements WeightsSource {
  readonly #options: HubOptions;

  constructor(options: HubOptions) {
    this.#options = options;
  }

  async list(signal: AbortSignal): Promise<readonly RemoteFile[]> {
    const { model, revision } = this.#options;
    const body = await this.#get(`/api/models/${model}/revision/${revision}?blobs=true`, {}, signal);
    const { siblings } = JSON.parse(Buffer.from(body).toString()) as { readonly siblings?: unknown };
    if (!Array.isArray(siblings)) throw new WeightsFailure('Unreadable', `${this.#uri}: the hub listed no files`);
    return siblings.flatMap((file: unknown) => {
      const { rfilename, size } = file as { readonly rfilename?: unknown; readonly size?: unknown };
      return typeof rfilename === 'string' && Number.isSafeInteger(size) ? [{ path: rfilename, bytes: size as number }] : [];
    });
  }

  read(path: string, start: number, end: number, signal: AbortSignal): Promise<Uint8Array> {
    const { model, revision } = this.#options;
    const escaped = path.split('/').map(encodeURIComponent).join('/');
    return this.#get(`/${model}/resolve/${revision}/${escaped}`, { range: `bytes=${start}-${end - 1}` }, signal);
  }

  get #uri(): string {
    return `hf://${this.#options.model}@${this.#options.revision}`;
  }

  async #get(path: string, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Uint8Array> {
    for (let attempt = 1; ; attempt += 1) {
      const answer = await this.#try(path, headers, signal);
      if (answer instanceof Uint8Array) return answer;
      if (attempt === tries || answer.fault !== 'Unreachable') throw answer;
      await sleep(this.#options.clock, firstWaitMs * 2 ** attempt, signal);
    }
  }

  async #try(path: string, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Uint8Array | WeightsFailure> {
    const { origin, tokenFile } = this.#options;
    // Read each time: the kubelet exchanges it. It is not sent on to another host that the hub redirects to.
    const token = tokenFile === undefined ? undefined : (await readFile(tokenFile, 'utf8')).trim();
    const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
    try {
      const response = await fetch(`${origin}${path}`, {
        headers: { ...headers, ...authorization },
        signal: AbortSignal.any([signal, AbortSignal.timeout(tryMs)]),
      });
      if (response.status === 200 || response.status === 206) return new Uint8Array(await response.arrayBuffer());
      await response.body?.cancel();
      return this.#refusal(path, response.status);
    } catch (error) {
      signal.throwIfAborted();
      return new WeightsFailure('Unreachable', `${this.#uri}: ${origin} does not answer: ${(error as Error).message}`, {
        cause: error,
      });
    }
  }

  #refusal(path: string, status: number): WeightsFailure {
    const reported = `${this.#uri}: GET ${path} was answered with ${status}`;
    if (status === 404) return new WeightsFailure('NotFound', `${reported}: correct the model or the revision`);
    if (status === 401 || status === 403)
      return new WeightsFailure('Refused', `${reported}: give spec.modelCache.hub.credential a token that may read it`);
    return new WeightsFailure('Unreachable', reported);
  }
}

/** Bytes of one request: the part that is requested again when a connection breaks. */
const partBytes = 32 * 2 ** 20;

/** Progress of a fetch. */
export interface Progress {
  readonly bytesDone: number;
  readonly bytesTotal: number;
}

interface FetchOptions {
  readonly source: WeightsSource;
  /** Destination folder; files of an earlier try are kept. */
  readonly folder: string;
  readonly onProgress: (progress: Progress) => void;
  readonly signal: AbortSignal;
}

/**
 * Fetches the files of a model into a folder. A file has its name only when it is complete; a partial one is continued,
 * in this process or a later one. Rejects with a WeightsFailure.
 */
export async function fetchWeights({ source, folder, onProgress, signal }: FetchOptions): Promise<void> {
  const files = filesOf(await source.list(signal));
  if (files.length === 0) throw new WeightsFailure('NotFound', 'there is no file of weights: correct the uri');
  const bytesTotal = files.reduce((sum, { bytes }) => sum + bytes, 0);
  let bytesDone = 0;
  const advance = (bytes: number): void => onProgress({ bytesDone: (bytesDone += bytes), bytesTotal });
  advance(0);
  for (const file of files) await fetchFile(file, { source, folder, advance, signal });
}

interface FileFetch {
  readonly source: WeightsSource;
  readonly folder: string;
  readonly advance: (bytes: number) => void;
  readonly signal: AbortSignal;
}

/**
 * Fetches one file. Another run may do the same at the same time, as one that is ended lives on for a while: both write the same
 * bytes to the same places, each without a gap from where it began, and whoever is ready first gives the file its name.
 */
async function fetchFile({ path, bytes }: RemoteFile, { source, folder, advance, signal }: FileFetch): Promise<void> {
  const target = join(folder, path);
  if ((await sizeOf(target)) === bytes) return advance(bytes);
  await mkdir(dirname(target), { recursive: true });
  const part = `${target}.part`;
  await using file = await open(part, constants.O_RDWR | constants.O_CREAT);
  const { size } = await file.stat();
  // A longer part belongs to another file that had the name.
  const start = size <= bytes ? size : 0;
  if (start !== size) await file.truncate(0);
  advance(start);
  for (let at = start; at < bytes;) {
    const chunk = await source.read(path, at, Math.min(bytes, at + partBytes), signal);
    if (chunk.byteLength === 0 || at + chunk.byteLength > bytes)
      throw new WeightsFailure('Unreadable', `${path}: ${chunk.byteLength} bytes came at ${at} of ${bytes}`);
    await writeAt(file, chunk, at);
    at += chunk.byteLength;
    advance(chunk.byteLength);
  }
  await file.sync();
  await rename(part, target).catch(async (error: unknown) => {
    if ((await sizeOf(target)) !== bytes) throw error;
  });
}

async function writeAt(file: FileHandle, chunk: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < chunk.byteLength;) {
    const { bytesWritten } = await file.write(chunk, done, chunk.byteLength - done, position + done);
    done += bytesWritten;
  }
}

async function sizeOf(file: string): Promise<number | undefined> {
  const found = await stat(file).catch(() => undefined);
  return found?.isFile() === true ? found.size : undefined;
}
