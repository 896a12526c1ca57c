import { findCondition, keyOf } from '@agentfleet/kube';
import {
  fromMicros,
  isForRepository,
  toMicros,
  usualPolicyProfiles,
  type AgentTask,
  type Credential,
  type ExpertPool,
  type Reason,
} from '@agentfleet/protocol/api';
import { consentCovers } from '@agentfleet/protocol/trace';
import { gatewayCredentials } from '../../pools/resolve.ts';
import { remainingOf, emptyBook, excessOf } from '../../pools/spending.ts';
import { networkOpened, openedMessage } from './sandbox/state.ts';
import {
  sandboxNotAllowed,
  isolationFloor,
  handlerOffered,
  hasOwnUsers,
  runtimeClassOf,
  userMode,
  userNamespaces,
  type SandboxNeeds,
  mergedTemplate,
} from './sandbox/capabilities.ts';
import type { Snapshot, Refusal } from './facts/snapshot.ts';
import { unusableQueue } from './queue/quota.ts';
import { createAddressJudge, literalAddress } from '@agentfleet/protocol/network';
import type { IsolationLevel } from '@agentfleet/protocol/keeper';

/**
 * Returns the reason for which the pool does not take the task; undefined when it does. `mustWait`: there is no room for it now, so it
 * would make the queue longer. Pure.
 */
export function refusalOf(snapshot: Snapshot, mustWait: boolean): Refusal | undefined {
  const { resolution } = snapshot;
  if (resolution.pool === undefined) {
    const { reason, message } = resolution;
    return { reason, message, stalled: false };
  }
  const { pool } = resolution;
  const lasting =
    withoutKueue(snapshot) ??
    overBudget(snapshot, pool) ??
    overCap(snapshot, pool) ??
    unlistedInSandbox(snapshot, pool) ??
    overDeadline(snapshot, pool) ??
    overConsent(snapshot, pool) ??
    belowFloor(snapshot, pool) ??
    openedWall(snapshot, pool) ??
    unsupported(snapshot, pool, isolationFloor(snapshot, pool)) ??
    unknownNeed(snapshot, pool);
  return lasting ?? (mustWait ? queueFull(snapshot, pool) : undefined);
}

/** Label of what Velero made again: it leaves out the status unless the restore asks for it. */
const restoredLabel = 'velero.io/restore-name';

/**
 * Refuses a task that was restored without its status: it may have ended, or been at work, when it was saved, and would push once more. One
 * whose status was restored goes on, and so does one without the label. Pure.
 */
export function restoredRefusal({ task: { metadata, status } }: Pick<Snapshot, 'task'>): Refusal | undefined {
  const reason = 'RestoredWithoutStatus';
  if (metadata.labels?.[restoredLabel] === undefined) return undefined;
  if (status?.conditions !== undefined && findCondition(status.conditions, 'Accepted')?.reason !== reason) return undefined;
  const message = `Velero restored the task without its status, so it may have run, or ended, before; remove its label ${restoredLabel} to run it, or delete it`;
  return refused(reason, message);
}

/** Refuses a task that asks for quota where Kueue cannot be asked: it does not work without. */
function withoutKueue({ quota }: Snapshot): Refusal | undefined {
  const unusable = quota === undefined ? undefined : unusableQueue(quota);
  return unusable === undefined ? undefined : { ...unusable, stalled: true };
}

/** Of money in millionths. */
const amount = (bound: number | string): bigint | number => (typeof bound === 'string' ? toMicros(bound) : bound);

function overBudget({ task }: Snapshot, pool: ExpertPool): Refusal | undefined {
  const most = pool.spec.policy.maxBudget ?? {};
  for (const bound of ['wallSeconds', 'toolCalls', 'tokens', 'cost'] as const) {
    const [asked, allowed] = [task.spec.budget[bound], most[bound]];
    if (asked === undefined || allowed === undefined || amount(asked) <= amount(allowed)) continue;
    const message = `spec.budget.${bound} is ${asked}, and ExpertPool ${keyOf(pool)} allows ${allowed} at most; create the task again with less, or raise spec.policy.maxBudget.${bound} of the pool`;
    return { reason: 'BudgetTooHigh', message, stalled: true };
  }
  return undefined;
}

