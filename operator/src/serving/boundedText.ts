// operator, serving: HTTP read of a text with a bound on its length. May import runtime, placement, kube and protocol.

/** Request by HTTP: `what` names its subject in words, `most` is the longest answer that is read, bytes. */
interface BoundedQuestion {
  readonly url: string;
  readonly what: string;
  readonly most: number;
  /** Value of the `Authorization` header. */
  readonly authorization?: string | undefined;
  /** Advice for an answer that is too long. */
  readonly cure?: string;
}

/**
 * The text of an answer. It is bounded, and redirects are not followed: what runs elsewhere is not ours to trust. Rejects
 * when there is no answer, another status than success, or too much of it.
 */
export async function boundedText({ url, what, most, authorization, cure }: BoundedQuestion, signal: AbortSignal): Promise<string> {
  const response = await fetch(url, { signal, redirect: 'error', headers: authorization === undefined ? {} : { authorization } });
  if (!response.ok || response.body === null) throw new Error(`${what} was answered with ${response.status}`);
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    length += chunk.length;
    if (length > most) throw new Error(`the answer to ${what} is longer than ${most} bytes${cure === undefined ? '' : `; ${cure}`}`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
