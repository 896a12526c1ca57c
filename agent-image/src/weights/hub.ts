import { readFile } from 'node:fs/promises';
import { sleep, type Clock } from '@agentfleet/kube';
import { WeightsFailure } from './failure.ts';
import type { RemoteFile, WeightsSource } from './source.ts';

export interface HubOptions {
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
    if (!Array.isArray(siblings)) throw new WeightsFailure('Unreadable', `${this.#uri}: the hub told no list of files`);
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
    const told = `${this.#uri}: GET ${path} was answered with ${status}`;
    if (status === 404) return new WeightsFailure('NotFound', `${told}: correct the model or the revision`);
    if (status === 401 || status === 403)
      return new WeightsFailure('Refused', `${told}: give spec.modelCache.hub.credential a token that may read it`);
    return new WeightsFailure('Unreachable', told);
  }
}
