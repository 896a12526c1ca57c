import type { FastifyInstance } from 'fastify';
import { apiVersion, type AgentTask, type ExpertPool } from '@agentfleet/protocol/api';
import { collectionPath, events, isApiError, objectPath, type KubeEvent, type Transport } from '@agentfleet/kube';
import { loadManifest } from '@agentfleet/kube/manifests';
import { DashboardError } from '../base/failure.ts';
import { isName, resources } from '../base/resources.ts';
import type { OrderRequest, TaskDetail, TaskEvent } from '../base/wire.ts';
import { callerOf, type Context, placeOf } from './context.ts';

const manager = 'agentfleet-dashboard';

const read = <T>(transport: Transport, path: string, query: Readonly<Record<string, string>> = {}): Promise<T> =>
  transport.request<T>({ method: 'GET', path, query, retry: false, timeoutMs: 15_000 });

function eventOf({ type, reason, note = '', eventTime, metadata, series }: KubeEvent): TaskEvent {
  return { type, reason, note, at: eventTime ?? metadata.creationTimestamp ?? '', count: series?.count ?? 1 };
}

async function detailOf(transport: Transport, place: { readonly namespace: string; readonly name: string }): Promise<TaskDetail> {
  const task = await read<AgentTask>(transport, objectPath(resources.AgentTask, place));
  const notes: string[] = [];
  const found = await read<{ items: KubeEvent[] }>(transport, collectionPath(events, place.namespace), {
    fieldSelector: `regarding.name=${place.name}`,
  }).catch((error: unknown) => {
    notes.push(isApiError(error) && error.code === 403 ? 'You may not read events of this namespace.' : 'Events could not be read.');
    return { items: [] };
  });
  const own = found.items.filter(({ regarding }) => regarding.uid === undefined || regarding.uid === task.metadata.uid);
  return { task, events: own.map(eventOf).sort((a, b) => (a.at < b.at ? -1 : 1)), notes };
}

const orderTypes = ['Approve', 'Reject', 'Answer', 'Message', 'Cancel'] as const;

/** Fields of an order that are texts and given. The API server checks which of them go together. */
function orderOf(body: unknown): OrderRequest {
  const { type, action, message, snapshot, reason } = (body ?? {}) as Readonly<Record<string, unknown>>;
  const known = orderTypes.find((one) => one === type);
  if (known === undefined)
    throw new DashboardError(400, 'AF_DASHBOARD_ORDER', 'type names no order', `Use one of ${orderTypes.join(', ')}`);
  const texts = Object.entries({ action, message, snapshot, reason }).filter(([, value]) => typeof value === 'string' && value !== '');
  return { type: known, ...Object.fromEntries(texts) };
}

/** Returns the fields of a task that people change. Everything else of a spec is for kubectl. */
function changeOf(body: unknown): { readonly suspend?: boolean; readonly cancel?: string } {
  const { suspend, cancel } = (body ?? {}) as Readonly<Record<string, unknown>>;
  const modes = ['Stop', 'Rollback', 'Terminate'];
  if (typeof suspend === 'boolean') return { suspend };
  if (typeof cancel === 'string' && modes.includes(cancel)) return { cancel };
  throw new DashboardError(
    400,
    'AF_DASHBOARD_CHANGE',
    'nothing that can be changed here is named',
    `Send suspend: true or false, or cancel: ${modes.join(', ')}`,
  );
}

