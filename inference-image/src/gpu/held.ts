import type { VisibleGpu } from './visible.ts';
import { isGpuUuid } from './visible.ts';

/** The GPU that a container has by the device plugin. */
export interface HeldGpu {
  readonly uuid: string;
  readonly pciBusID: string | undefined;
}

/**
 * Which GPU the device plugin gave, from what it put into the environment and what the driver shows. Pure.
 * @throws Error when it is not exactly one whole GPU, with the cure
 */
export function heldGpu(named: string | undefined, shown: readonly VisibleGpu[]): HeldGpu {
  const words = (named ?? '').split(',').filter((word) => word !== '');
  if (words.some((word) => word.startsWith('MIG-')))
    throw new Error(`the device plugin gave a part of a GPU (${words.join(',')}): turn off MIG on the node, or use a DRA driver`);
  const uuids = words.filter(isGpuUuid);
  if (uuids.length > 1) throw new Error(`the device plugin gave ${uuids.length} GPUs and one was asked for`);
  const [uuid] = uuids;
  if (uuid === undefined) return only(named, shown);
  const same = shown.find((gpu) => gpu.uuid === uuid);
  const strangers = shown.filter((gpu) => gpu.uuid !== undefined && gpu.uuid !== uuid);
  if (same === undefined && strangers.length > 0) {
    const seen = strangers.map((gpu) => gpu.uuid).join(', ');
    throw new Error(`the environment names ${uuid} and the driver shows ${seen}: see to the container toolkit of the node`);
  }
  const [alone] = shown;
  return { uuid, pciBusID: same?.pciBusID ?? (shown.length === 1 ? alone?.pciBusID : undefined) };
}

/** Device plugins that hand GPUs over by CDI or by mounts name none in the environment. */
function only(named: string | undefined, shown: readonly VisibleGpu[]): HeldGpu {
  const [gpu] = shown;
  if (shown.length !== 1 || gpu?.uuid === undefined) {
    const words = named === undefined ? 'not set' : JSON.stringify(named.slice(0, 100));
    throw new Error(
      `NVIDIA_VISIBLE_DEVICES is ${words} and the driver shows ${shown.length} GPUs with ` +
        `${shown.filter((one) => one.uuid !== undefined).length} uuids: which GPU was given is not known; ` +
        `let the device plugin name it by uuid (deviceListStrategy envvar, deviceIDStrategy uuid)`,
    );
  }
  return { uuid: gpu.uuid, pciBusID: gpu.pciBusID };
}
