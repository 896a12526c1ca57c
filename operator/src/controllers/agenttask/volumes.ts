import {
  asError,
  controllerReference,
  isAlreadyExists,
  isApiError,
  isConflict,
  isControlledBy,
  isNotFound,
  keyOf,
  ResourceClient,
  type KubeObject,
  type Transport,
} from '@agentfleet/kube';
import type { AgentTask, SandboxStorage } from '@agentfleet/protocol/api';
import { labels } from '@agentfleet/protocol/pool';
import type { PersistentVolumeClaim, VolumeSnapshot } from '../../runtime/objects.ts';
import { resources } from '../../runtime/resources.ts';
import type { ClaimChoice } from './course.ts';
import type { StorageView } from './snapshot.ts';

const fieldManager = 'agentfleet-operator';

/** Answers that another try does not change. */
const refusals: ReadonlySet<number> = new Set([400, 403, 404, 422]);

/**
 * Volumes and VolumeSnapshots of tasks with `spec.sandbox.storage`. They are read live and not cached: few tasks have
 * them, and a cluster without the definitions of snapshots would fill no cache.
 */
export class Volumes {
  readonly #claims: ResourceClient<PersistentVolumeClaim>;
  readonly #snapshots: ResourceClient<VolumeSnapshot>;
  readonly #classes: ResourceClient;
  readonly #snapshotClasses: ResourceClient;

  constructor(transport: Transport) {
    this.#claims = new ResourceClient(transport, resources.persistentVolumeClaims);
    this.#snapshots = new ResourceClient(transport, resources.volumeSnapshots);
    this.#classes = new ResourceClient(transport, resources.storageClasses);
    this.#snapshotClasses = new ResourceClient(transport, resources.volumeSnapshotClasses);
  }

  /** What the task has; undefined for one without storage, or one that has ended and holds nothing any more. */
  async view(task: AgentTask, signal: AbortSignal): Promise<StorageView | undefined> {
    const { spec, status } = task;
    const storage = spec.sandbox?.storage;
    if (storage === undefined || (status?.finished === 'true' && status.storage === undefined)) return undefined;
    const [claims, snapshots] = await Promise.all([
      this.#claims.list(listOf(task, signal)),
      this.#snapshots.list(listOf(task, signal)).catch(absent),
    ]);
    const own = <T extends KubeObject>(objects: readonly T[]): readonly T[] =>
      objects.filter((object) => isControlledBy(object, task)).sort(byAge);
    const view = { claims: own(claims), snapshots: snapshots === undefined ? undefined : own(snapshots) };
    const begins = view.claims.every(({ metadata }) => metadata.deletionTimestamp !== undefined) && status?.finished !== 'true';
    return { ...view, fault: begins ? await this.#fault(storage, snapshots !== undefined, signal) : undefined };
  }

  /** Why no volume can be made, as far as the cluster says so beforehand; claims that wait for ever say nothing. */
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
    return this.#make(this.#claims, claimOf(task, storage, claim), signal);
  }

  /** Begins a VolumeSnapshot of a volume that nobody writes to. Returns why the server does not take it. */
  async snapshot(task: AgentTask, name: string, claim: string, signal: AbortSignal): Promise<string | undefined> {
    const volumeSnapshotClassName = task.spec.sandbox?.storage?.volumeSnapshotClassName;
    const spec = { source: { persistentVolumeClaimName: claim }, volumeSnapshotClassName };
    return this.#make(this.#snapshots, { metadata: metadataOf(task, name), spec }, signal);
  }

  async deleteClaim(claim: PersistentVolumeClaim, signal: AbortSignal): Promise<void> {
    await remove(this.#claims, claim, signal);
  }

  async deleteSnapshot(snapshot: VolumeSnapshot, signal: AbortSignal): Promise<void> {
    await remove(this.#snapshots, snapshot, signal);
  }

  async #make<T extends KubeObject>(
    client: ResourceClient<T>,
    object: { readonly metadata: ReturnType<typeof metadataOf>; readonly spec: object },
    signal: AbortSignal,
  ): Promise<string | undefined> {
    try {
      await client.create(object as unknown as T, { fieldManager, signal });
    } catch (error) {
      if (isApiError(error) && refusals.has(error.code)) return asError(error).message;
      if (!isAlreadyExists(error)) throw error;
      const { namespace, name, ownerReferences } = object.metadata;
      const there = await client.find({ namespace, name }, { signal });
      if (there?.metadata.ownerReferences?.some(({ uid }) => uid === ownerReferences[0]?.uid) === true) return undefined;
      return `there is a ${client.resource.kind} ${name} that does not belong to this task; delete or rename it`;
    }
    return undefined;
  }
}

function listOf(task: AgentTask, signal: AbortSignal) {
  const { name, namespace } = task.metadata;
  return { ...(namespace === undefined ? {} : { namespace }), labelSelector: `${labels.task}=${name}`, signal };
}

/** Where the definitions are not installed there are no such objects. */
function absent(error: unknown): undefined {
  if (!isNotFound(error)) throw error;
}

function byAge({ metadata: a }: KubeObject, { metadata: b }: KubeObject): number {
  const order = [(a.creationTimestamp ?? '') + keyOf({ metadata: a }), (b.creationTimestamp ?? '') + keyOf({ metadata: b })] as const;
  return order[0] < order[1] ? -1 : 1;
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

async function remove<T extends KubeObject>(client: ResourceClient<T>, { metadata }: T, signal: AbortSignal): Promise<void> {
  if (metadata.deletionTimestamp !== undefined) return;
  try {
    await client.delete(metadata, { signal, ...(metadata.uid === undefined ? {} : { uid: metadata.uid }) });
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
}