/** Refuses a task that would exceed a cap in a window of its own: it would wait for nothing. */
function overCap({ task }: Snapshot, pool: ExpertPool): Refusal | undefined {
  const { spending } = pool.spec.limits ?? {};
  if (spending === undefined) return undefined;
  const { namespace = '', uid = '' } = task.metadata;
  const excess = excessOf(emptyBook, spending, { namespace, uid, ...remainingOf(task, pool) }, 0);
  if (excess === undefined) return undefined;
  const unit = excess.unit === 'tokens' ? 'tokens' : 'cost';
  const [asked, cap] =
    excess.unit === 'tokens' ? [`${excess.asked}`, `${excess.cap}`] : [excess.asked, excess.cap].map((one) => fromMicros(BigInt(one)));
  const message = `spec.budget.${unit}, or else spec.policy.maxBudget.${unit} of ExpertPool ${keyOf(pool)}, leaves the task ${asked ?? ''}, and spec.limits.spending.${excess.field} of the pool allows ${cap ?? ''} for all; create the task again with less, or raise the cap`;
  return { reason: 'BudgetTooHigh', message, stalled: true };
}

function overDeadline({ task }: Snapshot, pool: ExpertPool): Refusal | undefined {
  const [asked, most] = [task.spec.deadlineSeconds, pool.spec.policy.maxDeadlineSeconds];
  // One that has begun was let in; a bound that was lowered since ends it.
  if (most === undefined || asked <= most || task.status?.assignment !== undefined) return undefined;
  const message = `spec.deadlineSeconds is ${asked}, and ExpertPool ${keyOf(pool)} allows ${most} at most; create the task again with less, or raise spec.policy.maxDeadlineSeconds of the pool`;
  return refused('DeadlineTooLong', message);
}

function overConsent({ task }: Snapshot, pool: ExpertPool): Refusal | undefined {
  const { consent = 'None' } = task.spec.trace ?? {};
  const { most = 'Training' } = pool.spec.policy.traceConsent ?? {};
  if (consentCovers(most, consent)) return undefined;
  const message = `spec.trace.consent is ${consent}, and ExpertPool ${keyOf(pool)} allows ${most} at most; create the task again with less, or raise spec.policy.traceConsent.most of the pool`;
  return refused('TraceConsentTooHigh', message);
}

function belowFloor(snapshot: Snapshot, pool: ExpertPool): Refusal | undefined {
  const { task } = snapshot;
  const runtimeClass = task.spec.sandbox?.runtimeClassName ?? pool.spec.sandbox.template?.runtimeClassName;
  if (isolationFloor(snapshot, pool) !== 'RuntimeClass' || runtimeClass !== undefined) return undefined;
  const message = `isolation RuntimeClass is demanded and no RuntimeClass is named; create the task again with spec.sandbox.runtimeClassName, or set that of the template of ExpertPool ${keyOf(pool)}`;
  return { reason: 'IsolationBelowFloor', message, stalled: true };
}

function unlistedInSandbox({ task, capabilities }: Snapshot, pool: ExpertPool): Refusal | undefined {
  const message = sandboxNotAllowed(task, pool, capabilities);
  return message === undefined ? undefined : { reason: 'SandboxFieldNotAllowed', message, stalled: true };
}

/** Refuses a task whose wall is open, unless the pool does without one. */
function openedWall({ task, openings }: Snapshot, pool: ExpertPool): Refusal | undefined {
  if (openings.length === 0 || pool.spec.policy.allowUnenforcedNetwork) return undefined;
  return { reason: networkOpened, message: openedMessage(task, openings), stalled: true };
}

const refused = (reason: Reason, message: string): Refusal => ({ reason, message, stalled: true });

/** The API server takes addresses such as https://10.0.0.256/, which nothing here can parse. */
const noAddress = 'whose host or port is none; create the task again with the right one';

