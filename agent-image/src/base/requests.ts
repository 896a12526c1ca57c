import { Backoff, sleep, type Clock, type Random } from '@agentfleet/kube';

/** One try: what it gave; or its failure, and when to try again at the earliest, ms (undefined: not at all). */
export type Try<T, F extends object = { readonly failure: Error }> = { readonly value: T } | (F & { readonly retryMs: number | undefined });

interface RetryOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly maxWaitMs: number;
  readonly signal?: AbortSignal | undefined;
  readonly onRetry?: (failure: Error, waitMs: number) => void;
}

const pauses = { baseMs: 250, factor: 2, capMs: 4000, jitter: 0.5, resetMs: 60_000 };

/** Repeats a request while its failure may pass. Rejects with the last failure, or the signal's reason. */
export async function retried<T>(attempt: () => Promise<Try<T>>, options: RetryOptions): Promise<T> {
  const { clock, random, maxWaitMs, signal, onRetry } = options;
  const backoff = new Backoff(pauses, clock, random);
  let until: number | undefined;
  for (;;) {
    signal?.throwIfAborted();
    const tried = await attempt();
    if ('value' in tried) return tried.value;
    signal?.throwIfAborted();
    const wait = Math.max(tried.retryMs ?? 0, backoff.next());
    until ??= clock.monotonic() + maxWaitMs;
    if (tried.retryMs === undefined || clock.monotonic() + wait > until) throw tried.failure;
    onRetry?.(tried.failure, Math.round(wait));
    await sleep(clock, wait, signal);
  }
}

/** Collects a body. @throws what `tooLarge` returns, as soon as it has more than `maxBytes` */
export async function bytesWithin(maxBytes: number, body: AsyncIterable<Uint8Array>, tooLarge: (bytes: number) => Error): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw tooLarge(bytes);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Collects the beginning of a body, at most `maxBytes`; `cut`: there is more. */
export async function beginningOf(
  maxBytes: number,
  body: AsyncIterable<unknown> | null,
): Promise<{ readonly body: Buffer; readonly cut: boolean }> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of body ?? []) {
    const bytes = Buffer.from(part as Uint8Array);
    parts.push(bytes.subarray(0, maxBytes - size));
    size += bytes.length;
    if (size > maxBytes) return { body: Buffer.concat(parts), cut: true };
  }
  return { body: Buffer.concat(parts), cut: false };
}

/** Like {@link bytesWithin}, as UTF-8. */
export async function textWithin(maxBytes: number, body: AsyncIterable<Uint8Array>, tooLarge: (bytes: number) => Error): Promise<string> {
  return (await bytesWithin(maxBytes, body, tooLarge)).toString('utf8');
}

/** Reads a `Retry-After` of seconds; 0 for another one, or none. */
export function retryAfterMs(header: string | readonly string[] | null | undefined): number {
  const seconds = Number(header ?? 0);
  return Number.isFinite(seconds) ? Math.max(0, seconds) * 1000 : 0;
}
