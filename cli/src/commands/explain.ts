import { expertPools } from '../base/connection.ts';
import { events, findCondition, isApiError, ResourceClient, type KubeEvent } from '@agentfleet/kube';
import { reasons, type AgentTask, type ExpertPool } from '@agentfleet/protocol/api';
import { ageOf, firstLine, quoted } from '../text/format.ts';
import { printable } from '@agentfleet/protocol/text';
import { taskOf, type CommandContext } from './command.ts';
import { idleOperator } from './leader.ts';
import { approvalLines } from './show.ts';

type Condition = NonNullable<NonNullable<AgentTask['status']>['conditions']>[number];

const mostEvents = 5;
/** Conditions whose True a person has to see; of all others it is False or Unknown. */
const badWhenTrue = new Set([
  'Stalled',
  'Suspended',
  'AwaitingApproval',
  'NetworkOpened',
  'Degraded',
  'PlacementConflict',
  'EstimateDrift',
]);
/** Say what others say, or only that it is not over. */
const silent = new Set(['Reconciling', 'Finished', 'RolloutHealthy']);
/** Reasons that only follow from what another condition has. */
const consequent = new Set(['NotAccepted', 'NoSandbox']);
/** Conditions that stop a task, in the order in which it passes them. */
const stages = ['Accepted', 'Scheduled', 'StorageReady', 'SandboxReady'] as const;
/** Reasons that the phase, or the place in the queue, has too. */
const repeated = new Set([...consequent, 'Starting', 'Suspended', 'WaitingForSlot']);

/** The condition that keeps a task from getting on; undefined: none does, or it has ended. Pure. */
export function stageOf({ status }: AgentTask): Condition | undefined {
  if (status?.finished === 'true') return undefined;
  return stages.map((type) => findCondition(status?.conditions, type)).find((one) => one?.status === 'False' && !repeated.has(one.reason));
}

/** Reports whether only a change from outside lets the task go on; a pool whose queue is full is asked again. Pure. */
export function standsStill({ status }: AgentTask): boolean {
  if (status?.finished === 'true') return false;
  const accepted = findCondition(status?.conditions, 'Accepted');
  const refused = accepted?.status === 'False' && meaningOf(accepted.reason).cure !== undefined;
  return refused || findCondition(status?.conditions, 'Stalled')?.status === 'True';
}

/** A reason with its meaning and cure, as the catalogue has it. */
export function meaningOf(reason: string): { readonly meaning?: string; readonly cure?: string } {
  const [meaning, cure]: readonly (string | undefined)[] = Object.hasOwn(reasons, reason) ? reasons[reason as keyof typeof reasons] : [];
  return { ...(meaning === undefined ? {} : { meaning }), ...(cure === undefined ? {} : { cure }) };
}

function speaks({ type, status, reason }: Condition): boolean {
  if (silent.has(type) || consequent.has(reason)) return false;
  // Until it is judged, it has the reason for which the task is not done, as others have.
  if (type === 'Succeeded') return status === 'False';
  return badWhenTrue.has(type) ? status === 'True' : status !== 'True';
}

/** The cure of a reason as a clause; empty where the catalogue has none. */
export function cureOf(reason: string): string {
  const { cure } = meaningOf(reason);
  return cure === undefined ? '' : `; cure: ${cure}`;
}

function reasonLines(what: string, reason: string, message: string): readonly string[] {
  const { meaning, cure } = meaningOf(reason);
  return [
    ...(message === '' ? [`${what}: ${reason}`] : quoted(`${what}: ${reason}, `, message)),
    ...(meaning === undefined ? [] : [`  means: ${meaning}`]),
    ...(cure === undefined ? [] : [`  cure: ${cure}`]),
  ];
}

/** Conditions that a person has to see, each reason once: Ready repeats another condition. */
function conditionsOf(conditions: readonly Condition[], kind: string): readonly string[] {
  const seen = new Set<string>();
  const last = conditions.filter(speaks).sort((a, b) => Number(a.type === 'Ready') - Number(b.type === 'Ready'));
  return last.flatMap(({ type, reason, message }) => {
    if (seen.has(reason)) return [];
    seen.add(reason);
    return reasonLines(`${kind}${type}`, reason, message);
  });
}

function ending({ metadata: { name }, status }: AgentTask): readonly string[] {
  const { outcome } = status?.run ?? {};
  const attempts = (status?.attempts ?? []).flatMap(({ number, class: failure, reason = '' }) =>
    failure === undefined ? [] : reasonLines(`attempt ${number}, ${failure}`, reason, ''),
  );
  const head = `AgentTask ${name} has ended: ${status?.phase ?? ''}`;
  const undelivered = findCondition(status?.conditions, 'Delivered');
  if (status?.phase === 'Succeeded')
    return [head, ...(undelivered?.status === 'False' ? reasonLines('Delivered', undelivered.reason, undelivered.message) : [])];
  return [head, ...attempts, ...(outcome === undefined ? [] : reasonLines('outcome', outcome.reason, outcome.message ?? ''))];
}