/** Refuses a task that names something that neither pool nor platform has. */
function unknownNeed({ task, registriesListed }: Snapshot, pool: ExpertPool): Refusal | undefined {
  const { profile, setup = [], workspace } = task.spec;
  const profiles = ['default', ...(pool.spec.profiles ?? []).map(({ name }) => name)];
  if (!profiles.includes(profile)) {
    const known = [...new Set(profiles)].sort().join(', ');
    const message = `spec.profile is ${profile}, and ExpertPool ${keyOf(pool)} has these: ${known}; create the task again with one of them, or add it to spec.profiles of the pool`;
    return refused('ProfileNotFound', message);
  }
  const listed = pool.spec.policy.profiles ?? usualPolicyProfiles;
  if (!listed.includes(task.spec.policy.profile)) {
    const message = `spec.policy.profile is ${task.spec.policy.profile}, and ExpertPool ${keyOf(pool)} allows these: ${listed.join(', ')}; create the task again with one of them, or add it to spec.policy.profiles of the pool`;
    return refused('PolicyProfileNotAllowed', message);
  }
  const step = setup.find(({ network }) => network === 'Registries');
  if (step !== undefined && !registriesListed) {
    const message = `spec.setup[] ${step.name} has network Registries, and the platform lists none; set the chart value egress.registries, or create the task again with another spec.setup[].network`;
    return refused('RegistriesNotConfigured', message);
  }
  if (workspace.type === 'Git' && !URL.canParse(workspace.git.url))
    return refused('HostNotResolved', `spec.workspace.git.url is ${workspace.git.url}, ${noAddress}`);
  const [host, tools] = [hostRefusal(task, pool), toolsRefusal(task, pool)];
  if (host !== undefined) return refused('HostNotAllowed', host);
  return tools === undefined ? unusableCredential(task, pool) : refused('ToolsNotAllowed', tools);
}

/** A credential is only ever sent to the hosts that its pool binds it to, and only over https. */
function unusableCredential({ spec: { workspace, output } }: AgentTask, pool: ExpertPool): Refusal | undefined {
  if (workspace.type !== 'Git') return undefined;
  const { credential, url } = workspace.git;
  return (
    unusable(credential, 'spec.workspace.git.credential', url, pool) ??
    unusable(output?.git.credential, 'spec.output.git.credential', url, pool)
  );
}

function unusable(name: string | undefined, field: string, url: string, pool: ExpertPool): Refusal | undefined {
  if (name === undefined) return undefined;
  const of = `${field} is ${name}`;
  const credential = pool.spec.credentials?.find((one) => one.name === name);
  if (credential === undefined) {
    const message = `${of}, and ExpertPool ${keyOf(pool)} has no credential of that name; add it to spec.credentials of the pool, or create the task again with another one`;
    return refused('CredentialNotFound', message);
  }
  if (gatewayCredentials(pool.spec.experts).has(name)) {
    const message = `${of}, and that is the key of a model of ExpertPool ${keyOf(pool)}, which its gateway alone has; add another entry to spec.credentials of the pool, or create the task again with another one`;
    return refused('CredentialNotFound', message);
  }
  const { hostname } = new URL(url);
  const { hosts } = credential;
  if (hosts.includes(hostname)) return notForRepository(of, credential, url, pool);
  const message = `${of}, which ExpertPool ${keyOf(pool)} sends to ${hosts.join(', ')} only, and spec.workspace.git.url has the host ${hostname}; add the host to spec.credentials[].hosts of the pool, or create the task again without the credential`;
  return refused('CredentialNotForHost', message);
}

function notForRepository(of: string, credential: Credential, url: string, pool: ExpertPool): Refusal | undefined {
  if (isForRepository(credential, url)) return undefined;
  const message = `${of}, which ExpertPool ${keyOf(pool)} lets tasks use for ${credential.repositories?.join(', ') ?? ''} only; add the repository to spec.credentials[].repositories of the pool, or create the task again without the credential`;
  return refused('CredentialNotForRepository', message);
}

/** Refuses a task while the queue is full. An accepted one stays accepted, although the bound may have been lowered since. */
function queueFull({ task, queue }: Snapshot, pool: ExpertPool): Refusal | undefined {
  const most = pool.spec.limits?.maxQueued;
  if (most === undefined || queue.waiting < most || findCondition(task.status?.conditions, 'Accepted')?.status === 'True') return undefined;
  const message = `${queue.waiting} tasks wait for ExpertPool ${keyOf(pool)} and spec.limits.maxQueued is ${most}; it is tried again when there is room`;
  return { reason: 'QueueFull', message, stalled: false };
}

interface HostPort {
  readonly host: string;
  readonly port: number;
}

