import { Results, type TaskName } from '@agentfleet/client/results';
import { isApiError, type Transport } from '@agentfleet/kube';
import type { AgentTask } from '@agentfleet/protocol/api';
import type { AuditRecord } from '@agentfleet/protocol/keeper';
import { resultsApi, type ConversationEntry } from '@agentfleet/protocol/results';
import { isUnknownResource } from '../base/explain.ts';
import { CliError, exitCodes } from '../base/failure.ts';

const nameOf = ({ metadata: { namespace = 'default', name } }: AgentTask): TaskName => ({ namespace, name });

/** Results of tasks, read under the caller's own rights from the API server. */
export class ResultsApi {
  readonly #results: Results;
  readonly #signal: AbortSignal;

  constructor(transport: Transport, signal: AbortSignal) {
    this.#results = new Results(transport);
    this.#signal = signal;
  }

  /** The content of an artifact. @throws CliError */
  async artifact(task: AgentTask, name: string): Promise<Buffer> {
    try {
      return await this.#results.content(nameOf(task), name, this.#signal);
    } catch (error) {
      throw explained(error, task);
    }
  }

  /** Records of the event log, as they come. @throws CliError */
  log(task: AgentTask): AsyncGenerator<AuditRecord> {
    return explaining(task, this.#results.log(nameOf(task), { signal: this.#signal }));
  }

  /** The conversation, as it goes on; pauses and broken connections are gone over while it is followed. @throws CliError */
  conversation(task: AgentTask, { follow = false }: { readonly follow?: boolean } = {}): AsyncGenerator<ConversationEntry> {
    return explaining(task, this.#results.conversation(nameOf(task), { follow, signal: this.#signal }));
  }
}

async function* explaining<T>(task: AgentTask, lines: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* lines;
  } catch (error) {
    throw explained(error, task);
  }
}

/** Ways to read storage without the API. */
const fallback = 'or read the storage itself: --endpoint and --credential-file, or --file with a copy';

/** The same for the user: what of the results API does not work. */
function explained(thrown: unknown, { metadata: { name, namespace = '' } }: AgentTask): unknown {
  const error = thrown instanceof Error ? (thrown.cause ?? thrown) : thrown;
  // A name that would lead elsewhere.
  if (error instanceof RangeError) return new CliError(error.message, exitCodes.notFound);
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