/** Lines about the pool of a task; `Hidden`: the caller may not see it. */
function poolLines({ spec, metadata }: AgentTask, pool: ExpertPool | 'Hidden' | undefined): readonly string[] {
  const { name = '', namespace = metadata.namespace ?? '' } = spec.poolRef ?? {};
  if (pool === undefined) return [];
  if (pool === 'Hidden')
    return [
      `pool ${name}: you may not get expertpools in namespace ${namespace}, so its state is not known`,
      `  cure: ask whoever administers namespace ${namespace} for a RoleBinding to the ClusterRole agentfleet-viewer there`,
    ];
  const { status } = pool;
  const isReady = status?.conditions?.find(({ type }) => type === 'Ready')?.status === 'True';
  return [
    `pool ${name}: ${isReady ? 'Ready' : 'not ready'}, ${status?.running ?? 0} run, ${status?.queued ?? 0} wait, ${status?.workers?.ready ?? 0} workers ready`,
    ...(isReady ? [] : conditionsOf(status?.conditions ?? [], `pool ${name} `)),
  ];
}

/** Explains why a task is where it is, and what helps; pure. `pool` undefined: it is not there; `Hidden`: it may not be looked at. */
function explanation(
  task: AgentTask,
  pool: ExpertPool | 'Hidden' | undefined,
  recent: readonly KubeEvent[],
  now: number,
): readonly string[] {
  const { metadata, status } = task;
  const { name } = metadata;
  const ended = status?.finished === 'true';
  const place = status?.queue?.position;
  const head = ended ? ending(task) : [`AgentTask ${name} is ${status?.phase ?? 'Pending'}, for ${ageOf(metadata.creationTimestamp, now)}`];
  const waits = approvalLines(task, now);
  const { message: progress = '' } = (ended ? undefined : status?.run?.progress) ?? {};
  const unanswered =
    status?.conditions === undefined ? ['the operator has not looked at it', '  cure: see whether it runs with "fleet doctor"'] : [];
  const warned = recent
    .filter(({ type }) => type === 'Warning')
    .slice(-mostEvents)
    .map(({ reason, note, eventTime }) => `event ${ageOf(eventTime ?? undefined, now)} ago: ${reason}, ${firstLine(note ?? '')}`);
  return [
    ...head,
    ...(waits.length > 0 ? ['it waits for you:', ...waits.map((line) => `  ${line}`)] : []),
    ...(progress === '' ? [] : [`progress: ${printable(progress)}`]),
    ...(place === undefined || ended ? [] : [`${place} tasks are before it in the queue of the pool`]),
    ...unanswered,
    ...(ended
      ? []
      : conditionsOf(
          (status?.conditions ?? []).filter(({ reason }) => waits.length === 0 || reason !== 'AwaitingApproval'),
          '',
        )),
    ...(ended ? [] : poolLines(task, pool)),
    ...warned,
  ];
}

/** Returns undefined for what is not there, `Hidden` for what the caller may not see. */
async function visible<T>(asked: Promise<T>): Promise<T | 'Hidden' | undefined> {
  return asked.catch((error: unknown) => {
    if (isApiError(error) && error.code === 403) return 'Hidden';
    if (isApiError(error) && error.code === 404) return undefined;
    throw error;
  });
}

/** Events about a task, oldest first; none where the caller may not see them. */
export async function eventsOf({ transport, signal }: CommandContext, { metadata }: AgentTask): Promise<readonly KubeEvent[]> {
  const { namespace = 'default', name, uid } = metadata;
  const fieldSelector = `regarding.name=${name}`;
  const seen = (await visible(new ResourceClient(transport, events).list({ namespace, fieldSelector, signal }))) ?? [];
  const found = seen === 'Hidden' ? [] : seen;
  const when = (event: KubeEvent): string => event.eventTime ?? event.metadata.creationTimestamp ?? '';
  return found.filter(({ regarding }) => regarding.uid === undefined || regarding.uid === uid).sort((a, b) => (when(a) < when(b) ? -1 : 1));
}

/** Prints why a task waits, or why it stopped. */
export async function explainTask(context: CommandContext, name: string): Promise<void> {
  const { transport, signal, clock } = context;
  const task = await taskOf(context, name);
  const { name: pool, namespace = task.metadata.namespace ?? context.namespace } = task.spec.poolRef ?? {};
  const found =
    pool === undefined ? undefined : await visible(new ResourceClient(transport, expertPools).get({ namespace, name: pool }, { signal }));
  const idle = task.status?.finished === 'true' ? undefined : await idleOperator(context);
  if (idle !== undefined) context.print(idle);
  for (const line of explanation(task, found, await eventsOf(context, task), clock.now())) context.print(line);
}