/** Hosts that one message names. */
const shownHosts = 8;

const cure = 'create the task again with a host that may be reached, or add host and port to spec.policy.allowedHosts of the pool';

const judge = createAddressJudge();

const written = ({ host, port }: HostPort): string => `${host}:${port}`;

/**
 * Returns the reason for which the pool does not let the task reach the hosts that it names; undefined when it does. Names are resolved by
 * the worker, which judges their addresses; here only what is written counts. Pure.
 */
function hostRefusal({ spec }: AgentTask, pool: ExpertPool): string | undefined {
  const of = `ExpertPool ${keyOf(pool)}`;
  const listed = pool.spec.policy.allowedHosts;
  const unlisted = (asked: HostPort): boolean => listed?.some((one) => written(one) === written(asked)) !== true;
  const hosts = (spec.policy.network.hosts ?? []).filter(unlisted);
  const [asked] = hosts;
  if (listed !== undefined && asked !== undefined) {
    const allowed = listed.length === 0 ? 'none' : listed.slice(0, shownHosts).map(written).join(', ');
    const more = listed.length > shownHosts ? ` and ${listed.length - shownHosts} more` : '';
    return `spec.policy.network.hosts has ${written(asked)}, and ${of} allows these: ${allowed}${more}; ${cure}`;
  }
  const closed = hosts.find(isClosed);
  if (closed !== undefined)
    return `spec.policy.network.hosts has ${written(closed)}, which is no public address, and ${of} does not list it; ${cure}`;
  const repository = repositoryOf(spec);
  if (repository === undefined || !unlisted(repository) || !isClosed(repository)) return undefined;
  return `spec.workspace.git.url leads to ${written(repository)}, which is no public address, and ${of} does not list it; ${cure}`;
}

function isClosed({ host }: HostPort): boolean {
  const address = literalAddress(host);
  return address !== null && judge(address) !== 'Public';
}

function repositoryOf({ workspace }: AgentTask['spec']): HostPort | undefined {
  return workspace.type === 'Git' && workspace.git.url.startsWith('https://') ? hostOf(workspace.git.url) : undefined;
}

function hostOf(url: string): HostPort {
  const { hostname, port, protocol } = new URL(url);
  return { host: hostname, port: Number(port) || (protocol === 'https:' ? 443 : 80) };
}

/**
 * Returns the reason for which the pool does not let the task have the tools that it names; undefined when it does. A server is one of
 * the pool's, or at a host that the pool lists; its addresses are the worker's to judge. Pure.
 */
function toolsRefusal(task: AgentTask, pool: ExpertPool): string | undefined {
  const of = `ExpertPool ${keyOf(pool)}`;
  const { spec } = pool;
  const listed = spec.tools?.mcpServers ?? [];
  for (const { name, url } of task.spec.tools?.mcpServers ?? []) {
    const known = listed.find((one) => one.name === name);
    if (known !== undefined && (url === undefined || url === known.url)) continue;
    if (known !== undefined)
      return `spec.tools.mcpServers[] ${name} has the url ${url}, and that of ${of} is ${known.url}; create the task again without url, or under another name`;
    const names = listed.map((one) => one.name).join(', ') || 'none';
    if (url === undefined)
      return `spec.tools.mcpServers[] ${name} has no url, and ${of} has these servers: ${names}; create the task again with one of them, or add it to spec.tools.mcpServers of the pool`;
    if (!URL.canParse(url)) return `spec.tools.mcpServers[] ${name} has the url ${url}, ${noAddress}`;
    const at = written(hostOf(url));
    if ((spec.policy.allowedHosts ?? []).some((one) => written(one) === at)) continue;
    return `spec.tools.mcpServers[] ${name} is at ${at}, which ${of} does not list; add it to spec.tools.mcpServers or spec.policy.allowedHosts of the pool, or create the task again without it`;
  }
  return undefined;
}

/** Reasons that may go when a node or a RuntimeClass changes. */
export const unsupportedReasons: ReadonlySet<string> = new Set([
  'RuntimeClassNotFound',
  'RuntimeHandlerMissing',
  'UserNamespacesUnavailable',
  'LayersNotPossible',
]);

