import { isConflict, isNotFound, ResourceClient } from '@agentfleet/kube';
import { type PersistentVolumeClaim, type VolumeSnapshot, resources } from '../../../runtime/resources.ts';
import type { Stage } from './stage.ts';

/** Names of the classes that the provisioner serves. */
export const storage = { storageClassName: 'fast', size: '3Gi', volumeSnapshotClassName: 'keep' } as const;

/** Plays the provisioner and the snapshot controller: binds claims, and makes snapshots ready. */
export class Provisioner {
  /** Left as they are. */
  readonly frozen = new Set<'claims' | 'snapshots'>();
  /** Message of the error with which snapshots fail; undefined: they do not. */
  snapshotError: string | undefined;
  readonly #bed: Stage;

  private constructor(bed: Stage) {
    this.#bed = bed;
  }

  /** Adds classes and the provisioner to a bed. */
  static async join(bed: Stage): Promise<Provisioner> {
    const { transport } = bed;
    await new ResourceClient(transport, resources.storageClasses).create({ metadata: { name: storage.storageClassName } });
    await new ResourceClient(transport, resources.volumeSnapshotClasses).create({ metadata: { name: storage.volumeSnapshotClassName } });
    const provisioner = new Provisioner(bed);
    bed.actors.push(() => provisioner.#act());
    return provisioner;
  }

  claims(): readonly PersistentVolumeClaim[] {
    return this.#bed.server.objects(resources.persistentVolumeClaims);
  }

  snapshots(): readonly VolumeSnapshot[] {
    return this.#bed.server.objects(resources.volumeSnapshots);
  }

  async #act(): Promise<void> {
    const claims = new ResourceClient(this.#bed.transport, resources.persistentVolumeClaims);
    const snapshots = new ResourceClient(this.#bed.transport, resources.volumeSnapshots);
    const tell = async (patch: Promise<unknown>): Promise<void> => {
      await patch.catch((error: unknown) => {
        if (!isConflict(error) && !isNotFound(error)) throw error;
      });
    };
    for (const { metadata, status } of this.#frozen('claims') ? [] : this.claims())
      if (status?.phase === undefined) await tell(claims.patch(metadata, { status: { phase: 'Bound' } }, { subresource: 'status' }));
    for (const { metadata, status } of this.#frozen('snapshots') ? [] : this.snapshots()) {
      if (status?.readyToUse !== undefined) continue;
      const error = this.snapshotError === undefined ? {} : { error: { message: this.snapshotError } };
      const readyToUse = this.snapshotError === undefined;
      await tell(snapshots.patch(metadata, { status: { readyToUse, ...error } }, { subresource: 'status' }));
    }
  }

  #frozen(what: 'claims' | 'snapshots'): boolean {
    return this.frozen.has(what);
  }
}
