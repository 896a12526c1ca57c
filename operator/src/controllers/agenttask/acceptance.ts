import { findCondition } from '@agentfleet/kube';
import { fromMicros, toMicros, usualPolicyProfiles, type AgentTask, type ExpertPool, type Reason } from '@agentfleet/protocol/api';
import { isolationLevels, type IsolationLevel } from '@agentfleet/protocol/keeper';
import { consentCovers } from '@agentfleet/protocol/trace';
import { gatewayCredentials } from '../../pools/resolve.ts';
import { emptyBook, excessOf, remainingOf } from '../../pools/spending.ts';
import { unsupported } from './unsupported.ts';
import { hostRefusal } from './hostRefusal.ts';
import { toolsRefusal } from './toolsRefusal.ts';
import { networkOpened, openedMessage } from './openings.ts';
import { sandboxNotAllowed } from './sandboxBounds.ts';
import type { Snapshot } from './snapshot.ts';

/** Why a task is not taken on. */
export interface Refusal {
  readonly reason: Reason;
  readonly message: string;
  /** Nothing but a change by its owner or the platform's can help. */
  readonly stalled: boolean;
}

const rank = (level: IsolationLevel): number => isolationLevels.indexOf(level);

/** The stronger of what the pool and the task demand. */
export function isolationFloor({ task }: Pick<Snapshot, 'task'>, pool: ExpertPool): IsolationLevel {
  const own = task.spec.policy.minIsolation ?? 'Container';
  return rank(own) > rank(pool.spec.policy.minIsolation) ? own : pool.spec.policy.minIsolation;
}

export function meetsFloor(level: IsolationLevel, floor: IsolationLevel): boolean {
  return rank(level) >= rank(floor);
}

/**
 * Why the pool does not take the task; undefined when it does. `mustWait`: there is no room for it now, so it would make
 * the queue longer. Pure.
 */
