import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { isApiError, linesOf, sleep, systemClock, type Transport } from '@agentfleet/kube';
import type { AgentTask } from '@agentfleet/protocol/api';
import type { AuditRecord } from '@agentfleet/protocol/keeper';
import { resultsApi, resultsPath, type ConversationEntry, type ResultsPart } from '@agentfleet/protocol/results';
import { isUnknownResource } from '../base/explain.ts';
import { CliError, exitCodes } from '../base/failure.ts';

/** Beginning and end of a stream. */
interface StreamOptions {
  readonly since?: number;
  readonly follow?: boolean;
}

const nameOf = ({ metadata: { namespace = 'default', name } }: AgentTask): { readonly namespace: string; readonly name: string } => ({
  namespace,
  name,
});

/** Results of tasks, read under the caller's own rights from the API server. */
export class ResultsApi {
  readonly #transport: Transport;
  readonly #signal: AbortSignal;

  constructor(transport: Transport, signal: AbortSignal) {
    this.#transport = transport;
    this.#signal = signal;
  }

  /** The content of an artifact. @throws CliError */
  async artifact(task: AgentTask, name: string): Promise<Buffer> {
    const body = await this.#open(task, 'artifacts', {}, name);
    return buffer(body);
  }

  /** Records of the event log, as they come. @throws CliError */
  async *log(task: AgentTask, options: StreamOptions = {}): AsyncGenerator<AuditRecord> {
    for await (const line of this.#lines(task, 'log', options)) yield JSON.parse(line) as AuditRecord;
  }

  /**
   * The conversation, as it goes on; pauses of the server are gone over, and so are connections that break while it is followed.
   *
   * @throws CliError
   */
  async *conversation(task: AgentTask, { since = 0, follow = false }: StreamOptions = {}): AsyncGenerator<ConversationEntry> {
    let newest = since;
    let heard = false;
    let broken = 0;
    for (let more = true; more;) {
      more = false;
      try {
        for await (const line of this.#lines(task, 'conversation', { since: newest, follow })) {
          const entry = JSON.parse(line) as ConversationEntry;
          newest = Math.max(newest, entry.seq);
          heard = true;
          broken = 0;
          more = follow && entry.type === 'Pause';
          if (entry.type !== 'Pause') yield entry;
        }
      } catch (error) {
        broken += 1;
        // An error before the first entry is thrown at once.
        if (!follow || !heard || isLasting(error) || broken > mostBroken) throw error;
        more = await sleep(systemClock, firstPauseMs * 2 ** (broken - 1), this.#signal);
      }
    }
  }

  async *#lines(task: AgentTask, part: ResultsPart, options: StreamOptions): AsyncGenerator<string> {
    yield* linesOf(await this.#open(task, part, options));
  }

  async #open(task: AgentTask, part: ResultsPart, { since, follow }: StreamOptions, artifact?: string): Promise<Readable> {
    let path: string;
    try {
      path = resultsPath(nameOf(task), part, artifact);
    } catch (error) {
      throw new CliError(error instanceof Error ? error.message : String(error), exitCodes.notFound);
    }
    try {
      const query = { ...(since !== undefined && since > 0 && { since }), ...(follow === true && { follow }) };
      const { body } = await this.#transport.stream({ method: 'GET', path, query, signal: this.#signal, accept: '*/*', lane: 'watch' });
      return Readable.from(body);
    } catch (error) {
      throw explained(error, task);
    }
  }
}

/** Connections that break one after another, and the first pause before another one, ms: a minute in all. */
const [mostBroken, firstPauseMs] = [6, 1_000];

/** Reports whether another try is in vain. */
function isLasting(error: unknown): boolean {
  return error instanceof CliError && error.exitCode !== exitCodes.unavailable;
}

/** Ways to read storage without the API. */
const fallback = 'or read the storage itself: --endpoint and --credential-file, or --file with a copy';

/** The same for the user: what of the results API does not work. */
function explained(error: unknown, { metadata: { name, namespace = '' } }: AgentTask): unknown {
  if (!isApiError(error)) return error;
  const message = error.message.trim();
  if (isUnknownResource(error) || message.includes('there is nothing at this path'))
    return new CliError(
      `the cluster does not serve the results API ${resultsApi.apiVersion} of this fleet; switch it on in the chart (results.enabled; without an aggregation layer results.aggregation=false) or upgrade it, ${fallback}`,
      exitCodes.unavailable,
    );
  if (error.code === 403)
    return new CliError(
      `you may not read results of AgentTask ${name} (${message}); ask for the ClusterRole agentfleet-viewer in namespace ${namespace}`,
      exitCodes.forbidden,
    );
  if (error.code === 404) return new CliError(wordsOf(message), exitCodes.notFound);
  if (error.code >= 500)
    return new CliError(`results cannot be read now: ${wordsOf(message)}; see "fleet doctor", ${fallback}`, exitCodes.unavailable);
  return error;
}

/** The server's message, without the request that stands before it. */
function wordsOf(message: string): string {
  return message.replace(/^GET \S+: \d+ \w+: /, '');
}
