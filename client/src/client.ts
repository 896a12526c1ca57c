import { callerName, defineResource, ResourceClient, sleep, systemClock, type Transport } from '@agentfleet/kube';
import { apiVersion, agentTask, agentTaskOrder } from '@agentfleet/protocol/api';
import { FleetError, asFleetErrors } from './errors.ts';
import { followTask, pendingOf } from './follow.ts';
import type {
  Artifact,
  CancelMode,
  ConversationLine,
  DecideOptions,
  FleetClient,
  FollowOptions,
  LineOptions,
  ListOptions,
  NewTask,
  OrderOptions,
  TaskUpdate,
} from './public.ts';
import { Results } from './results.ts';
import type { AgentTask, AgentTaskOrder, AgentTaskOrderSpec } from './types.ts';

const tasks = defineResource<AgentTask>(apiVersion, agentTask.kind, agentTask.plural);
const orders = defineResource<AgentTaskOrder>(apiVersion, agentTaskOrder.kind, agentTaskOrder.plural);
const fieldManager = 'agentfleet-client';
const pollMs = 250;

/** The client on one transport. */
export class ClusterClient implements FleetClient {
  readonly namespace: string;
  readonly #transport: Transport;
  readonly #tasks: ResourceClient<AgentTask>;
  readonly #orders: ResourceClient<AgentTaskOrder>;
  readonly #results: Results;

  constructor(transport: Transport, namespace: string) {
    this.namespace = namespace;
    this.#transport = transport;
    this.#tasks = new ResourceClient<AgentTask>(transport, tasks);
    this.#orders = new ResourceClient<AgentTaskOrder>(transport, orders);
    this.#results = new Results(transport);
  }