/**
 * Returns the reason for which no node can hold the sandbox behind the wall that is asked for; undefined when one can, or none reports.
 * Without this the pod would be refused, or stay in ContainerCreating forever without a reason in its status. Pure.
 */
export function unsupported({ task, capabilities }: Snapshot, pool: ExpertPool, floor: IsolationLevel): Refusal | undefined {
  const needs: SandboxNeeds = mergedTemplate(task, pool);
  return (
    runtimeMissing(capabilities, needs, pool) ??
    layersRefused(capabilities, needs, pool, task.metadata.namespace ?? '') ??
    usersMissing(capabilities, needs, pool, floor)
  );
}

function runtimeMissing(capabilities: Snapshot['capabilities'], needs: SandboxNeeds, pool: ExpertPool): Refusal | undefined {
  const runtimeClass = runtimeClassOf(capabilities, needs);
  if (runtimeClass === undefined) return undefined;
  const name = needs.runtimeClassName ?? '';
  if (runtimeClass === null) {
    const message = `there is no RuntimeClass ${name}; create it, or name another one in spec.sandbox.runtimeClassName of a new task or in the template of ExpertPool ${keyOf(pool)}`;
    return refused('RuntimeClassNotFound', message);
  }
  if (handlerOffered(capabilities, needs, runtimeClass.handler) !== 'None') return undefined;
  const message = `RuntimeClass ${name} has the handler ${runtimeClass.handler}, which the container runtime of no node has that the sandbox may run on; install it there, or select other nodes`;
  return refused('RuntimeHandlerMissing', message);
}

/** Label of a namespace that decides whether a pod with layers gets in: with no level, or with the one that refuses nothing. */
const enforce = 'pod-security.kubernetes.io/enforce';

/** The engine of layers is asked for where it cannot work. */
function layersRefused(
  capabilities: Snapshot['capabilities'],
  needs: SandboxNeeds,
  pool: ExpertPool,
  namespace: string,
): Refusal | undefined {
  if (pool.spec.sandbox.snapshotEngine !== 'Overlay') return undefined;
  const setting = `spec.sandbox.snapshotEngine of ExpertPool ${keyOf(pool)} is Overlay`;
  if (needs.runtimeClassName !== undefined) {
    const message = `${setting}, which mounts on the node's own kernel, and the sandbox has RuntimeClass ${needs.runtimeClassName}; set the engine to Auto, or leave runtimeClassName out`;
    return refused('LayersNotPossible', message);
  }
  const level = capabilities.namespaces?.get(namespace)?.[enforce];
  if (level === undefined || level === 'privileged') return undefined;
  const message = `${setting}, whose sandboxes need a capability in a user namespace, and namespace ${namespace} enforces Pod Security ${level}; set its label ${enforce} to privileged, or the engine to Auto`;
  return refused('LayersNotPossible', message);
}

function usersMissing(
  capabilities: Snapshot['capabilities'],
  needs: SandboxNeeds,
  pool: ExpertPool,
  floor: IsolationLevel,
): Refusal | undefined {
  const mode = userMode(pool.spec.sandbox);
  if (!hasOwnUsers(mode, floor, capabilities, needs)) {
    if (floor !== 'UserNamespace' || needs.runtimeClassName !== undefined) return undefined;
    const message = `isolation UserNamespace is demanded and spec.sandbox.userNamespace of ExpertPool ${keyOf(pool)} is Never; set it to Auto, or lower minIsolation`;
    return refused('IsolationBelowFloor', message);
  }
  if (userNamespaces(capabilities, needs) !== 'None') return undefined;
  const runtime = needs.runtimeClassName === undefined ? 'the default runtime' : `RuntimeClass ${needs.runtimeClassName}`;
  const why =
    pool.spec.sandbox.snapshotEngine === 'Overlay'
      ? `spec.sandbox.snapshotEngine of ExpertPool ${keyOf(pool)} is Overlay`
      : mode === 'Always'
        ? `spec.sandbox.userNamespace of ExpertPool ${keyOf(pool)} is Always`
        : 'isolation UserNamespace is demanded';
  const message = `${why}, and ${runtime} has user namespaces on no node that the sandbox may run on; offer nodes that have them (kernel 6.3, containerd 2.0 or CRI-O 1.25), or ask for less`;
  return refused('UserNamespacesUnavailable', message);
}