/** A task out of YAML. @throws DashboardError that names what is wrong */
export function taskOf(text: unknown): AgentTask & { readonly metadata: { readonly namespace: string } } {
  const refuse = (message: string, cure: string): never => {
    throw new DashboardError(400, 'AF_DASHBOARD_MANIFEST', message, cure);
  };
  if (typeof text !== 'string') return refuse('yaml is missing', 'Send the manifest as yaml');
  let parsed: unknown;
  try {
    parsed = loadManifest(text);
  } catch (error) {
    return refuse(
      `the YAML cannot be read: ${error instanceof Error ? error.message.split('\n')[0] : ''}`,
      'Correct the line that is named',
    );
  }
  const { apiVersion: version, kind, metadata } = (parsed ?? {}) as Partial<AgentTask>;
  if (version !== apiVersion || kind !== 'AgentTask')
    return refuse('the manifest is no AgentTask', `Begin it with apiVersion: ${apiVersion} and kind: AgentTask`);
  if (!isName(metadata?.namespace) || !isName(metadata.name))
    return refuse('metadata.name or metadata.namespace is no name', 'Use lower case letters, digits and -');
  return parsed as AgentTask & { readonly metadata: { readonly namespace: string } };
}

/** Reads and writes of tasks, each with the rights of the caller. */
export function taskRoutes(app: FastifyInstance, context: Context): void {
  app.get('/api/tasks/:namespace/:name', async (request) => {
    const { user } = await callerOf(context, request);
    return detailOf(user.transport, placeOf(request));
  });

  app.post('/api/tasks', async (request, reply) => {
    const { user } = await callerOf(context, request);
    const { yaml, dryRun } = (request.body ?? {}) as { readonly yaml?: unknown; readonly dryRun?: unknown };
    const task = taskOf(yaml);
    const created = await user.transport.request<AgentTask>({
      method: 'POST',
      path: collectionPath(resources.AgentTask, task.metadata.namespace),
      query: { fieldManager: manager, fieldValidation: 'Strict', ...(dryRun === true ? { dryRun: 'All' } : {}) },
      body: task,
      retry: false,
    });
    return reply.code(201).send({ namespace: created.metadata.namespace, name: created.metadata.name });
  });

  app.patch('/api/tasks/:namespace/:name', async (request) => {
    const { user } = await callerOf(context, request);
    const changed = await user.transport.request<AgentTask>({
      method: 'PATCH',
      path: objectPath(resources.AgentTask, placeOf(request)),
      query: { fieldManager: manager },
      contentType: 'application/merge-patch+json',
      body: { spec: changeOf(request.body) },
      retry: false,
    });
    return { version: changed.metadata.resourceVersion };
  });
}

/** Orders: about tasks, and about rollouts of pools and models. Their requester is whom the API server knows the caller as. */
export function orderRoutes(app: FastifyInstance, context: Context): void {
  const give = async (transport: Transport, namespace: string, name: string, spec: object): Promise<{ name: string }> => {
    const created = await transport.request<ExpertPool>({
      method: 'POST',
      path: collectionPath(resources.AgentTaskOrder, namespace),
      query: { fieldManager: manager, fieldValidation: 'Strict' },
      body: { apiVersion, kind: 'AgentTaskOrder', metadata: { generateName: `${name.slice(0, 200)}-`, namespace }, spec },
      retry: false,
    });
    return { name: created.metadata.name };
  };

  app.post('/api/tasks/:namespace/:name/orders', async (request, reply) => {
    const { user } = await callerOf(context, request);
    const { namespace, name } = placeOf(request);
    const order = orderOf(request.body);
    const spec = { ...order, taskRef: { name }, requester: user.name };
    return reply.code(201).send(await give(user.transport, namespace, `${name}-${order.type.toLowerCase()}`, spec));
  });

  app.post('/api/rollouts/:kind/:namespace/:name/orders', async (request, reply) => {
    const { user } = await callerOf(context, request);
    const { namespace, name } = placeOf(request);
    const { kind } = request.params as { readonly kind: string };
    const { type, reason } = orderOf(request.body);
    const { revision } = (request.body ?? {}) as { readonly revision?: unknown };
    const spec = { type, ...(reason === undefined ? {} : { reason }), rolloutRef: { kind, name }, revision, requester: user.name };
    return reply.code(201).send(await give(user.transport, namespace, `${name}-${type.toLowerCase()}`, spec));
  });
}
