import {
  byAge,
  controllerReference,
  isControlledBy,
  isNotFound,
  keyOf,
  ResourceClient,
  type Consistency,
  type Informer,
  type KubeObject,
  type Transport,
} from '@agentfleet/kube';
import { type AgentTask, type SandboxStorage } from '@agentfleet/protocol/api';
import { labels } from '@agentfleet/protocol/pool';
import type { Caches } from '../../../runtime/context.ts';
import { type PersistentVolumeClaim, type VolumeSnapshot, resources } from '../../../runtime/resources.ts';
import { make, type Kind } from '../../../runtime/make.ts';
import type { ClaimChoice, StorageView } from '../facts/snapshot.ts';

/** Means by which the volumes of tasks are read and written. */
interface VolumesOptions {
  readonly transport: Transport;
  readonly caches: Pick<Caches, 'persistentVolumeClaims' | 'volumeSnapshots'>;
  readonly consistency: Pick<Consistency, 'wrote' | 'deleted'>;
}

type Objects = Pick<StorageView, 'claims' | 'snapshots'>;

/**
 * Volumes and VolumeSnapshots of tasks with `spec.sandbox.storage`. The caches show them, and their changes wake the
 * task. The API server is read only before what a cache that lags would do harm to, see `needsLive`.
 */
export class Volumes {
  readonly #options: VolumesOptions;
  readonly #claims: Kind<PersistentVolumeClaim>;
  readonly #snapshots: Kind<VolumeSnapshot>;
  readonly #classes: ResourceClient;
  readonly #snapshotClasses: ResourceClient;

  constructor(options: VolumesOptions) {
    const { transport, caches } = options;
    this.#options = options;
    this.#claims = { client: new ResourceClient(transport, resources.persistentVolumeClaims), cache: caches.persistentVolumeClaims };
    this.#snapshots = { client: new ResourceClient(transport, resources.volumeSnapshots), cache: caches.volumeSnapshots.informer };
    this.#classes = new ResourceClient(transport, resources.storageClasses);
    this.#snapshotClasses = new ResourceClient(transport, resources.volumeSnapshotClasses);
  }

  /** Returns the volumes and snapshots of the task; undefined for one without storage, or one that has ended and holds nothing any more. */
  async view(task: AgentTask, signal: AbortSignal): Promise<StorageView | undefined> {
    const { spec, status } = task;
    const storage = spec.sandbox?.storage;
    if (storage === undefined || (status?.finished === 'true' && status.storage === undefined)) return undefined;
    const cached = this.#cached(task);
    const view = needsLive(task, cached) ? await this.#live(task, signal) : cached;
    const begins = view.claims.every(isGoing) && status?.finished !== 'true';
    return { ...view, fault: begins ? await this.#fault(storage, view.snapshots !== undefined, signal) : undefined };
  }

  #cached(task: AgentTask): Objects {
    const { persistentVolumeClaims, volumeSnapshots } = this.#options.caches;
    const of = <T extends KubeObject>({ lister }: Informer<T>): readonly T[] => own(task, lister.byIndex('task', keyOf(task)));
    return { claims: of(persistentVolumeClaims), snapshots: volumeSnapshots.isServed ? of(volumeSnapshots.informer) : undefined };
  }

