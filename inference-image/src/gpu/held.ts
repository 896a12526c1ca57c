// inference-image, gpu: GPU that a container holds, and tasks that report it. May import protocol.
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

interface VisibleGpu {
  readonly uuid: string | undefined;
  readonly pciBusID: string;
}

interface GpuPlaces {
  /** One folder for each GPU, by its place on the bus. */
  readonly driver: string;
  readonly devices: string;
}

export const gpuPlaces: GpuPlaces = { driver: '/proc/driver/nvidia/gpus', devices: '/dev' };

/** Of a whole GPU. */
const uuidPattern = /^GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const busPattern = /^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$/;

async function listed(folder: string): Promise<readonly string[]> {
  try {
    return (await readdir(folder)).sort();
  } catch {
    return []; // no driver, or none for this container
  }
}

/** GPUs that the driver shows, in the order of their bus. Before the first use of a GPU its uuid may be unknown. */
async function driverGpus({ driver }: GpuPlaces): Promise<readonly VisibleGpu[]> {
  const buses = (await listed(driver)).filter((name) => busPattern.test(name));
  return Promise.all(
    buses.map(async (pciBusID): Promise<VisibleGpu> => {
      const text = await readFile(join(driver, pciBusID, 'information'), 'utf8').catch(() => '');
      const uuid = /^GPU UUID:\s*(\S+)\s*$/m.exec(text)?.[1];
      return { uuid: uuid !== undefined && uuidPattern.test(uuid) ? uuid : undefined, pciBusID };
    }),
  );
}

/** Counts the GPUs visible in this container: by their device files, or by the driver's list. */
async function visibleGpus(places: GpuPlaces): Promise<number> {
  const files = (await listed(places.devices)).filter((name) => /^nvidia\d+$/.test(name));
  return Math.max(files.length, (await driverGpus(places)).length);
}

interface HeldGpu {
  readonly uuid: string;
  readonly pciBusID: string | undefined;
}

/**
 * Returns the GPU that the device plugin allocated, from the environment and the driver's list. Pure.
 * @throws Error when it is not exactly one whole GPU, with the cure
 */
export function heldGpu(named: string | undefined, shown: readonly VisibleGpu[]): HeldGpu {
  const words = (named ?? '').split(',').filter((word) => word !== '');
  if (words.some((word) => word.startsWith('MIG-')))
    throw new Error(`the device plugin gave a part of a GPU (${words.join(',')}): turn off MIG on the node, or use a DRA driver`);
  const uuids = words.filter((word) => uuidPattern.test(word));
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

/** Tasks of a container that has a GPU and does not serve: the first argument of the program. */
const gpuTasks = ['tell-gpu', 'hold-gpu', 'probe-gpu'] as const;
export type GpuTask = (typeof gpuTasks)[number];

interface GpuTaskOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly places: GpuPlaces;
  /** The container's termination message file. */
  readonly lastWords: string;
  /** Resolves when the container has to end. */
  readonly ended: Promise<unknown>;
}

/** Parses the command line; undefined: the process serves. */
export function gpuTaskOf(args: readonly string[]): GpuTask | undefined {
  return gpuTasks.find((task) => task === args[0]);
}

/**
 * `tell-gpu` reports which GPU the pod has by the device plugin and ends; `hold-gpu` keeps it and does nothing else;
 * `probe-gpu` reports how many GPUs a pod sees that requested them by its environment. The answers are the container's
 * termination message, which the API server shows, so that no connection to it is needed. Resolves with the exit code.
 */
export async function runGpuTask(task: GpuTask, { env, places, lastWords, ended }: GpuTaskOptions): Promise<number> {
  if (task === 'hold-gpu') {
    await ended;
    return 0;
  }
  const tell = (answer: object): Promise<void> => writeFile(lastWords, JSON.stringify(answer));
  if (task === 'probe-gpu') {
    await tell({ gpus: await visibleGpus(places) });
    return 0;
  }
  try {
    await tell(heldGpu(env['NVIDIA_VISIBLE_DEVICES'], await driverGpus(places)));
    return 0;
  } catch (error) {
    await tell({ error: error instanceof Error ? error.message : String(error) });
    return 1;
  }
}
