import { createHash } from 'node:crypto';
import { isApiError, linesOf, sleep, systemClock, type Transport } from '@agentfleet/kube';
import type { AuditRecord } from '@agentfleet/protocol/keeper';
import { resultsPath, type ArtifactList, type ConversationEntry, type ResultsPart } from '@agentfleet/protocol/results';
import { asFleetError, FleetError } from './errors.ts';
import type { Artifact, LineOptions } from './public.ts';

export interface TaskName {
  readonly namespace: string;
  readonly name: string;
}

/** The results API of a cluster. */
export class Results {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  async artifacts(task: TaskName, signal?: AbortSignal): Promise<readonly Artifact[]> {
    try {
      const answer = await this.#transport.request<ArtifactList>({ method: 'GET', path: resultsPath(task, 'artifacts'), signal });
      return answer.items;
    } catch (error) {
      throw failure(error);
    }
  }

  /** @throws FleetError AF_CLIENT_ARTIFACT_DAMAGED when it does not match the list */
  async artifact(task: TaskName, name: string, signal?: AbortSignal): Promise<Uint8Array> {
    const listed = (await this.artifacts(task, signal)).find((one) => one.name === name);
    if (listed === undefined) throw new FleetError('AF_CLIENT_NOT_FOUND', `AgentTask ${task.name} has no artifact ${name}`);
    const bytes = await this.content(task, name, signal);
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    if (sha256 === listed.sha256) return bytes;
    throw new FleetError(
      'AF_CLIENT_ARTIFACT_DAMAGED',
      `artifact ${name} of AgentTask ${task.name} has the SHA-256 ${sha256}, not ${listed.sha256}`,
    );
  }

  /** The content of an artifact, held against nothing. @throws FleetError */
  async content(task: TaskName, name: string, signal?: AbortSignal): Promise<Buffer> {
    const parts: Uint8Array[] = [];
    for await (const part of this.#bytes(task, 'artifacts', { signal }, name)) parts.push(part);
    return Buffer.concat(parts);
  }

  /**
   * The conversation. One answer of the server ends after a while, and is asked to go on; so is one whose connection breaks while the
   * conversation is followed, up to six times in a row.
   */
  async *conversation(task: TaskName, options: LineOptions): AsyncGenerator<ConversationEntry, void, undefined> {
    const { follow = false, signal = new AbortController().signal } = options;
    let { since } = options;
    let broken = 0;
    for (let more = true; more && !signal.aborted;) {
      more = false;
      try {
        for await (const line of this.#lines<ConversationEntry>(task, 'conversation', { ...options, since })) {
          since = line.seq;
          broken = 0;
          more = line.type === 'Pause';
          if (line.type !== 'Pause') yield line;
        }
      } catch (error) {
        broken += 1;
        // A conversation of which no line has arrived yet is not retried: the error is thrown at once.
        if (!follow || since === options.since || isLasting(error) || broken > mostBroken) throw error;
        more = await sleep(systemClock, firstPauseMs * 2 ** (broken - 1), signal);
      }
    }
  }

  /** Records of the event log, as they come. */
  log(task: TaskName, options: LineOptions): AsyncGenerator<AuditRecord & Readonly<Record<string, unknown>>, void, undefined> {
    return this.#lines(task, 'log', options);
  }

  async *#lines<T>(task: TaskName, part: ResultsPart, options: LineOptions): AsyncGenerator<T, void, undefined> {
    try {
      for await (const line of linesOf(this.#bytes(task, part, options))) yield JSON.parse(line) as T;
    } catch (error) {
      if (options.signal?.aborted !== true) throw error;
    }
  }

  async *#bytes(task: TaskName, part: ResultsPart, options: LineOptions, artifact?: string): AsyncGenerator<Uint8Array, void, undefined> {
    const { since, follow, signal } = options;
    const query = { since, follow: follow === true ? true : undefined };
    try {
      const path = resultsPath(task, part, artifact);
      const stream = await this.#transport.stream({ method: 'GET', path, query, accept: '*/*', signal, lane: 'watch' });
      try {
        yield* stream.body;
      } finally {
        stream.close();
      }
    } catch (error) {
      throw failure(error);
    }
  }
}

/** Connections that break one after another, and the first pause before another one, ms: a minute in all. */
const [mostBroken, firstPauseMs] = [6, 1_000];

/** Reports whether a retry is useless. */
function isLasting(error: unknown): boolean {
  return error instanceof FleetError && error.status !== undefined && error.status < 500 && error.status !== 429;
}

/** Without a registered results API the API server does not know the path; an unavailable server answers 503. */
function failure(error: unknown): FleetError {
  const known = asFleetError(error);
  const missing = known.code === 'AF_CLIENT_NOT_INSTALLED' || (isApiError(error) && error.code === 503);
  return missing ? new FleetError('AF_CLIENT_RESULTS_MISSING', 'the results API does not answer', { cause: error }) : known;
}