  async #live(task: AgentTask, signal: AbortSignal): Promise<Objects> {
    const [claims, snapshots] = await Promise.all([
      this.#claims.client.list(listOf(task, signal)),
      this.#snapshots.client.list(listOf(task, signal)).catch(absent),
    ]);
    return { claims: own(task, claims), snapshots: snapshots === undefined ? undefined : own(task, snapshots) };
  }

  /** Returns the reason why no volume can be made, as far as the cluster shows it beforehand; claims that wait for ever report nothing. */
  async #fault(storage: SandboxStorage, installed: boolean, signal: AbortSignal): Promise<StorageView['fault']> {
    const { storageClassName, volumeSnapshotClassName } = storage;
    const again = 'or create the task again with another one';
    if ((await this.#classes.find({ name: storageClassName }, { signal })) === undefined) {
      const message = `there is no StorageClass ${storageClassName}, which spec.sandbox.storage.storageClassName names; create it, ${again}`;
      return { reason: 'StorageClassNotFound', message };
    }
    if (volumeSnapshotClassName === undefined) return undefined;
    if (!installed) {
      const message =
        'the cluster does not know VolumeSnapshots (snapshot.storage.k8s.io/v1); install the CSI snapshot controller with its definitions, or create the task again without spec.sandbox.storage.volumeSnapshotClassName';
      return { reason: 'SnapshotsNotInstalled', message };
    }
    if ((await this.#snapshotClasses.find({ name: volumeSnapshotClassName }, { signal })) !== undefined) return undefined;
    const message = `there is no VolumeSnapshotClass ${volumeSnapshotClassName}, which spec.sandbox.storage.volumeSnapshotClassName names; create it, ${again}`;
    return { reason: 'VolumeSnapshotClassNotFound', message };
  }

  /** Makes the volume of a new sandbox unless it is there. Returns why the server does not take it. */
  async ensureClaim(task: AgentTask, claim: ClaimChoice, signal: AbortSignal): Promise<string | undefined> {
    const storage = task.spec.sandbox?.storage;
    if (claim.kind === 'Held' || storage === undefined) return undefined;
    return make(this.#claims, task, claimOf(task, storage, claim), this.#options.consistency, signal);
  }

  /** Begins a VolumeSnapshot of a volume without writers. Returns why the server does not take it. */
  async snapshot(task: AgentTask, name: string, claim: string, signal: AbortSignal): Promise<string | undefined> {
    const volumeSnapshotClassName = task.spec.sandbox?.storage?.volumeSnapshotClassName;
    const spec = { source: { persistentVolumeClaimName: claim }, volumeSnapshotClassName };
    return make(this.#snapshots, task, { metadata: metadataOf(task, name), spec }, this.#options.consistency, signal);
  }

  async deleteClaim(task: AgentTask, claim: PersistentVolumeClaim, signal: AbortSignal): Promise<void> {
    await this.#remove(this.#claims, task, claim, signal);
  }

  async deleteSnapshot(task: AgentTask, snapshot: VolumeSnapshot, signal: AbortSignal): Promise<void> {
    await this.#remove(this.#snapshots, task, snapshot, signal);
  }

  async #remove<T extends KubeObject>({ client, cache }: Kind<T>, task: AgentTask, object: T, signal: AbortSignal): Promise<void> {
    if (isGoing(object)) return;
    await client.remove(object, { signal });
    this.#options.consistency.deleted(keyOf(task), cache, object);
  }
}

/**
 * Reports whether the cache does not suffice and the decision needs the objects of the API server. Without a volume in the cache,
 * one would be made beside that of a former leader, or that one be forgotten; after a new snapshot the volume is deleted.
 */
function needsLive({ status }: AgentTask, { claims, snapshots = [] }: Objects): boolean {
  const held = status?.storage?.volumeSnapshot;
  return (
    claims.every(isGoing) || snapshots.some(({ metadata, status: reported }) => reported?.readyToUse === true && metadata.name !== held)
  );
}

function isGoing({ metadata }: KubeObject): boolean {
  return metadata.deletionTimestamp !== undefined;
}

/** Those that belong to the task, the oldest first. */
function own<T extends KubeObject>(task: AgentTask, objects: readonly T[]): readonly T[] {
  return objects.filter((object) => isControlledBy(object, task)).sort(byAge);
}

function listOf(task: AgentTask, signal: AbortSignal) {
  const { name, namespace } = task.metadata;
  return { ...(namespace === undefined ? {} : { namespace }), labelSelector: `${labels.task}=${name}`, signal };
}

/** Returns undefined for a not-found error: without the definitions installed there are no such objects. Throws any other error. */
function absent(error: unknown): undefined {
  if (!isNotFound(error)) throw error;
}

/** Owned by the task: the garbage collector deletes it after the task. */
function metadataOf(task: AgentTask, name: string) {
  return {
    name,
    namespace: task.metadata.namespace ?? '',
    labels: { [labels.component]: 'sandbox', [labels.task]: task.metadata.name },
    ownerReferences: [controllerReference(task)],
  };
}

function claimOf(task: AgentTask, { storageClassName, size }: SandboxStorage, claim: ClaimChoice) {
  const from = claim.kind === 'Restore' ? claim.snapshot : undefined;
  const dataSource = { apiGroup: resources.volumeSnapshots.group, kind: resources.volumeSnapshots.kind, name: from };
  return {
    metadata: metadataOf(task, claim.name),
    spec: {
      storageClassName,
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: size } },
      ...(from === undefined ? {} : { dataSource }),
    },
  };
}
