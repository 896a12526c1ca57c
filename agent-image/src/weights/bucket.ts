import { StoreFailure, S3Client, S3Store, locate, type S3StoreOptions } from '../store/index.ts';
import { WeightsFailure } from './failure.ts';
import type { RemoteFile, WeightsSource } from './source.ts';

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