  in(namespace: string): FleetClient {
    return new ClusterClient(this.#transport, namespace);
  }

  close(): Promise<void> {
    return this.#transport.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  create({ metadata, spec }: NewTask, signal?: AbortSignal): Promise<AgentTask> {
    const task = { metadata: { ...metadata, namespace: this.namespace }, spec } as unknown as AgentTask;
    return asFleetErrors(() => this.#tasks.create(task, { fieldManager, ...(signal && { signal }) }));
  }

  get(name: string, signal?: AbortSignal): Promise<AgentTask> {
    return asFleetErrors(() => this.#tasks.get({ namespace: this.namespace, name }, { ...(signal && { signal }) }));
  }

  list({ labelSelector, signal }: ListOptions = {}): Promise<readonly AgentTask[]> {
    const options = { namespace: this.namespace, ...(labelSelector !== undefined && { labelSelector }), ...(signal && { signal }) };
    return asFleetErrors(() => this.#tasks.list(options));
  }

  async delete(name: string, signal?: AbortSignal): Promise<void> {
    await asFleetErrors(() => this.#tasks.delete({ namespace: this.namespace, name }, { ...(signal && { signal }) }));
  }

  follow(name: string, { since, signal }: FollowOptions = {}): AsyncGenerator<TaskUpdate, void, undefined> {
    return followTask({ transport: this.#transport, resource: tasks, namespace: this.namespace, name, since, signal });
  }

  async finished(name: string, options: FollowOptions = {}): Promise<AgentTask> {
    let last: AgentTask | undefined;
    for await (const { task } of this.follow(name, options)) last = task;
    if (last?.status?.finished === 'true') return last;
    options.signal?.throwIfAborted();
    return this.get(name, options.signal);
  }

  approve(name: string, options: DecideOptions = {}): Promise<AgentTaskOrder> {
    return this.#decide('Approve', name, options);
  }

  reject(name: string, options: DecideOptions = {}): Promise<AgentTaskOrder> {
    return this.#decide('Reject', name, options);
  }

  answer(name: string, message: string, options: DecideOptions = {}): Promise<AgentTaskOrder> {
    return this.#decide('Answer', name, options, message);
  }

  message(name: string, message: string, options: OrderOptions = {}): Promise<AgentTaskOrder> {
    return this.#order({ taskRef: { name }, type: 'Message', message }, options);
  }

  cancel(name: string, mode: CancelMode = 'Rollback', signal?: AbortSignal): Promise<AgentTask> {
    const patch = { spec: { cancel: mode } };
    return asFleetErrors(() => this.#tasks.patch({ namespace: this.namespace, name }, patch, { fieldManager, ...(signal && { signal }) }));
  }

  artifacts(name: string, signal?: AbortSignal): Promise<readonly Artifact[]> {
    return this.#results.artifacts({ namespace: this.namespace, name }, signal);
  }

  artifact(name: string, file: string, signal?: AbortSignal): Promise<Uint8Array> {
    return this.#results.artifact({ namespace: this.namespace, name }, file, signal);
  }

  conversation(name: string, options: LineOptions = {}): AsyncGenerator<ConversationLine, void, undefined> {
    return this.#results.conversation({ namespace: this.namespace, name }, options);
  }

  log(name: string, options: LineOptions = {}): AsyncGenerator<Readonly<Record<string, unknown>>, void, undefined> {
    return this.#results.log({ namespace: this.namespace, name }, options);
  }

  async #decide(type: 'Approve' | 'Reject' | 'Answer', name: string, options: DecideOptions, message?: string): Promise<AgentTaskOrder> {
    const task = await this.get(name, options.signal);
    const pending = pendingOf(task);
    const { action = pending?.action } = options;
    if (pending === undefined || action !== pending.action) {
      const why = task.status?.finished === 'true' ? 'has ended' : `is ${task.status?.phase ?? 'Pending'}, and no such decision waits`;
      throw new FleetError('AF_CLIENT_NOTHING_WAITS', `AgentTask ${name} ${why}`);
    }
    const isQuestion = pending.kind === 'Question';
    if ((type === 'Approve' && isQuestion) || (type === 'Answer' && !isQuestion)) {
      const verbs = isQuestion ? 'answer it, or reject it' : 'approve or reject it';
      throw new FleetError(
        'AF_CLIENT_NOTHING_WAITS',
        `AgentTask ${name} waits with ${isQuestion ? 'a question' : 'an act or a review'}: ${verbs}`,
      );
    }
    return this.#order({ taskRef: { name }, type, action, ...(message !== undefined && { message }) }, options);
  }

  /** Orders are in the caller's own name: a policy of the cluster refuses others. */
  async #order(
    order: Omit<AgentTaskOrderSpec, 'requester'>,
    { reason, timeoutSeconds = 30, signal }: OrderOptions,
  ): Promise<AgentTaskOrder> {
    const requester = await asFleetErrors(() => callerName(this.#transport, { signal }));
    if (requester === '') throw new FleetError('AF_CLIENT_UNAUTHENTICATED', 'the API server does not say who the caller is');
    const metadata = { generateName: `${order.taskRef?.name ?? ''}-${order.type.toLowerCase()}-`, namespace: this.namespace };
    const spec = { ...order, requester, ...(reason !== undefined && { reason }) };
    const created = await asFleetErrors(() =>
      this.#orders.create({ metadata, spec } as unknown as AgentTaskOrder, { fieldManager, ...(signal && { signal }) }),
    );
    const end = systemClock.monotonic() + timeoutSeconds * 1000;
    const { name } = created.metadata;
    for (
      let found = created;
      ;
      found = await asFleetErrors(() => this.#orders.get({ namespace: this.namespace, name }, { ...(signal && { signal }) }))
    ) {
      const { state, message = '' } = found.status ?? {};
      if (state === 'Refused') throw new FleetError('AF_CLIENT_REFUSED', `AgentTaskOrder ${name}: ${message}`);
      if (state !== undefined || timeoutSeconds === 0) return found;
      const late = `AgentTaskOrder ${name} has no answer after ${timeoutSeconds} s`;
      if (systemClock.monotonic() >= end) throw new FleetError('AF_CLIENT_TIMEOUT', late);
      if (!(await sleep(systemClock, pollMs, signal ?? new AbortController().signal))) throw new FleetError('AF_CLIENT_TIMEOUT', late);
    }
  }
}