export function refusalOf(snapshot: Snapshot, mustWait: boolean): Refusal | undefined {
  const { resolution } = snapshot;
  if (resolution.pool === undefined) {
    const { reason, message } = resolution;
    return { reason, message, stalled: false };
  }
  const { pool } = resolution;
  const lasting =
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

/** Of money in millionths. */
const amount = (bound: number | string): bigint | number => (typeof bound === 'string' ? toMicros(bound) : bound);

function overBudget({ task }: Snapshot, pool: ExpertPool): Refusal | undefined {
  const most = pool.spec.policy.maxBudget ?? {};
  for (const bound of ['wallSeconds', 'toolCalls', 'tokens', 'cost'] as const) {
    const [asked, allowed] = [task.spec.budget[bound], most[bound]];
    if (asked === undefined || allowed === undefined || amount(asked) <= amount(allowed)) continue;
    const message = `spec.budget.${bound} is ${asked}, and ExpertPool ${nameOf(pool)} allows ${allowed} at most; create the task again with less, or raise spec.policy.maxBudget.${bound} of the pool`;
    return { reason: 'BudgetTooHigh', message, stalled: true };
  }
  return undefined;
}

/** What would exceed a cap in a window of its own waits for nothing. */
function overCap({ task }: Snapshot, pool: ExpertPool): Refusal | undefined {
  const { spending } = pool.spec.limits ?? {};
  if (spending === undefined) return undefined;
  const { namespace = '', uid = '' } = task.metadata;
  const excess = excessOf(emptyBook, spending, { namespace, uid, ...remainingOf(task, pool) }, 0);
  if (excess === undefined) return undefined;
  const unit = excess.unit === 'tokens' ? 'tokens' : 'cost';
  const [asked, cap] =
    excess.unit === 'tokens' ? [`${excess.asked}`, `${excess.cap}`] : [excess.asked, excess.cap].map((one) => fromMicros(BigInt(one)));
  const message = `spec.budget.${unit}, or else spec.policy.maxBudget.${unit} of ExpertPool ${nameOf(pool)}, leaves the task ${asked ?? ''}, and spec.limits.spending.${excess.field} of the pool allows ${cap ?? ''} for all; create the task again with less, or raise the cap`;
  return { reason: 'BudgetTooHigh', message, stalled: true };
}

function overDeadline({ task }: Snapshot, pool: ExpertPool): Refusal | undefined {
  const [asked, most] = [task.spec.deadlineSeconds, pool.spec.policy.maxDeadlineSeconds];
  // One that has begun was let in; a bound that was lowered since ends it.
  if (most === undefined || asked <= most || task.status?.assignment !== undefined) return undefined;
  const message = `spec.deadlineSeconds is ${asked}, and ExpertPool ${nameOf(pool)} allows ${most} at most; create the task again with less, or raise spec.policy.maxDeadlineSeconds of the pool`;
  return refused('DeadlineTooLong', message);
}

function overConsent({ task }: Snapshot, pool: ExpertPool): Refusal | undefined {
  const { consent = 'None' } = task.spec.trace ?? {};
  const { most = 'Training' } = pool.spec.policy.traceConsent ?? {};
  if (consentCovers(most, consent)) return undefined;
  const message = `spec.trace.consent is ${consent}, and ExpertPool ${nameOf(pool)} allows ${most} at most; create the task again with less, or raise spec.policy.traceConsent.most of the pool`;
  return refused('TraceConsentTooHigh', message);
}

function belowFloor(snapshot: Snapshot, pool: ExpertPool): Refusal | undefined {
  const { task } = snapshot;
  const runtimeClass = task.spec.sandbox?.runtimeClassName ?? pool.spec.sandbox.template?.runtimeClassName;
  if (isolationFloor(snapshot, pool) !== 'RuntimeClass' || runtimeClass !== undefined) return undefined;
  const message = `isolation RuntimeClass is demanded and no RuntimeClass is named; set spec.sandbox.runtimeClassName, or that of the template of ExpertPool ${nameOf(pool)}`;
  return { reason: 'IsolationBelowFloor', message, stalled: true };
}

function unlistedInSandbox({ task, capabilities }: Snapshot, pool: ExpertPool): Refusal | undefined {
  const message = sandboxNotAllowed(task, pool, capabilities);
  return message === undefined ? undefined : { reason: 'SandboxFieldNotAllowed', message, stalled: true };
}

/** Nobody begins behind a wall that is open, unless the pool does without one. */
function openedWall({ task, openings }: Snapshot, pool: ExpertPool): Refusal | undefined {
  if (openings.length === 0 || pool.spec.policy.allowUnenforcedNetwork) return undefined;
  return { reason: networkOpened, message: openedMessage(task, openings), stalled: true };
}

const refused = (reason: Reason, message: string): Refusal => ({ reason, message, stalled: true });

/** What the task names and neither pool nor platform has. */
function unknownNeed({ task, registriesListed }: Snapshot, pool: ExpertPool): Refusal | undefined {
  const { profile, setup = [] } = task.spec;
  const profiles = ['default', ...(pool.spec.profiles ?? []).map(({ name }) => name)];
  if (!profiles.includes(profile)) {
    const known = [...new Set(profiles)].sort().join(', ');
    const message = `spec.profile is ${profile}, and ExpertPool ${nameOf(pool)} has these: ${known}; create the task again with one of them, or add it to spec.profiles of the pool`;
    return refused('ProfileNotFound', message);
  }
  const listed = pool.spec.policy.profiles ?? usualPolicyProfiles;
  if (!listed.includes(task.spec.policy.profile)) {
    const message = `spec.policy.profile is ${task.spec.policy.profile}, and ExpertPool ${nameOf(pool)} allows these: ${listed.join(', ')}; create the task again with one of them, or add it to spec.policy.profiles of the pool`;
    return refused('PolicyProfileNotAllowed', message);
  }
  const step = setup.find(({ network }) => network === 'Registries');
  if (step !== undefined && !registriesListed) {
    const message = `spec.setup[] ${step.name} has network Registries, and the platform lists none; set the chart value egress.registries, or create the task again with another spec.setup[].network`;
    return refused('RegistriesNotConfigured', message);
  }
  const host = hostRefusal(task, pool);
  if (host !== undefined) return refused('HostNotAllowed', host);
  const tools = toolsRefusal(task, pool);
  if (tools !== undefined) return refused('ToolsNotAllowed', tools);
  return unusableCredential(task, pool);
}

/** A credential is only ever sent to the hosts that its pool binds it to, and only over https. */
function unusableCredential({ spec: { workspace } }: AgentTask, pool: ExpertPool): Refusal | undefined {
  if (workspace.type !== 'Git' || workspace.git.credential === undefined) return undefined;
  const { credential: name, url } = workspace.git;
  const of = `spec.workspace.git.credential is ${name}`;
  const credential = pool.spec.credentials?.find((one) => one.name === name);
  if (credential === undefined) {
    const message = `${of}, and ExpertPool ${nameOf(pool)} has no credential of that name; add it to spec.credentials of the pool, or create the task again with another one`;
    return refused('CredentialNotFound', message);
  }
  if (gatewayCredentials(pool.spec.experts).has(name)) {
    const message = `${of}, and that is the key of a model of ExpertPool ${nameOf(pool)}, which its gateway alone has; add another entry to spec.credentials of the pool, or create the task again with another one`;
    return refused('CredentialNotFound', message);
  }
  const { hostname } = new URL(url);
  const { hosts } = credential;
  if (hosts.includes(hostname)) return undefined;
  const message = `${of}, which ExpertPool ${nameOf(pool)} sends to ${hosts.join(', ')} only, and spec.workspace.git.url has the host ${hostname}; add the host to spec.credentials[].hosts of the pool, or create the task again without the credential`;
  return refused('CredentialNotForHost', message);
}

/** What was accepted stays accepted, although the bound may have been lowered since. */
function queueFull({ task, queue }: Snapshot, pool: ExpertPool): Refusal | undefined {
  const most = pool.spec.limits?.maxQueued;
  if (most === undefined || queue.waiting < most || findCondition(task.status?.conditions, 'Accepted')?.status === 'True') return undefined;
  const message = `${queue.waiting} tasks wait for ExpertPool ${nameOf(pool)} and spec.limits.maxQueued is ${most}; it is tried again when there is room`;
  return { reason: 'QueueFull', message, stalled: false };
}

export function nameOf({ metadata }: ExpertPool): string {
  return `${metadata.namespace ?? ''}/${metadata.name}`;
}
