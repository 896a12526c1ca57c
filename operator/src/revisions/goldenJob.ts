import { asError, ResourceClient, type Clock, type Log, type Transport, controllerReference, type KubeObject } from '@agentfleet/kube';
import { TtlCache } from '../runtime/index.ts';
import { type PodTemplate, type Job, type TemplateContainer, resources } from '../runtime/resources.ts';
import { shortHash } from './arm.ts';
import { goldenEnvironment, type GoldenArm } from '@agentfleet/protocol/golden';
import { expertPort, labels } from '@agentfleet/protocol/pool';
import { callerToken, heardBy, peer, type ServerWall } from '../serving/index.ts';

/** A template with containers, and the hash of its content. */
export interface GoldenTemplate {
  readonly content: NonNullable<PodTemplate['template']>;
  readonly hash: string;
  /** Name of the container that reports the result. */
  readonly container: string;
  /** Time of each Job. */
  readonly timeoutSeconds: number;
}

/** The template that was found under a name, or the reason why it is of no use. */
type FoundTemplate = GoldenTemplate | { readonly fault: string };

/** Time of a Job whose template has no activeDeadlineSeconds. */
const usualSeconds = 3600;

/** Time for which an answer counts as current, ms. */
const freshMs = 5_000;

/** Returns the content of a PodTemplate, or the reason why it is of no use. Pure. */
export function templateOf(name: string, object: PodTemplate | undefined): FoundTemplate {
  if (object === undefined)
    return { fault: `there is no PodTemplate ${name} in the namespace; create it, or correct templateRef of the gate` };
  const [first] = object.template?.spec?.containers ?? [];
  if (object.template === undefined || first === undefined)
    return { fault: `PodTemplate ${name} has no container; give it one that runs the set` };
  const { activeDeadlineSeconds: timeoutSeconds = usualSeconds } = object.template.spec ?? {};
  return { content: object.template, hash: shortHash(object.template, 16), container: first.name, timeoutSeconds };
}

/**
 * Reader of PodTemplates by name. They are made by users, and there may be any number of them, so no cache holds them: they
 * are requested, and the answer counts as current for a while.
 */
export class TemplateReader {
  readonly #client: ResourceClient<PodTemplate>;
  readonly #log: Log;
  readonly #known: TtlCache<FoundTemplate>;

  constructor({ transport, clock, log }: { readonly transport: Transport; readonly clock: Clock; readonly log: Log }) {
    this.#client = new ResourceClient(transport, resources.podTemplates);
    this.#log = log;
    this.#known = new TtlCache(clock, () => freshMs);
  }

  /** Rejects with the signal's reason and nothing else. */
  read(namespace: string, name: string, signal: AbortSignal): Promise<FoundTemplate> {
    return this.#known.of(`${namespace}/${name}`, (before) => this.#ask(namespace, name, before, signal));
  }

  /** An answer that fails is no other content than before. */
  async #ask(namespace: string, name: string, before: FoundTemplate | undefined, signal: AbortSignal): Promise<FoundTemplate> {
    try {
      return templateOf(name, await this.#client.find({ namespace, name }, { signal }));
    } catch (error) {
      signal.throwIfAborted();
      const { message } = asError(error);
      this.#log.warn('a PodTemplate cannot be read', { namespace, name, error: message });
      return before ?? { fault: `PodTemplate ${name} cannot be read: ${message}; it is asked for again` };
    }
  }
}

/** Label of a Job: the rollout that made it. */
export const rolloutLabel = 'agentfleet.dev/rollout';

/** Prefix of all labels of the operator; a template may not set any. */
const own = 'agentfleet.dev/';

/** Labels of the golden Jobs and pods of an owner; `owner` are those that name it. */
function goldenLabels(owner: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return { [labels.component]: 'golden', ...owner };
}

/** The wall of servers that the golden pods of an owner ask too; without an owner: those of all of the namespace. Pure. */
export function heardByGolden(wall: ServerWall, owner: Readonly<Record<string, string>> = {}): ServerWall {
  return heardBy(wall, peer({ pods: goldenLabels(owner) }), expertPort);
}

/** Input that a Job is made from. */
interface GoldenJob {
  readonly owner: KubeObject;
  readonly name: string;
  /** Labels that name the owner. */
  readonly labels: Readonly<Record<string, string>>;
  readonly template: GoldenTemplate;
  readonly arm: GoldenArm;
  readonly role: 'stable' | 'canary';
  /** ServiceAccount of the pods where the template names none. */
  readonly serviceAccount?: string | undefined;
}

/** Equal sets are run with equal seeds, so that a result from before may be compared with. */
function seedOf({ hash }: GoldenTemplate): number {
  return Number.parseInt(hash.slice(0, 8), 16);
}

function environment({ arm, role, template }: GoldenJob): readonly { readonly name: string; readonly value: string }[] {
  const values = {
    [goldenEnvironment.arm]: JSON.stringify(arm),
    [goldenEnvironment.role]: role,
    [goldenEnvironment.seed]: String(seedOf(template)),
  };
  return Object.entries(values).map(([name, value]) => ({ name, value }));
}

function reported(container: TemplateContainer, job: GoldenJob): TemplateContainer {
  const { env, mount } = callerToken(job.owner.metadata.namespace ?? '');
  const more = [...environment(job), ...env];
  const names = new Set(more.map(({ name }) => name));
  const mounts = (container.volumeMounts ?? []).filter(({ name }) => name !== mount.name);
  return {
    ...container,
    env: [...(container.env ?? []).filter(({ name }) => !names.has(name)), ...more],
    volumeMounts: [...mounts, mount],
  };
}

function others(map: Readonly<Record<string, string>> | undefined): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(map ?? {}).filter(([name]) => !name.startsWith(own)));
}

/**
 * The Job of a golden set: the pods of the template, once, with the addresses of the revision in the first container. What
 * fails is not repeated by the Job, because only the operator knows whether it was the set that failed. Pure.
 */
export function goldenJob(job: GoldenJob): Job & { readonly spec: object } {
  const { owner, name, template, arm, serviceAccount } = job;
  const { volume } = callerToken(owner.metadata.namespace ?? '');
  const { metadata, spec = {} } = template.content;
  const [first, ...rest] = spec.containers ?? [];
  const mine = { ...goldenLabels(job.labels), [labels.revision]: arm.revision, [rolloutLabel]: arm.rollout };
  const pods = {
    metadata: { labels: { ...others(metadata?.labels), ...mine }, annotations: { ...others(metadata?.annotations) } },
    spec: {
      automountServiceAccountToken: false,
      ...(serviceAccount !== undefined && { serviceAccountName: serviceAccount }),
      ...spec,
      restartPolicy: 'Never',
      containers: [...(first === undefined ? [] : [reported(first, job)]), ...rest],
      volumes: [...(spec.volumes ?? []).filter(({ name }) => name !== volume.name), volume],
    },
  };
  return {
    metadata: { name, namespace: owner.metadata.namespace ?? '', labels: mine, ownerReferences: [controllerReference(owner)] },
    spec: { backoffLimit: 0, completions: 1, parallelism: 1, activeDeadlineSeconds: template.timeoutSeconds, template: pods },
  };
}
